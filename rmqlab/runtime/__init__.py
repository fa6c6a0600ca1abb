"""Time, transport and choices for the clients."""
