"""Files of numbers: design, promises, estimates, check, audit."""
