"""What real clients want of a broker besides: administration, access control, transactions, statistics."""
