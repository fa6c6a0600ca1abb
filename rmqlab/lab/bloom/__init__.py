"""The bloom profile: what the switch costs and saves, measured stage by stage."""
