"""Medians of runs that answer several queries each, and how medians differ: by whole runs.

Answers of one run rise and fall together, and so do methods that answer the same queries. Runs are
independent, so that runs are resampled, each with all of its answers, and all outputs alike.
"""

from typing import Literal

import numpy as np

from deniable.arrays import Counts, Floats, Positions

How = Literal["difference", "ratio"]
RESAMPLES = 400
"""The percentiles of that many resamples have an error of a tenth of the interval's half-width."""
MIDDLE = 0.4, 0.6  # between which shares of the answers medians of resamples are looked for first


def resampled_medians(
    values: Floats, generator: np.random.Generator, resamples: int = RESAMPLES
) -> Floats:
    """Return the medians of each output in `resamples` of whole runs, shape (resamples, outputs).

    The `values` have shape (runs, outputs, answers); of an even number the lower median is taken.
    How often a run is in a resample is drawn by the `generator`.
    """
    runs, outputs, answers = values.shape
    times = generator.multinomial(runs, np.full(runs, 1 / runs), size=resamples)
    found = np.empty((resamples, outputs))
    for output in range(outputs):
        flat = values[:, output].reshape(-1)
        order = np.argsort(flat, kind="stable")
        low, high = (int(end * flat.size) for end in MIDDLE)
        middle = _middles(times, order // answers, answers, low, high)
        if middle is None:
            middle = _middles(times, order // answers, answers, 0, flat.size)
        found[:, output] = flat[order[middle]]
    return found


def _middles(times: Counts, run: Positions, answers: int, low: int, high: int) -> Positions | None:
    """Return the place at which each resample's answers reach a half; None if not in between."""
    before = times @ np.bincount(run[:low], minlength=times.shape[1])
    reached = before[:, None] + np.cumsum(times[:, run[low:high]], axis=1)
    half = times[0].sum() * answers
    if np.any(2 * before >= half) or np.any(2 * reached[:, -1:] < half):
        return None
    return np.asarray(low + np.argmax(2 * reached >= half, axis=1))


def percentile_interval(resampled: Floats, confidence: float) -> tuple[float, float]:
    """Return the percentile interval of a `confidence` from `resampled` values, shape (resamples,).

    That is the whole line if a resample is not a number.
    """
    if np.isnan(resampled).any():
        return -np.inf, np.inf
    tail = (1 - confidence) / 2
    low, high = np.quantile(resampled, [tail, 1 - tail], method="inverted_cdf")
    return float(low), float(high)


def compared_medians(
    medians: Floats, resampled: Floats, pair: tuple[int, int], how: How, confidence: float
) -> tuple[float, float, float]:
    """Return how the medians of two outputs differ, with the ends of its percentile interval.

    Of the `pair` (positions of outputs) the first less the second or, by `how`, over it; infinite
    medians give no number, which may lie anywhere. There are `medians`, shape (outputs,), and
    those `resampled`, shape (resamples, outputs); the interval has the `confidence`.
    """
    first, second = pair
    of = np.subtract if how == "difference" else np.divide
    with np.errstate(divide="ignore", invalid="ignore"):
        value = float(of(medians[first], medians[second]))
        every = np.asarray(of(resampled[:, first], resampled[:, second]))
    return (value, *percentile_interval(every, confidence))
