"""The square wave for numbers that can be missing: "missing" is one more category."""

import math

import numpy as np

from deniable.arrays import Floats
from deniable.channels.asked import channel_within, numbers_in, refuse_epsilon
from deniable.channels.dense import DenseChannel
from deniable.channels.maps import refuse_other_than_whole
from deniable.channels.numeric.square_wave import SquareWave
from deniable.errors import ChannelError


class SquareWaveOrMissing(DenseChannel):
    """Report "missing" with a probability that depends on the truth, else by the square wave.

    The categories are the k cells of a grid in order, and last "missing"; the values are the k + 2b
    of `SquareWave`, and last "missing". A number is reported as missing with one probability, else
    through the wave. A missing value is reported so with another probability, else as any cell of
    the wider grid with equal probabilities. Raises `ChannelError` if a parameter is out of range,
    or the weights are not a channel.

    Parameters
    ----------
    cells : int, >= 2
        k.
    half_width : int, >= 0
        b, in cells.
    weights : array, shape (5,)
        The different entries of the matrix: of a number, for each value in its window, for each
        other number, and for "missing"; of a missing value, for each number, and for "missing".
        Rows are taken in their exact proportions.

    Examples
    --------
    >>> SquareWaveOrMissing(2, 0, np.array([0.6, 0.2, 0.2, 0.25, 0.5])).matrix()
    array([[0.6 , 0.2 , 0.2 ],
           [0.2 , 0.6 , 0.2 ],
           [0.25, 0.25, 0.5 ]])
    """

    cells: int
    half_width: int
    weights: Floats

    def __init__(self, cells: int, half_width: int, weights: Floats) -> None:
        grid, own = SquareWave(cells, half_width, 1.0), numbers_in("the weights", weights)
        if own.shape != (5,):
            raise ChannelError(f"weights of shape {own.shape}; give five")
        near, far, made, spread, kept = own.tolist()
        steps = np.subtract.outer(-np.arange(grid.cells), -np.arange(grid.reports))
        matrix = np.empty((grid.size + 1, grid.reports + 1))
        matrix[:-1, :-1] = np.where((steps >= 0) & (steps < grid.window), near, far)
        matrix[:-1, -1] = made
        matrix[-1, :-1] = spread
        matrix[-1, -1] = kept
        super().__init__(matrix)
        own.setflags(write=False)
        parameters = {"cells": grid.cells, "half_width": grid.half_width, "weights": own}
        for name, value in parameters.items():
            object.__setattr__(self, name, value)

    @classmethod
    def from_probabilities(
        cls, cells: int, half_width: int, inside: float, kept_missing: float, made_missing: float
    ) -> "SquareWaveOrMissing":
        """Return the channel of a square wave (`cells`, `half_width`, `inside`) and two coins.

        `kept_missing` and `made_missing` are the probabilities, in [0, 1], that a missing value and
        a number are reported as missing. Raises `ChannelError` if a parameter is out of range.

        Examples
        --------
        >>> SquareWaveOrMissing.from_probabilities(2, 0, 0.75, 0.5, 0.2).matrix().round(2)
        array([[0.6 , 0.2 , 0.2 ],
               [0.2 , 0.6 , 0.2 ],
               [0.25, 0.25, 0.5 ]])
        """
        for name, value in (("kept_missing", kept_missing), ("made_missing", made_missing)):
            if not 0 <= value <= 1:
                raise ChannelError(f"{name} is {value}; a probability must be in [0, 1]")
        wave = SquareWave(cells, half_width, inside)
        near, far = (1 - made_missing) * np.array(list(map(float, wave.exact_entries)))
        spread = (1 - kept_missing) / wave.reports
        return cls(cells, half_width, np.array([near, far, made_missing, spread, kept_missing]))

    @classmethod
    def of_epsilon(cls, cells: int, epsilon: float) -> "SquareWaveOrMissing":
        """Return the channel of `cells`, >= 2, with at most the exact `epsilon`, in (0, 30].

        The wave is `SquareWave.of_epsilon`, with a ratio E = exp(epsilon) between the window and
        the other cells. So numbers that are reported as numbers are as informative as without
        missing values. Among coins with kept_missing = E made_missing it reports a number as
        "missing" least often. The most probable value of a number is r times as probable as on
        average, so from (1 - made) r <= E (1 - E made) follows made_missing = (E - r) / (E^2 - r).
        Raises `ChannelError` if a parameter is out of range, or too small for floats.
        """
        refuse_epsilon(epsilon)
        refuse_other_than_whole("cells", cells, 2)

        def of_target(target: float) -> "SquareWaveOrMissing":
            wave = SquareWave.of_epsilon(cells, target)
            ratio = math.exp(target)
            most = wave.inside / wave.window * wave.reports
            made = max((ratio - most) / (ratio**2 - most), 0.0)
            coins = min(ratio * made, 1.0), made
            return cls.from_probabilities(cells, wave.half_width, wave.inside, *coins)

        return channel_within(epsilon, of_target)
