"""Pictures of heartbeats: the clock lane, who beats whom."""
