"""Compare noises for numbers on a public grid, without a curator, at one exact ε.

In [idp] a curator sees all numbers. Here each person's cell of the grid is randomized before it is
sent. Only the noise differs: all noises have the same three estimators of distribution, mean and
median.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from deniable import estimation
from deniable.arrays import Counts, Floats, quotients
from deniable.channels import Channel, SquareWave, laplace_channel, staircase_channel
from deniable.records import Microdata
from deniable.sampling import generator_for, multinomial

from reproduction.study import mean_summary

RISE = 1e-5  # stops EMS, in nats; generalized randomized response also converges, in many steps
NOISES: dict[str, Callable[[int, float], Channel]] = {
    "square wave": SquareWave.of_epsilon,
    "staircase": lambda cells, epsilon: staircase_channel(cells, epsilon, beyond=cells),
    "Laplace": lambda cells, epsilon: laplace_channel(cells, epsilon, beyond=cells),
    "generalized randomized response": partial(SquareWave.of_epsilon, half_width=0),
}

ESTIMATORS: dict[str, Callable[[Counts, Channel], Floats]] = {
    "EMS": partial(estimation.grid_estimate, rise=RISE),
    "EM, stopped early": lambda reports, channel: estimation.grid_estimate(
        reports, channel, smoothed=False, rise=1e-3 * float(np.exp(channel.epsilon))
    ),
    "maximum likelihood": lambda reports, channel: (
        estimation.maximum_likelihood(reports, channel).proportions
    ),
}  # EMS and EM with an early stop are from [square_wave], which stops EMS at a rise of 1e-3 nats


def compare_noises(
    data: Microdata,
    seed: int,
    *,
    epsilons: Sequence[float],
    replicates: int,
    intervals: int,
    resamples: int,
) -> pd.DataFrame:
    """Compare the errors of all noises and estimators at each ε, with the root `seed` of all draws.

    Each of at least 2 `replicates` draws a file of the size of `data` from the distribution of its
    only attribute, and randomizes it at each target in `epsilons`, (0, 30]. The first `intervals`
    replicates, at least 1, have bootstrap intervals of EMS from at least 20 `resamples`. Errors are
    proportions of the range of the grid. The grid has one cell per interval of the attribute,
    including an open interval at an end.

    ``exact_epsilon`` is at most ``epsilon``. ``wasserstein`` is the mean distance to the true
    distribution, with its 95 % interval (Student's). ``bias``, ``rmse`` and ``sd_root_n``, the
    standard deviation times √n, are of the mean. ``coverage_mean`` and ``coverage_median`` are the
    proportions of 95 % intervals that contain the true value, with Clopper and Pearson's limits,
    for EMS only.
    """
    generator = generator_for(seed, {"analysis": "idp_noises"})
    counts = data.counts(data.domain.names)
    truth, edges = counts / counts.sum(), np.arange(counts.size + 1.0) / counts.size
    middles = (edges[1:] + edges[:-1]) / 2
    rows: list[dict[str, Any]] = []
    for noise, channel_of in NOISES.items():
        for epsilon in epsilons:
            channel = channel_of(truth.size, epsilon)
            records = generator.multinomial(len(data), truth, replicates)
            reports = channel.randomize_counts(records, generator)
            about = {"noise": noise, "epsilon": epsilon, "exact_epsilon": channel.epsilon}
            about |= {"cells": truth.size, "n": len(data)}
            covered = _coverage(reports[:intervals], channel, truth, edges, resamples, generator)
            for name, estimator in ESTIMATORS.items():
                estimates = estimator(reports, channel)
                distance = mean_summary(wasserstein_distances(estimates, truth, middles))
                means = estimates @ middles
                off = means - truth @ middles
                row = about | {"estimator": name, "replicates": replicates}
                row |= {"wasserstein": distance.value}
                row |= {"ci_low": distance.low, "ci_high": distance.high}
                row |= {"bias": float(off.mean()), "rmse": float(np.sqrt((off**2).mean()))}
                row["sd_root_n"] = float(means.std(ddof=1) * np.sqrt(len(data)))
                rows.append(row | (covered if name == "EMS" else {"intervals": 0}))
    return pd.DataFrame(rows).assign(data_source=data.marks["data_source"])


def _coverage(
    reports: Counts,
    channel: Channel,
    truth: Floats,
    edges: Floats,
    resamples: int,
    generator: np.random.Generator,
) -> dict[str, float]:
    """Return the proportions of bootstrap intervals by EMS that contain true mean and median.

    Limits are percentiles of the estimates from resampled tables (Efron, Tibshirani, 1993, "An
    introduction to the bootstrap", 13.3). They include the noise of the estimate, but not its bias.
    """

    def statistics(distributions: Floats) -> Floats:
        means = distributions @ ((edges[1:] + edges[:-1]) / 2)
        return np.stack([means, medians(distributions, edges)], axis=-1)

    right, held = statistics(truth), np.zeros(2, dtype=int)
    for table in reports:
        records = np.full(resamples, table.sum())
        drawn = multinomial(generator, records, table / table.sum())
        found = statistics(estimation.grid_estimate(drawn, channel, rise=RISE))
        least, most = np.quantile(found, [0.025, 0.975], axis=0)
        held += (least <= right) & (right <= most)
    low, high = estimation.clopper_pearson(held, len(reports))
    columns: dict[str, float] = {"intervals": len(reports)}
    for at, name in enumerate(("mean", "median")):
        ends = {"": held[at] / len(reports), "_low": low[at], "_high": high[at]}
        columns |= {f"coverage_{name}{end}": float(value) for end, value in ends.items()}
    return columns


def medians(distributions: Floats, edges: Floats) -> Floats:
    """Return medians, shape (...), with the mass of each cell spread evenly in it.

    `distributions` have the shape (..., cells), and the increasing `edges` (cells + 1,).
    """
    sums = np.cumsum(distributions, axis=-1)
    half = sums[..., -1:] / 2
    cells = (sums < half).sum(axis=-1, keepdims=True)
    short = np.take_along_axis(sums, cells, axis=-1) - half
    into = 1 - quotients(short, np.take_along_axis(distributions, cells, axis=-1), 1.0)
    return np.asarray(edges[cells] + into * (edges[cells + 1] - edges[cells]))[..., 0]


def wasserstein_distances(estimated: Floats, true: Floats, middles: Floats) -> Floats:
    """Return the mean distance over which mass moves from one distribution to the other.

    `estimated` and `true`, shape (..., cells), have the same sums; cells are at their `middles`.
    """
    below = np.cumsum(estimated - true, axis=-1)[..., :-1]
    return np.asarray(np.abs(below) @ np.diff(middles))
