"""Registry of the kinds of channels: name, constructor and limits of each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from deniable.channels.base import MAX_NOISE_POINTS, Channel
from deniable.channels.keep_or_replace import KeepOrReplace
from deniable.channels.numeric import SquareWave, laplace_channel, staircase_channel
from deniable.channels.protocols import HadamardResponse, ProjectiveGeometry, SubsetSelection


@dataclass(frozen=True)
class Maker:
    """A kind of channel that is defined by a number of cells and a target epsilon.

    `of_epsilon` takes both and returns a channel with an exact epsilon of at most the target. If
    `on_grid`, cells are the points on the grid of one number, in order. There are at most
    `max_cells`; None means no limit.
    """

    of_epsilon: Callable[[int, float], Channel]
    on_grid: bool = False
    max_cells: int | None = None


MAKERS: Mapping[str, Maker] = {
    "generalized-rr": Maker(KeepOrReplace.of_epsilon),
    "subset-selection": Maker(SubsetSelection.of_epsilon),
    "hadamard": Maker(HadamardResponse.of_epsilon),
    "projective-geometry": Maker(ProjectiveGeometry.of_epsilon),
    "square-wave": Maker(SquareWave.of_epsilon, on_grid=True),
    "laplace": Maker(laplace_channel, on_grid=True, max_cells=MAX_NOISE_POINTS),
    "staircase": Maker(staircase_channel, on_grid=True, max_cells=MAX_NOISE_POINTS),
}
"""Kinds of channels, by their names in the option `mechanism` of plans."""
