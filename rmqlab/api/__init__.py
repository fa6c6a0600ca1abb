"""What `import rmqlab` offers: `Lab`, its tables and pictures, and the verbs as functions."""
