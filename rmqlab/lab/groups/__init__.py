"""Experiments with groups over time: heartbeats, rebalance, ownership, crowds."""
