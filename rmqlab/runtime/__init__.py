"""Time, transport and choices for the clients.

Names in backquotes that are not here, and "Java", mean the classes and methods of RocketMQ 4.8.0.
"""
