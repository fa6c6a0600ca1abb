"""What the articles do without: answers to the admin tool.

It registers with an instance; no other module of the room imports it.
"""
