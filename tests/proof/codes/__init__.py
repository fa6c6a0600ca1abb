"""Every request code of 4.8.0: what is asked, and what the real servers answered."""
