"""Notebooks, their checks and exercises, and the rows they show."""
