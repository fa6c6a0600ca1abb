"""What was probably meant by an expression that the broker refuses or reads in part, and how it is written."""
