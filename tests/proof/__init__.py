"""How we know it is true: vectors, real jars, agreement, benchmarks, stress, rows. A checkout has it, a wheel does not.

Everything here may use every room of rmqlab; no room imports anything from here. The verbs in `tests.proof.commands`
exist in a checkout only.
"""
