"""Runs from recorded frames."""
