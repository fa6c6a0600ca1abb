"""What happened in a run: facts, fates, records."""
