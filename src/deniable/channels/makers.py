"""The registry of channel makers: the name of a kind, and the constructor by size and epsilon."""

from collections.abc import Callable, Mapping
from typing import Literal

from deniable.channels.base import Channel
from deniable.channels.grid_noises import laplace_channel, staircase_channel
from deniable.channels.keep_or_replace import KeepOrReplace
from deniable.channels.protocols import (
    HadamardResponse,
    ProjectiveGeometry,
    ProtocolKind,
    SubsetSelection,
)
from deniable.channels.square_wave import SquareWave

NumericKind = Literal["square-wave", "laplace", "staircase"]
"""Kinds that add noise to one number on a grid."""
MAKERS: Mapping[ProtocolKind | NumericKind, Callable[[int, float], Channel]] = {
    "generalized-rr": KeepOrReplace.of_epsilon,
    "subset-selection": SubsetSelection.of_epsilon,
    "hadamard": HadamardResponse.of_epsilon,
    "projective-geometry": ProjectiveGeometry.of_epsilon,
    "square-wave": SquareWave.of_epsilon,
    "laplace": laplace_channel,
    "staircase": staircase_channel,
}
"""Constructors of channels that depend on the number of cells and the exact epsilon alone."""

# Largest sizes of channels in a plan.
MAX_NOISE_POINTS = 256
"""Grid points of noise that is stored entry by entry, and cells of an invariant matrix."""
MAX_POINTS_OR_MISSING = 512
"""Grid points of a square wave with missing values, which is a dense matrix."""
MAX_RESPONSES = 1 << 15
"""Randomized values of one channel; more are slow, and reduce the variance very little."""
MAX_MATRIX_ENTRIES = 4096**2
"""Entries of a matrix whose randomized values have names of their own."""
MAX_LINEAR_DESIGN = 40
"""Cells of an optimized matrix of least changes or costs."""
MAX_SEARCHED_DESIGN = 24
"""Cells of an optimized matrix of least variance."""
MAX_DESIGNED_CELLS = 6
"""Cells of a matrix that is optimized without a request; each takes a third of a second."""
