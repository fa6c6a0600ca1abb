"""Pictures of recordings beside simulations."""
