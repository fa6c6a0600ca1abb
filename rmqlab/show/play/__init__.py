"""Controls: what a reader can change, and the pictures that follow."""
