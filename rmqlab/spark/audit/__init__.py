"""The audit of a store: evidence, judgement, totals, what to send again."""
