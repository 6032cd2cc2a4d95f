"""The square wave for numbers that can be missing, which is an answer of its own."""

import math

import numpy as np

from deniable.channels.asked import refuse_epsilon
from deniable.channels.dense import DenseChannel
from deniable.channels.maps import refuse_other_than_whole
from deniable.channels.square_wave import SquareWave
from deniable.errors import ChannelError

CLOSER = 2.0**-50  # the first of the steps, relative, by which rounding is made up for


class SquareWaveOrMissing(DenseChannel):
    """Report "missing" by a coin that depends on whether the number is, else by the square wave.

    The categories are the k cells of a grid in order, and last "missing"; the reports those of
    `SquareWave`, k + 2b, and last "missing". A number is reported as missing with the probability
    `made_missing`, else through the wave; what is missing is reported so with the probability
    `kept_missing`, else as any cell of the wider grid alike. Epsilon is that of this matrix.

    Parameters
    ----------
    cells : int, >= 2
        k.
    half_width : int, >= 0
        b, in cells.
    inside : float
        As of `SquareWave`.
    kept_missing, made_missing : float, in [0, 1]

    Raises
    ------
    ChannelError
        If a parameter is none of these.

    Examples
    --------
    >>> SquareWaveOrMissing(2, 0, 0.75, 0.5, 0.2).matrix().round(2)
    array([[0.6 , 0.2 , 0.2 ],
           [0.2 , 0.6 , 0.2 ],
           [0.25, 0.25, 0.5 ]])
    """

    cells: int
    half_width: int
    inside: float
    kept_missing: float
    made_missing: float

    def __init__(
        self, cells: int, half_width: int, inside: float, kept_missing: float, made_missing: float
    ) -> None:
        for name, value in (("kept_missing", kept_missing), ("made_missing", made_missing)):
            if not 0 <= value <= 1:
                raise ChannelError(f"{name} is {value}; a probability must be in [0, 1]")
        wave = SquareWave(cells, half_width, inside)
        matrix = np.zeros((wave.size + 1, wave.reports + 1))
        matrix[:-1, :-1] = (1 - made_missing) * wave.matrix()
        matrix[:-1, -1] = made_missing
        matrix[-1, :-1] = (1 - kept_missing) / wave.reports
        matrix[-1, -1] = kept_missing
        super().__init__(matrix)
        own = {"cells": wave.cells, "half_width": wave.half_width, "inside": wave.inside}
        own |= {"kept_missing": float(kept_missing), "made_missing": float(made_missing)}
        for name, value in own.items():
            object.__setattr__(self, name, value)

    @classmethod
    def of_epsilon(cls, cells: int, epsilon: float) -> "SquareWaveOrMissing":
        """Return the channel of at most this exact epsilon.

        The wave is that of `SquareWave.of_epsilon`, with E = exp(epsilon) between the window and
        what is outside; so numbers, once reported as such, are told apart as well as without
        missing values. Of coins with kept_missing = E made_missing it is the one that says least
        often "missing" of a number. The most probable report of a number is r times as probable as
        on average, so that from (1 - made) r <= E (1 - E made) follows
        made_missing = (E - r) / (E^2 - r).

        Parameters
        ----------
        cells : int, >= 2
        epsilon : float, in (0, 30]

        Raises
        ------
        ChannelError
            If a parameter is none of these, or floats do not reach so small an epsilon.
        """
        refuse_epsilon(epsilon)
        refuse_other_than_whole("cells", cells, 2)
        aimed_at, step = epsilon, CLOSER
        while True:
            wave = SquareWave.of_epsilon(cells, aimed_at)
            ratio = math.exp(aimed_at)
            most = wave.inside / wave.window * wave.reports
            made = max((ratio - most) / (ratio**2 - most), 0.0)
            channel = cls(cells, wave.half_width, wave.inside, min(ratio * made, 1.0), made)
            if channel.epsilon <= epsilon:
                return channel
            aimed_at, step = aimed_at * (1 - step), 2 * step
