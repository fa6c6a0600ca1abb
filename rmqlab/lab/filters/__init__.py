"""Experiments with filters: a broker on the bench, filter data through its life, both layers."""
