"""The broker: pull, hold, send, consumer and producer managers, housekeeping. Imports store, filter, protocol.

Names in backquotes that are not here, and "Java", mean the classes and methods of RocketMQ 4.8.0.
"""
