"""The files of a store directory, read as Arrow columns."""
