"""What real clients and the admin tool want besides: administration, access control, transactions, replies, statistics.

The articles need none of it, and `rmqlab.broker` never imports it: see `registration`.
"""
