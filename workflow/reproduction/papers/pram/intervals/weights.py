"""Weighted estimates from randomized records of a survey with unequal weights ([pram], (2.7)).

The population is Adult. Records are drawn from it with replacement, and randomized one by one:

- ``pps``: a draw takes a person with a probability proportional to a size that depends on the
  relationship (`SIZES`);
- ``stratified``: the six relationships are strata, each with the same number of draws.

Both oversample the married, who earn more and have more education: without weights the estimates
are of another population. Weights known to depend on a characteristic tell of it, whatever the
channel hides; here they tell the relationship.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from deniable.arrays import Counts, Floats
from deniable.channels import Channel, Target
from deniable.estimation import Intervals, WeightedCounts, confidence_intervals, weighted_intervals
from deniable.records import Microdata
from deniable.sampling import multinomial

from reproduction.papers.pram.intervals.channels import TARGETS, setting
from reproduction.papers.pram.names import EVERY
from reproduction.study import Cell

CLASSES = "relationship"
SIZES = {"Husband": 4, "Wife": 4, "Unmarried": 2, "Not-in-family": 2}
"""How often a person is drawn under ``pps``, relative to those of other relationships."""
ESTIMATORS = ("hajek", "horvitz_thompson", "unweighted")


@dataclass(frozen=True, eq=False)
class PramWeights:
    """Simulates weighted estimates and intervals, `data` being Adult or having its attributes."""

    data: Microdata

    def outputs(self, cell: Cell) -> list[dict[str, Any]]:
        """Return what names each output of a `cell`: target, estimator, category, measure.

        - ``coverage``: share of the categories whose interval holds the truth;
        - ``variance_ratio``: estimated over true variance (of the linearized ratio for ``hajek``),
          mean over categories, for the population;
        - ``bias``: error of the estimate of a category, in proportions of the population;
          ``expected_bias``: what is expected of it, exactly, but for ``hajek``, a ratio.
        """
        _, labels, _ = setting(self.data, cell["channel"])
        found = []
        for target in TARGETS:
            for estimator in ESTIMATORS:
                one = {"target": target, "estimator": estimator}
                found.append(one | {"category": EVERY, "measure": "coverage"})
                if target == "population":
                    if estimator != "unweighted":
                        found.append(one | {"category": EVERY, "measure": "variance_ratio"})
                    found += [one | {"category": each, "measure": "bias"} for each in labels]
                    if estimator != "hajek":
                        found += [
                            one | {"category": each, "measure": "expected_bias"} for each in labels
                        ]
        return found

    def __call__(self, cell: Cell, generator: np.random.Generator, replicates: int) -> Floats:
        """Return outputs, shape (replicates, outputs); cells: design, channel, records.

        The channel is of a single attribute, other than the relationship.
        """
        channel, design = self.setting(cell)
        true = design.draw(generator, replicates)
        reports = channel.randomize_counts(true, generator)
        columns: list[Floats] = []
        for target in TARGETS:
            for estimator in ESTIMATORS:
                truth = design.proportions
                if target == "file":
                    truth = design.shares_of_file(true, estimator)
                found = intervals(channel, design, reports, target, estimator)
                columns.append(found.cover(truth).mean(axis=1))
                if target == "population":
                    if estimator != "unweighted":
                        variance = design.variance(channel, estimator)
                        columns.append((found.standard_error**2 / variance).mean(axis=1))
                    columns += [*(found.estimate - truth).T]
                    if estimator != "hajek":
                        expected = design.expected(estimator) - truth
                        columns += [np.full(replicates, each) for each in expected]
        return np.column_stack(columns)

    def setting(self, cell: Cell) -> tuple[Channel, "Design"]:
        """Return the channel and the design of a `cell`."""
        channel, _, shares = setting(self.data, cell["channel"], (CLASSES,))
        present, names = shares.sum(axis=1), self.data.domain[CLASSES].categories
        stratified = cell["design"] == "stratified"
        if stratified:
            drawn = np.full(len(names), 1 / len(names))
        else:
            drawn = np.array([SIZES.get(name, 1) for name in names]) * present
        within = shares / present[:, None]
        return channel, Design(present, within, drawn / drawn.sum(), cell["records"], stratified)


@dataclass(frozen=True, eq=False)
class Design:
    """Draws with replacement from classes of persons with equal chances within each.

    Attributes
    ----------
    present : shape (classes,)
        Shares of the classes in the population.
    within : shape (classes, categories)
        Proportions of the categories in each class.
    drawn : shape (classes,)
        Shares of the classes in the draws: expected, or fixed if stratified.
    records : int
        Draws.
    stratified : bool
        Whether each class has a number of draws of its own.
    """

    present: Floats
    within: Floats
    drawn: Floats
    records: int
    stratified: bool

    @property
    def proportions(self) -> Floats:
        """The true proportions of the categories in the population."""
        return self.present @ self.within

    @cached_property
    def allocation(self) -> Counts:
        """Draws from each stratum, even ones."""
        each, rest = divmod(self.records, self.drawn.size)
        return each + (np.arange(self.drawn.size) < rest).astype(np.int64)

    @cached_property
    def weights(self) -> Floats:
        """Weight of a record of each class; a share of the population of total 1."""
        drawn = self.allocation if self.stratified else self.records * self.drawn
        return np.asarray(self.present / drawn)

    def draw(self, generator: np.random.Generator, replicates: int) -> Counts:
        """Draw true counts by a `generator`, shape (`replicates`, classes, categories)."""
        if not self.stratified:
            cells = (self.drawn[:, None] * self.within).reshape(-1)
            counts = multinomial(generator, np.full(replicates, self.records), cells)
            return counts.reshape(replicates, *self.within.shape)
        strata = zip(self.allocation, self.within, strict=True)
        drawn = [multinomial(generator, np.full(replicates, n), row) for n, row in strata]
        return np.stack(drawn, axis=1)

    def weighted_counts(self, reports: Counts) -> WeightedCounts:
        """Return the sums of weights of `reports`, counts by run and class, by stratum if any."""
        weights = self.weights[:, None]
        sums, squares, records = reports * weights, reports * weights**2, reports.sum(axis=-1)
        if not self.stratified:
            sums, squares = (each.sum(axis=1, keepdims=True) for each in (sums, squares))
            records = records.sum(axis=1, keepdims=True)
        return WeightedCounts(sums, squares, records)

    def shares_of_file(self, true: Counts, estimator: str) -> Floats:
        """Return what an `estimator` estimates of the file with `true` counts, run by run."""
        if estimator == "unweighted":
            return np.asarray(true.sum(axis=1) / self.records)
        sums = (true * self.weights[:, None]).sum(axis=1)
        return np.asarray(
            sums if estimator == "horvitz_thompson" else sums / sums.sum(axis=1, keepdims=True)
        )

    def expected(self, estimator: str) -> Floats:
        """Return an `estimator`'s expectation for the population, by any channel: it adds no bias.

        Of ``horvitz_thompson`` that is the truth, of ``unweighted`` that of another population.
        """
        if estimator == "horvitz_thompson":
            return self.proportions
        drawn = self.allocation / self.records if self.stratified else self.drawn
        return np.asarray(drawn @ self.within)

    def variance(self, channel: Channel, estimator: str) -> Floats:
        """Return a weighted `estimator`'s true variances by `channel`; of the linearized ratio."""
        law = channel.reported(self.within)
        second = channel.second_moments(law)
        if self.stratified:
            return np.asarray((self.present**2 / self.allocation) @ (second - self.within**2))
        # One draw's value: weight times records times its score, less the truth for the ratio.
        truth = self.proportions
        values = (self.weights * self.records) ** 2 * self.drawn
        if estimator == "hajek":
            return np.asarray(values @ (second - 2 * truth * self.within + truth**2) / self.records)
        return np.asarray((values @ second - truth**2) / self.records)


def intervals(
    channel: Channel, design: Design, reports: Counts, target: Target, estimator: str
) -> Intervals:
    """Return the intervals of an `estimator` from `reports`, shape (runs, classes, categories).

    They are of a `design`, through a `channel`, and for the `target`: population or file.
    """
    if estimator == "unweighted":
        return confidence_intervals(channel, reports.sum(axis=1), target=target)
    total = 1.0 if estimator == "horvitz_thompson" else None
    counts = design.weighted_counts(reports)
    return weighted_intervals(channel, counts, target=target, total=total)
