"""The laboratory: scenarios, events, fates, schedules, replay, conformance and experiments."""
