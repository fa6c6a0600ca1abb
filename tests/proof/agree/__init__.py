"""Every way to evaluate a filter, held against the others on messages that are easily got wrong."""
