"""Pictures of sweeps and of what clusters cost."""
