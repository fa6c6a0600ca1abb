"""The reading edition: the eight messages, function by function, in the order in which the functions first run."""
