"""The remoting protocol: codes, commands, headers, heartbeats and routes. Imports message."""
