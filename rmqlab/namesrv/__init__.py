"""The name server: who has which topic. Imports protocol.

Names in backquotes that are not here, and "Java", mean the classes and methods of RocketMQ 4.8.0.
"""
