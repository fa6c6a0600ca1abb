"""The real 4.8.0 beside ours: its classes, its broker and its clients in processes of their own."""
