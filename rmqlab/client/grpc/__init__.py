"""Consumers of rocketmq-client-java, with the proxy that they talk to folded in: no hop between them. Of 5.x only."""
