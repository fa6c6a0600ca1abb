"""The store: commit log, consume queues, dispatch and `get_message`. Imports message and filter."""
