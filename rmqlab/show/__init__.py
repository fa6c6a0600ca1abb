"""Pictures of data: figures, widgets and tables. No rules."""
