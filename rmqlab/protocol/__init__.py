"""The remoting protocol of RocketMQ 4.8.0: codes, commands, headers, heartbeats and routes. Imports message.

Names in backquotes that are not here, and "Java", mean the classes and methods of RocketMQ 4.8.0.
"""
