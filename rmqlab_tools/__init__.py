"""The clients of rmqlab: search, pictures, Spark, real brokers, the course and the verbs.

Nothing of `rmqlab` imports this package, but `rmqlab.plugins` names what may be asked of it.
"""
