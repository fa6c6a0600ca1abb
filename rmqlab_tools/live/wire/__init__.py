"""Frames as bytes: what goes over a socket or stands in a recording."""
