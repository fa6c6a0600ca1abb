"""Pictures of filters: tags, expressions, both layers, queue entries."""
