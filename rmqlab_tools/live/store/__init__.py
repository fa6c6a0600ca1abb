"""A store on disk: what only files need, from a scan of the log to the index of keys."""
