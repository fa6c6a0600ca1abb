"""Findings in a live cluster, and what people bring of one."""
