"""Whatever people have of a cluster, recognised by its content: what each piece is, and what all say together."""
