"""Sweeps: one function over many rows of parameters, in this process or in Spark tasks."""
