"""Linear programs, interior points, branch and bound, the relaxation."""
