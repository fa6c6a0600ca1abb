"""Conformance: the real jars' vectors, family by family, asked of our rooms."""
