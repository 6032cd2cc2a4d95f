"""Count queries over pairs from RR-Independent data: Figure 2 of [multirr], and beyond.

A run picks two random attributes, randomizes them, and asks one random query of each coverage. All
estimators answer the same queries from the same reports, at the same epsilon: that of
RR-Independent.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from deniable.arrays import Counts, Floats
from deniable.channels import ProductChannel
from deniable.errors import DeniableError
from deniable.estimation import (
    absolute_errors,
    euclidean_projection,
    likelihood_or_uniform,
    random_queries,
    relative_errors,
    unbiased_or_uniform,
)
from deniable.papers.multirr.cluster_queries import PROJECTIONS
from deniable.randomized_response import rr_channel, shrink
from deniable.records import Microdata

MEASURES = ("absolute_error", "relative_error")
LIKELIHOOD_TOLERANCE = 1e-3
"""Nats below the maximum at which EM may stop. On Adult, against 1e-6, this moves no median of 1000
runs by a tenth of its interval's half-width (most by less than a hundredth)."""

Estimator = Callable[[Counts, ProductChannel, str], Floats]


@dataclass(frozen=True, eq=False)
class PairQueries:
    """Simulates count queries over two attributes under RR-Independent.

    Parameters
    ----------
    data : Microdata
        The true records.
    coverages : tuple of float
        The sigmas: shares of the pair's cells that queries ask for.
    estimators : tuple of str
        Of `ESTIMATORS`; the default is what Figure 2 shows. Which are asked for changes neither
        the randomization nor the queries.
    """

    data: Microdata
    coverages: tuple[float, ...]
    estimators: tuple[str, ...] = ("randomized", "rr_independent")
    _tables: dict[tuple[str, str], Counts] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if len(self.data.domain) < 2:
            raise DeniableError("pairs need at least two attributes; the data have one")
        for name in self.estimators:
            if name not in ESTIMATORS:
                raise DeniableError(f"unknown estimator {name!r}; use {', '.join(ESTIMATORS)}")

    def outputs(self, cell: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return what names each output of a run: estimator, sigma, measure."""
        return [
            {"estimator": estimator, "sigma": sigma, "measure": measure}
            for estimator in self.estimators
            for sigma in self.coverages
            for measure in MEASURES
        ]

    def __call__(
        self, cell: Mapping[str, Any], generator: np.random.Generator, replicates: int
    ) -> Floats:
        """Return the errors of each run, shape (replicates, outputs).

        Absolute errors are in records.

        Parameters
        ----------
        cell : mapping
            matrix, p, projection (of the margins of ``rr_independent``).
        """
        pairs = list(combinations(self.data.domain.names, 2))
        drawn = generator.integers(len(pairs), size=replicates)
        shape = (len(self.estimators), len(self.coverages), len(MEASURES))
        errors = np.empty((replicates, *shape))
        for number, pair in enumerate(pairs):
            runs = np.flatnonzero(drawn == number)
            if runs.size:
                errors[runs] = self._pair_errors(cell, pair, generator, runs.size)
        return errors.reshape(replicates, -1)

    def _pair_errors(
        self,
        cell: Mapping[str, Any],
        pair: tuple[str, str],
        generator: np.random.Generator,
        runs: int,
    ) -> Floats:
        """Return the errors of runs over one pair, with axes run, estimator, sigma, measure."""
        true = self._counts(pair)
        sizes = self.data.domain.project(pair).shape
        channel = ProductChannel(
            tuple(rr_channel(size, cell["p"], cell["matrix"]) for size in sizes)
        )
        reports = channel.randomize_counts(np.broadcast_to(true, (runs, true.size)), generator)
        queries = np.stack(
            [random_queries(true.size, each, runs, generator) for each in self.coverages], axis=1
        ).astype(float)
        answers = np.empty((runs, len(self.estimators), len(self.coverages)))
        for number, name in enumerate(self.estimators):
            joint = ESTIMATORS[name](reports, channel, cell["projection"])
            answers[:, number] = np.einsum("rc,rqc->rq", joint, queries)
        estimated = true.sum() * answers
        truth = np.asarray(np.broadcast_to((queries @ true)[:, None], estimated.shape), dtype=float)
        errors = (absolute_errors(estimated, truth), relative_errors(estimated, truth))
        return np.stack(errors, axis=-1)

    def _counts(self, pair: tuple[str, str]) -> Counts:
        if pair not in self._tables:
            self._tables[pair] = self.data.counts(pair).reshape(-1)
        return self._tables[pair]


def _randomized(reports: Counts, channel: ProductChannel, projection: str) -> Floats:
    """Return RR-Independent's estimate without [multirr], (2): the product of the raw margins."""
    table = _randomized_joint(reports, channel, projection).reshape(-1, *channel.shape)
    return _product(table.sum(axis=2), table.sum(axis=1)).reshape(reports.shape)


def _randomized_joint(reports: Counts, channel: ProductChannel, projection: str) -> Floats:
    """Return the pair's empirical distribution in the raw randomized data, as they are."""
    return np.asarray(reports / reports.sum(axis=-1, keepdims=True))


def _rr_independent(reports: Counts, channel: ProductChannel, projection: str) -> Floats:
    """Return the product of the two estimated margins, each projected ([multirr], Protocol 1)."""
    table = reports.reshape(-1, *channel.shape)
    first, second = channel.factors
    rows = PROJECTIONS[projection](table.sum(axis=2), first)
    columns = PROJECTIONS[projection](table.sum(axis=1), second)
    return _product(rows, columns).reshape(reports.shape)


def _product(rows: Floats, columns: Floats) -> Floats:
    return np.asarray(rows[:, :, None] * columns[:, None, :])


ESTIMATORS: dict[str, Estimator] = {
    "randomized": _randomized,
    "randomized_joint": _randomized_joint,
    "rr_independent": _rr_independent,
    "pair_unbiased": lambda reports, channel, _: unbiased_or_uniform(reports, channel),
    "pair_clipped": lambda reports, channel, _: PROJECTIONS["clip"](reports, channel),
    "pair_projected": lambda reports, channel, _: PROJECTIONS["simplex"](reports, channel),
    "pair_likelihood": lambda reports, channel, _: likelihood_or_uniform(
        reports, channel, LIKELIHOOD_TOLERANCE
    ),
    "pair_shrunk": lambda reports, channel, _: euclidean_projection(
        shrink(reports, channel).estimate
    ),
}
