"""Benchmarks of the pipeline, and the same audit at several addresses."""
