"""Expressions that are refused, and what was meant."""
