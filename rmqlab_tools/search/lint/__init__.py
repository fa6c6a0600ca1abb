"""Do the members of a group want the same, and what is lost if not."""
