"""A recording of a real broker against this one, request by request."""
