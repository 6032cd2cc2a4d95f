"""Names for the kinds of arrays that functions take and return."""

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
"""Real numbers: proportions, probabilities, estimates, measurements."""

Counts = npt.NDArray[np.int64]
"""Whole numbers: how many records are in each category or cell."""

Codes = npt.NDArray[np.integer]
"""Positions of categories, classes or clusters, from 0, one a record; any width."""

Flags = npt.NDArray[np.bool_]
"""Which of several hold."""

Positions = npt.NDArray[np.intp]
"""Indices into another array."""

Sparse = Any
"""A sparse matrix of SciPy, which brings no types: ``scipy.sparse.csr_array``, mostly."""
