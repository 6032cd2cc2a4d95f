"""Bootstrap intervals of medians and of their differences.

Answers of one replicate are dependent, and so are methods that answer the same queries. Replicates
("runs") are independent, so whole runs are resampled, the same ones for all outputs.
"""

from typing import Literal

import numpy as np

from deniable.arrays import Floats

How = Literal["difference", "ratio"]
RESAMPLES = 400
"""Percentiles of so many resamples have an error of a tenth of the interval's half-width."""


def resampled_medians(
    values: Floats, generator: np.random.Generator, resamples: int = RESAMPLES
) -> Floats:
    """Return the lower medians of runs that `generator` resamples, shape (`resamples`, outputs).

    The `values` have shape (runs, outputs, answers).
    """
    runs, outputs, answers = values.shape
    times = generator.multinomial(runs, np.full(runs, 1 / runs), size=resamples)
    found = np.empty((resamples, outputs))
    for output in range(outputs):
        flat = values[:, output].reshape(-1)
        order = np.argsort(flat, kind="stable")
        run = order // answers
        middle = [np.searchsorted(np.cumsum(row[run]), runs * answers / 2) for row in times]
        found[:, output] = flat[order[middle]]
    return found


def percentile_interval(resampled: Floats, confidence: float) -> tuple[float, float]:
    """Return the interval of `resampled` values at a `confidence`; the whole line if any is NaN."""
    if np.isnan(resampled).any():
        return -np.inf, np.inf
    tail = (1 - confidence) / 2
    low, high = np.quantile(resampled, [tail, 1 - tail], method="inverted_cdf")
    return float(low), float(high)


def compared_medians(
    medians: Floats, resampled: Floats, pair: tuple[int, int], how: How, confidence: float
) -> tuple[float, float, float]:
    """Compare the medians of a `pair` of outputs (positions): value, interval at a `confidence`.

    By `how`, the second is subtracted from the first or divides it. Infinite medians give NaN.
    There are `medians`, shape (outputs,), and `resampled` ones, shape (resamples, outputs).
    """
    first, second = pair
    of = np.subtract if how == "difference" else np.divide
    with np.errstate(divide="ignore", invalid="ignore"):
        value = float(of(medians[first], medians[second]))
        every = np.asarray(of(resampled[:, first], resampled[:, second]))
    return (value, *percentile_interval(every, confidence))
