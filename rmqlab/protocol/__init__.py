"""The remoting protocol of RocketMQ 4.8.0: codes, commands, headers, heartbeats and routes. Imports message."""
