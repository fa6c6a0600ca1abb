"""The articles' experiments, with what was printed and what comes out here."""
