"""Pictures of an audit, and its page."""
