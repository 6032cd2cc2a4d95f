"""Coverage of the intervals of [pram], (1.2) and (1.3), through six channels.

A replicate draws the responses of a file of n records with the proportions of Adult. For the
population this is one multinomial with lambda of (1.1), for the file the true counts are fixed. The
replicate computes all kinds of intervals and compares them with the true proportions.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from deniable.arrays import Counts, Floats
from deniable.channels import Channel, Target
from deniable.estimation import Method, Simultaneous, confidence_intervals
from deniable.randomized_response import repeat_cells
from deniable.records import Microdata
from deniable.sampling import multinomial

from reproduction.papers.pram.intervals.channels import TARGETS, setting
from reproduction.papers.pram.names import EVERY
from reproduction.study import Cell, Simulator

METHODS: tuple[Method, ...] = ("score", "wald")
AT_ONCE: tuple[Simultaneous, ...] = ("bonferroni", "scheffe")


@dataclass(frozen=True, eq=False)
class PramCoverage(Simulator):
    """Simulator of estimates and their intervals on `data` with the attributes of Adult."""

    data: Microdata

    def outputs(self, cell: Cell) -> list[dict[str, Any]]:
        """Return the names of each output of a `cell`.

        - ``coverage`` of single intervals, for each category and for the mean of all, and of
          simultaneous intervals (1 if all contain the true values);
        - ``width``: mean width of single intervals;
        - ``bias``: error of the estimate for a category, in true standard errors;
        - ``spread``: squared error over the true variance, mean over categories;
        - ``variance_ratio``: estimated over true variance, mean over categories, with n - 1 and
          (for the population) n in the denominator.
        """
        _, labels, _ = setting(self.data, cell["channel"])
        found: list[tuple[str, ...]] = []
        for target in TARGETS:
            for method in METHODS:
                one: tuple[str, ...] = (target, method)
                found += [(*one, "none", "coverage", label) for label in [*labels, EVERY]]
                found += [(*one, each, "coverage", EVERY) for each in AT_ONCE]
                found.append((*one, "none", "width", EVERY))
            found += [(target, "", "", "bias", label) for label in labels]
            measures = ["spread", "variance_ratio"]
            measures += ["variance_ratio_n"] if target == "population" else []
            found += [(target, "", "", measure, EVERY) for measure in measures]
        names = ("target", "method", "intervals", "measure", "category")
        return [dict(zip(names, each, strict=True)) for each in found]

    def __call__(self, cell: Cell, generator: np.random.Generator, replicates: int) -> Floats:
        channel, _, proportions = setting(self.data, cell["channel"])
        records = int(cell["records"])
        columns: list[Any] = []  # one for each output
        for target in TARGETS:
            if target == "population":
                truth, runs = proportions, np.full(replicates, records)
                reports = multinomial(generator, runs, channel.reported(truth))
            else:
                counts = repeat_cells(proportions, records)
                truth = counts / records
                files = np.broadcast_to(counts, (replicates, channel.size))
                reports = channel.randomize_counts(files, generator)
            intervals = partial(confidence_intervals, reports, channel, target=target)
            for method in METHODS:
                single = intervals(method=method)
                covered = single.cover(truth)
                columns += [*covered.T, covered.mean(axis=1)]
                together = (intervals(method=method, simultaneous=each) for each in AT_ONCE)
                columns += [each.cover(truth).all(axis=1) for each in together]
                columns.append((single.high - single.low).mean(axis=1))
            columns += _accuracy(channel, reports, truth, target)
        return np.column_stack(columns)


def _accuracy(channel: Channel, reports: Counts, truth: Floats, target: Target) -> list[Floats]:
    """Return the standardized errors, their mean square, and the ratios of variances."""
    records = int(reports[0].sum())
    variance = np.diagonal(channel.covariance(truth, records, target))
    estimate = channel.estimate(reports)
    errors = (estimate - truth) / np.sqrt(variance)
    # Moments, because squared standard errors are biased: they are NaN for a variance below 0.
    moments = channel.moments(reports / records, 2)
    if target == "file":
        ratios = [(moments - estimate) / records / variance]
    else:
        plug_in = (moments - estimate**2) / variance
        ratios = [plug_in / (records - 1), plug_in / records]
    return [*errors.T, (errors**2).mean(axis=1), *(ratio.mean(axis=1) for ratio in ratios)]
