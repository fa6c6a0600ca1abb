"""What is done in a run: the steps of a scenario, as people write them, and the choices of a schedule."""
