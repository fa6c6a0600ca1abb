"""What a group of two members with different expressions loses: by receiver, order of the tags, filter and version."""
