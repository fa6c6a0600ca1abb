"""The rooms of both packages: which imports which, read from the source, and a picture of it."""
