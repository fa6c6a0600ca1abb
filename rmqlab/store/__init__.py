"""The store: commit log, consume queues, dispatch and `get_message`. Imports message and filter.

Names in backquotes that are not here, and "Java", mean the classes and methods of RocketMQ 4.8.0.
"""
