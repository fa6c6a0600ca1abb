"""The articles' experiments, figure beside figure."""
