"""Types of arrays."""

from typing import Any

Sparse = Any
"""A sparse array of SciPy, whose types do not say what can be done with it."""
