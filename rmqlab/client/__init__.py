"""Clients: producer, consumers, rebalance, offsets, written once for every runtime. Imports protocol and filter."""
