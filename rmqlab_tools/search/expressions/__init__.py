"""What an expression probably means, and what would be right."""
