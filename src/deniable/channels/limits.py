"""Limits of the sizes of channels in a plan."""

MAX_NOISE_POINTS = 256
"""Grid points of noise that is stored entry by entry, and cells of an invariant matrix."""
MAX_POINTS_OR_MISSING = 512
"""Grid points of a square wave with missing values, which is a dense matrix."""
MAX_RESPONSES = 1 << 15
"""Randomized values of one channel; more are slow, and reduce the variance very little."""
MAX_MATRIX_ENTRIES = 4096**2  # entries of a matrix whose randomized values have names of their own
MAX_LINEAR_DESIGN = 40  # cells of an optimized matrix of least changes or costs
MAX_SEARCHED_DESIGN = 24  # cells of an optimized matrix of least variance
MAX_DESIGNED_CELLS = 6
"""Cells of a matrix that is optimized by default; each matrix takes a third of a second."""
