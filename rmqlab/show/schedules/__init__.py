"""Pictures of schedules: the tree of outcomes, one schedule's story."""
