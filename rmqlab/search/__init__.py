"""Questions about scenarios and groups, answered by search: every outcome, every way to change, every difference."""
