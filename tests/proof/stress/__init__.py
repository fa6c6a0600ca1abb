"""Brokers under load, kills, broken frames and clients that misbehave."""
