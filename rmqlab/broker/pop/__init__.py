"""POP, of 5.x: pop, ack, invisibility, check points, timer, revive, assignment. Loaded by a broker whose rules have it.

Java names without a version are those of 5.3.3 and 5.5.0 alike. Left out: buffer merge (off by default), orderly pop,
batch ack, NOTIFICATION, PEEK, priority topics, LMQ and lite topics, the variants that keep check points in RocksDB or
in a KV store, tiered store, controller; of the timer, messages of producers, and rolling (a delay of more than two
days).
"""
