"""Filters: subscription data, tag codes and what decides whether a message matches. Imports message and protocol.

Names in backquotes that are not here, and "Java", mean the classes and methods of RocketMQ 4.8.0.
"""
