"""Files of categories: design, estimates, synthesis, matrices, audit."""
