"""Pictures of the bloom profile: cost by stage, the map, false hits."""
