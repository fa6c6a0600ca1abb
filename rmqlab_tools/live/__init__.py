"""Sockets, files on disk, a broker for real clients, and what these want besides."""
