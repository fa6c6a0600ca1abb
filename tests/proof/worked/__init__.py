"""Seven things that somebody adds, done: patches of this tree, each with its own tests."""
