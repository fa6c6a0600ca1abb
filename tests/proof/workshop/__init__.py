"""Learners' notebooks judged for whoever leads a workshop: in a sandbox, by the project's own checks."""
