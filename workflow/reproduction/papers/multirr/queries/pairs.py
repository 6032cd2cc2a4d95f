"""Count queries of two attributes at several coverages: Figure 2 of [multirr], and beyond.

A replicate randomizes each pair of attributes by RR-Independent, and asks one random query of each
coverage about it. The text asks about one random pair; the median belongs to the same distribution.
Inverting attribute by attribute is the estimate of joint distributions in [castell].
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, product
from typing import Any

import numpy as np

from deniable import estimation
from deniable.arrays import Counts, Floats
from deniable.channels import Channel, ProductChannel
from deniable.randomized_response import rr_channel
from deniable.records import Microdata

from reproduction.papers.multirr.queries import shared
from reproduction.study import Cell, Comparisons, Output, Simulated

HALF = 0.5
MEASURES = ("absolute_error", "relative_error")
LIKELIHOOD_TOLERANCE = 1e-3
"""Nats below the maximum at which EM may stop. Compared with 1e-6 on Adult, medians of 1000
replicates move by less than a tenth of the half-width of their intervals."""


@dataclass(frozen=True, eq=False)
class PairQueries(shared.OfTrueRecords):
    """Simulator of count queries over two attributes of original records, `data`.

    `coverages` are sigmas, the proportions of a pair's cells in a query. The choice of `estimators`
    (names in `ESTIMATORS`) changes neither the randomization nor the queries.
    """

    data: Microdata
    coverages: tuple[float, ...]
    estimators: tuple[str, ...] = ("randomized", "rr_independent")

    def spends(self, cell: Cell, output: Mapping[str, Any]) -> Mapping[str, float]:
        return self.independent(cell).spends

    def simulate(self, cell: Cell, generator: np.random.Generator, replicates: int) -> Simulated:
        def errors(pair: tuple[str, ...]) -> Floats:
            true = self.counts(pair).reshape(-1)
            sizes = self.data.domain.project(pair).shape
            factors = (rr_channel(size, cell["p"], cell["matrix"]) for size in sizes)
            channel = ProductChannel(tuple(factors))
            files = np.broadcast_to(true, (replicates, true.size))
            reports = channel.randomize_counts(files, generator)
            how = replicates, generator, cell.get("rounding", "up")
            asked = [estimation.random_queries(true.size, each, *how) for each in self.coverages]
            queries = np.stack(asked, axis=1).astype(float)
            own = partial(of_margins, projection=cell["projection"])
            every = ESTIMATORS | {"rr_independent": own}
            joints = (every[name](reports, channel) for name in self.estimators)
            answers = [np.einsum("rc,rqc->rq", joint, queries) for joint in joints]
            estimated = true.sum() * np.stack(answers, axis=1)
            truth = np.broadcast_to((queries @ true)[:, None], estimated.shape).astype(float)
            found = (np.abs(estimated - truth), estimation.relative_errors(estimated, truth))
            return np.stack(found, axis=-1).reshape(replicates, -1)

        pairs = list(combinations(self.data.domain.names, 2))
        found = shared.of_all_attributes(errors, pairs, generator).swapaxes(0, 1)
        every = product(self.estimators, self.coverages, MEASURES)
        for (estimator, sigma, measure), values in zip(every, found, strict=True):
            yield {"estimator": estimator, "sigma": sigma, "measure": measure}, values


class GainQueries(PairQueries):
    """Simulator of the queries of Figure 2, with the comparisons of section 6.5 by replicate."""

    def simulate(self, cell: Cell, generator: np.random.Generator, replicates: int) -> Simulated:
        for each, values in super().simulate(cell, generator, replicates):
            yield {**each, "against": None}, values

    def compared(self, outputs: Sequence[Output]) -> Comparisons:
        """Return the ratios of medians of `outputs`: two estimators, or two coverages of one.

        The two coverages are neighbours, or one of them is one half, or their sum is one.
        """
        found: Comparisons = []
        ordered = sorted(self.coverages)
        for (i, one), (j, other) in combinations(enumerate(outputs), 2):
            a, b = one["sigma"], other["sigma"]
            neighbours = abs(ordered.index(a) - ordered.index(b)) == 1
            against = other["estimator"] if a == b else f"sigma = {b:g}"
            same = one["estimator"] == other["estimator"]
            compared = a == b or (same and (neighbours or HALF in (a, b) or math.isclose(a + b, 1)))
            if compared and one["measure"] == other["measure"]:
                name = {"measure": f"{one['measure']}_ratio", "against": against}
                found.append(({**one, **name}, "ratio", (i, j)))
        return found


def _randomized_joint(reports: Counts, channel: Channel) -> Floats:
    return np.asarray(reports / reports.sum(axis=-1, keepdims=True))


def of_margins(reports: Counts, channel: ProductChannel, projection: str) -> Floats:
    """Return the product of two projected marginal distributions ([multirr], Protocol 1).

    `reports` are counts of responses from the `channel` of a pair. The `projection` is a name in
    `PROJECTIONS`, or "none" for the distributions of responses, without estimate (2).
    """
    table = reports.reshape(-1, *channel.shape)
    estimate = (shared.PROJECTIONS | {"none": _randomized_joint})[projection]
    rows, columns = (
        estimate(table.sum(axis=2 - i), factor) for i, factor in enumerate(channel.factors)
    )
    return np.asarray((rows[:, :, None] * columns[:, None, :]).reshape(len(rows), -1))


ESTIMATORS: dict[str, Callable[[Counts, ProductChannel], Floats]] = {
    "randomized": partial(of_margins, projection="none"),
    "randomized_joint": _randomized_joint,
    "pair_unbiased": estimation.estimate_or_uniform,
    "pair_clipped": shared.PROJECTIONS["clip"],
    "pair_projected": shared.PROJECTIONS["simplex"],
    "pair_likelihood": partial(estimation.likelihood_or_uniform, tolerance=LIKELIHOOD_TOLERANCE),
}  # all estimators except ``rr_independent``, which has a projection
