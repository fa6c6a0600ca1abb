"""Recordings of a real broker fed to ours, answer by answer."""
