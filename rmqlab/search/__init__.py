"""Questions answered by search, for 4.8.0: every outcome, every way to change, every difference of subscriptions."""
