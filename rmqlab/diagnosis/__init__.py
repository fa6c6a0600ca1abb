"""`rmqlab doctor`: read a live cluster, compare it with the rules of 4.8.0, say which group loses messages."""
