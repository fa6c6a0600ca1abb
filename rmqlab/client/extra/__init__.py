"""What the articles do without: answers to the admin tool, transactions, requests with replies, traces, callbacks.

Each registers with an instance, a producer or a consumer; no other module of the room imports one of them.
"""
