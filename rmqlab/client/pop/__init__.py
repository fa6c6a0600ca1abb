"""Consumers that pop: the broker decides who reads which queue and hides what it has given. Of 5.x only."""
