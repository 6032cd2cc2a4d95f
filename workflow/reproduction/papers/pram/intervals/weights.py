"""Weighted estimates from randomized records of a survey with unequal weights ([pram], (2.7)).

The population is Adult. Records are drawn from it with replacement, and each is randomized:

- ``pps``: the probability of a person is proportional to a size that depends on the relationship
  (`SIZES`);
- ``stratified``: the six relationships are strata, each with the same number of draws.

Both oversample married people, who earn more and have more education, so estimates without weights
are biased. Weights that depend on the relationship reveal it, with any channel.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np

from deniable.arrays import Counts, Floats
from deniable.channels import Channel, Target
from deniable.estimation import Intervals, WeightedCounts, confidence_intervals, weighted_intervals
from deniable.records import Microdata
from deniable.sampling import multinomial

from reproduction.papers.pram.intervals.channels import TARGETS, setting
from reproduction.papers.pram.names import EVERY
from reproduction.study import Cell, Simulated, Simulator

CLASSES = "relationship"
SIZES = {"Husband": 4, "Wife": 4, "Unmarried": 2, "Not-in-family": 2}
"""Sizes of persons under ``pps`` by relationship, 1 for all others."""
ESTIMATORS = ("hajek", "horvitz_thompson", "unweighted")
OF_ALL = {"category": EVERY}


@dataclass(frozen=True, eq=False)
class PramWeights(Simulator):
    """Simulator of weighted estimates and intervals on `data` with the attributes of Adult.

    The measures are:

    - ``coverage``: proportion of the categories with an interval that contains the true value;
    - ``variance_ratio``: estimated over true variance (of the linearized ratio for ``hajek``), mean
      over categories, for the population;
    - ``bias``: error of the estimate of a category, a proportion of the population;
    - ``expected_bias``: the exact expectation of the error, except for ``hajek``, a ratio.
    """

    data: Microdata

    def simulate(self, cell: Cell, generator: np.random.Generator, replicates: int) -> Simulated:
        _, labels, _ = setting(self.data, cell["channel"])
        design = self.setting(cell)
        true = design.draw(generator, replicates)
        reports = design.channel.randomize_counts(true, generator)
        for target, estimator in product(TARGETS, ESTIMATORS):
            found, truth = design.intervals(reports, target, estimator), design.proportions
            if target == "file":
                truth = design.shares_of_file(true, estimator)
            one = {"target": target, "estimator": estimator}
            yield one | OF_ALL | {"measure": "coverage"}, found.cover(truth).mean(axis=1)
            if target == "file":
                continue
            if estimator != "unweighted":
                ratios = found.standard_error**2 / design.variance(estimator)
                yield one | OF_ALL | {"measure": "variance_ratio"}, ratios.mean(axis=1)
            errors = {"bias": (found.estimate - truth).T}
            if estimator != "hajek":
                errors["expected_bias"] = design.expected(estimator) - truth
            for measure, columns in errors.items():
                for label, values in zip(labels, columns, strict=True):
                    yield one | {"category": label, "measure": measure}, values

    def setting(self, cell: Cell) -> "SurveyDesign":
        """Return the design of a `cell`."""
        channel, _, shares = setting(self.data, cell["channel"], (CLASSES,))
        present, names = shares.sum(axis=1), self.data.domain[CLASSES].categories
        drawn = np.array([SIZES.get(name, 1) for name in names]) * present
        if stratified := cell["design"] == "stratified":
            each, rest = divmod(cell["records"], len(names))
            drawn = each + (np.arange(len(names)) < rest)
        within, drawn = shares / present[:, None], drawn / drawn.sum()
        return SurveyDesign(channel, present, within, drawn, cell["records"], stratified)


@dataclass(frozen=True, eq=False)
class SurveyDesign:
    """A sample with replacement from classes of persons, with equal probabilities in a class.

    The `channel` randomizes the categories of the records, but not the classes. `present` are the
    proportions of the classes in the population. `within`, shape (classes, categories), are the
    proportions of the categories in each class. `drawn` are the proportions of the classes in the
    `records` draws: expected, or fixed if `stratified`, and then nearly equal.
    """

    channel: Channel
    present: Floats
    within: Floats
    drawn: Floats
    records: int
    stratified: bool

    @property
    def proportions(self) -> Floats:
        """The true proportions of the categories in the population."""
        return self.present @ self.within

    @property
    def weights(self) -> Floats:
        """The weight of a record in each class, as a proportion of the population."""
        return np.asarray(self.present / (self.records * self.drawn))

    def draw(self, generator: np.random.Generator, replicates: int) -> Counts:
        """Draw true counts with a `generator`, shape (`replicates`, classes, categories)."""
        if not self.stratified:
            cells = (self.drawn[:, None] * self.within).reshape(-1)
            counts = multinomial(generator, np.full(replicates, self.records), cells)
            return counts.reshape(replicates, *self.within.shape)
        strata = zip(np.rint(self.records * self.drawn).astype(int), self.within, strict=True)
        drawn = [multinomial(generator, np.full(replicates, n), row) for n, row in strata]
        return np.stack(drawn, axis=1)

    def shares_of_file(self, true: Counts, estimator: str) -> Floats:
        """Return the target of an `estimator` in the file with `true` counts, per replicate."""
        if estimator == "unweighted":
            return np.asarray(true.sum(axis=1) / self.records)
        sums = (true * self.weights[:, None]).sum(axis=1)
        total = 1.0 if estimator == "horvitz_thompson" else sums.sum(axis=1, keepdims=True)
        return np.asarray(sums / total)

    def expected(self, estimator: str) -> Floats:
        """Return the expectation of an `estimator` for the population; channels add no bias."""
        return self.proportions if estimator == "horvitz_thompson" else self.drawn @ self.within

    def variance(self, estimator: str) -> Floats:
        """Return true variances of a weighted `estimator`; ratios are linearized."""
        second = self.channel.moments(self.channel.reported(self.within), 2)
        if self.stratified:
            return np.asarray((self.weights * self.present) @ (second - self.within**2))
        # The value of a draw: weight times records times its score. For a ratio, the true value is
        # subtracted.
        truth = self.proportions
        values = (self.weights * self.records) ** 2 * self.drawn
        if estimator == "hajek":
            return np.asarray(values @ (second - 2 * truth * self.within + truth**2) / self.records)
        return np.asarray((values @ second - truth**2) / self.records)

    def intervals(self, reports: Counts, target: Target, estimator: str) -> Intervals:
        """Return the intervals of an `estimator` for the `target`, "population" or "file".

        `reports`, shape (replicates, classes, categories), are counts of randomized values.
        """
        if estimator == "unweighted":
            return confidence_intervals(reports.sum(axis=1), self.channel, target=target)
        total = 1.0 if estimator == "horvitz_thompson" else None
        weights = self.weights[:, None]
        sums, squares, records = reports * weights, reports * weights**2, reports.sum(axis=-1)
        if not self.stratified:
            sums, squares = (each.sum(axis=1, keepdims=True) for each in (sums, squares))
            records = records.sum(axis=1, keepdims=True)
        counts = WeightedCounts(sums, squares, records)
        return weighted_intervals(counts, self.channel, target=target, total=total)
