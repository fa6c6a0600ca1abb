"""What the recordings say of the cells of the matrix: counted from their events, shipped as one table."""
