"""Numbers on a public grid, each protected by whom it is about, at one exact epsilon.

What [idp] does for numbers takes a curator who sees all of them. Here nobody does: the cell of a
number is randomized by itself. The noises differ, what is asked of their reports does not: the
distribution over the cells by the same three estimators, its mean, its median.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from deniable.arrays import Counts, Floats
from deniable.channels import Channel, SquareWave, laplace_channel, staircase_channel
from deniable.errors import DeniableError
from deniable.estimation import (
    bootstrap_intervals,
    clopper_pearson,
    grid_estimate,
    grid_means,
    grid_quantiles,
    maximum_likelihood,
    wasserstein_distances,
)
from deniable.records import Microdata
from deniable.sampling import generator_for

from reproduction.study import mean_summary

RISE = 1e-5  # of EMS, nats: also generalized randomized response, with many steps to go, arrives
NOISES: dict[str, Callable[[int, float], Channel]] = {
    "square wave": SquareWave.of_epsilon,
    "staircase": lambda cells, epsilon: staircase_channel(cells, epsilon, beyond=cells),
    "Laplace": lambda cells, epsilon: laplace_channel(cells, epsilon, beyond=cells),
    "generalized randomized response": partial(SquareWave.of_epsilon, half_width=0),
}
ASKED = ("mean", "median")

Estimator = Callable[[Counts, Channel], Floats]
ESTIMATORS: dict[str, Estimator] = {
    "EMS": partial(grid_estimate, rise=RISE),
    "EM, stopped early": lambda reports, channel: grid_estimate(
        reports, channel, smoothed=False, rise=1e-3 * float(np.exp(channel.epsilon))
    ),
    "maximum likelihood": lambda reports, channel: maximum_likelihood(reports, channel).proportions,
}
"""EMS and early-stopped EM are those of [square_wave], who stop EMS at a rise of 1e-3 nats."""


def compare_noises(
    counts: npt.ArrayLike,
    edges: npt.ArrayLike,
    epsilons: Sequence[float],
    n: int,
    replicates: int,
    generator: np.random.Generator,
    *,
    intervals: int,
    resamples: int,
) -> pd.DataFrame:
    """Tabulate what each noise costs at each epsilon, by each estimator.

    In each replicate n records are drawn from the population of the counts, and each is randomized.
    All is measured against the population, in shares of the range of the grid.

    Parameters
    ----------
    counts : shape (cells,)
        Of the population; each cell's share is the truth.
    edges : shape (cells + 1,), rising
        Of the cells.
    epsilons : in (0, 30]
    n : int, >= 1
    replicates : int, >= 2
    generator : numpy.random.Generator
    intervals : int, >= 1, at most `replicates`
        Replicates in which bootstrap intervals of EMS are made, too.
    resamples : int, >= 20, of the reports, for an interval

    Returns
    -------
    DataFrame, a row a noise, epsilon and estimator, with the columns
        noise, epsilon, estimator, cells, n, replicates;
        exact_epsilon : of the channel, not above the one asked for;
        wasserstein, ci_low, ci_high : mean distance to the truth, its 95 % interval (Student's);
        bias, rmse, sd_root_n : of the mean; the last is its standard deviation times the root of n;
        coverage_mean, coverage_median, with _low and _high: how many of the 95 % intervals hold the
        truth, with Clopper and Pearson's limits; intervals: of how many. NaN and 0 but for EMS.

    Raises
    ------
    DeniableError
        If counts and edges are no distribution on a grid, or a number is out of range.
    """
    truth, scale = _population(counts, edges)
    if n < 1 or replicates < 2 or not 1 <= intervals <= replicates:
        raise DeniableError(
            f"n is {n}, replicates {replicates}, intervals {intervals}; give at least 1 record, 2 "
            "replicates, and from 1 to all of them intervals"
        )
    rows: list[dict[str, Any]] = []
    for noise, channel_of in NOISES.items():
        for epsilon in epsilons:
            channel = channel_of(truth.size, epsilon)
            records = generator.multinomial(n, truth, replicates)
            reports = channel.randomize_counts(records, generator)
            about = {"noise": noise, "epsilon": epsilon, "exact_epsilon": channel.epsilon}
            about |= {"cells": truth.size, "n": n}
            covered = _coverage(reports[:intervals], channel, truth, scale, resamples, generator)
            for name, estimator in ESTIMATORS.items():
                errors = _errors(estimator(reports, channel), truth, scale, n)
                held = covered if name == "EMS" else {"intervals": 0}
                rows.append({**about, "estimator": name, **errors, **held})
    return pd.DataFrame(rows)


def _population(counts: npt.ArrayLike, edges: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Return the shares of the cells, and their edges with the range moved to [0, 1]."""
    numbers, limits = np.asarray(counts, dtype=float), np.asarray(edges, dtype=float)
    if numbers.ndim != 1 or numbers.size < 2 or limits.shape != (numbers.size + 1,):
        raise DeniableError(
            f"counts of shape {numbers.shape} and edges of shape {limits.shape} are no grid; give "
            "two cells or more, and one edge more than cells"
        )
    if not (np.all(np.diff(limits) > 0) and np.all(np.isfinite(limits))):
        raise DeniableError("the edges of a grid must be finite and rise")
    if not (np.all(numbers >= 0) and 0 < numbers.sum() < np.inf):
        raise DeniableError("the counts of a population must be finite, not negative, not all 0")
    return numbers / numbers.sum(), (limits - limits[0]) / (limits[-1] - limits[0])


def _errors(estimates: Floats, truth: Floats, scale: Floats, n: int) -> dict[str, float]:
    distance = mean_summary(wasserstein_distances(estimates, truth, scale))
    means = grid_means(estimates, scale)
    off = means - grid_means(truth, scale)
    return {
        "replicates": len(estimates),
        "wasserstein": distance.value,
        "ci_low": distance.low,
        "ci_high": distance.high,
        "bias": float(off.mean()),
        "rmse": float(np.sqrt((off**2).mean())),
        "sd_root_n": float(means.std(ddof=1) * np.sqrt(n)),
    }


def _mean_and_median(distributions: Floats, scale: Floats) -> Floats:
    means = grid_means(distributions, scale)[..., None]
    return np.concatenate([means, grid_quantiles(distributions, scale, 0.5)], axis=-1)


def _coverage(
    reports: Counts,
    channel: Channel,
    truth: Floats,
    scale: Floats,
    resamples: int,
    generator: np.random.Generator,
) -> dict[str, float]:
    """Return how many bootstrap intervals by EMS hold the true mean and median."""
    asked = partial(_mean_and_median, scale=scale)
    right = asked(truth)
    found = [
        bootstrap_intervals(table, channel, asked, generator, resamples=resamples, rise=RISE)
        for table in reports
    ]
    held = np.sum([(each.low <= right) & (right <= each.high) for each in found], axis=0)
    low, high = clopper_pearson(held, len(found))
    columns: dict[str, float] = {"intervals": len(found)}
    for at, name in enumerate(ASKED):
        columns[f"coverage_{name}"] = float(held[at] / len(found))
        columns[f"coverage_{name}_low"] = float(low[at])
        columns[f"coverage_{name}_high"] = float(high[at])
    return columns


def compare_on(data: Microdata, settings: Mapping[str, Any], seed: int) -> pd.DataFrame:
    """Compare the noises on the one attribute of `data`, for as many records.

    The grid has one unit per interval of the attribute, an open one at an end included. `settings`
    are further arguments of `compare_noises`; random numbers follow from the root `seed`.
    """
    counts = data.counts(data.domain.names)
    generator = generator_for(seed, {"analysis": "idp_noises"})
    edges = np.arange(counts.size + 1.0)
    found = compare_noises(counts, edges, n=len(data), generator=generator, **settings)
    return found.assign(data_source=data.marks["data_source"])
