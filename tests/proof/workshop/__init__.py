"""Learners' notebooks judged for whoever leads a workshop: in a cage, by the project's own checks."""
