"""Messages, their properties, their ids and the bytes of a commit log record, as RocketMQ 4.8.0 has them.

"Java" in this room is what its classes do, or the JDK below them.
"""
