"""One module a verb of the command line: its arguments, and a call into the rooms."""
