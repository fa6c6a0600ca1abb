"""The laboratory: a cluster in a cell."""
