"""Source code and configuration read: which consumer groups a code base has, and what each member subscribes."""
