"""Clients as those of RocketMQ 4.8.0, written once for every runtime: producer, consumers, rebalance, offsets."""
