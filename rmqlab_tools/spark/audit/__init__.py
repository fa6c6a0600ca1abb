"""The audit of a store: what is known, what follows for each message, totals, what to send again."""
