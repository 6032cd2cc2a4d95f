"""Where chance comes from, exact draws, Laplace noise."""
