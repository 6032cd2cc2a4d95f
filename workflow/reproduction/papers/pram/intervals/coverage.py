"""Coverage of the intervals of [pram], (1.2) and (1.3), through six channels.

A replicate draws the responses of a file of n records with the proportions of Adult. For the
population this is one multinomial with lambda of (1.1), for the file the true counts are fixed. The
replicate computes all kinds of intervals and compares them with the true proportions.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from deniable.arrays import Counts, Floats
from deniable.channels import Channel, Target
from deniable.estimation import Method, Simultaneous, confidence_intervals, repeat_cells
from deniable.records import Microdata
from deniable.sampling import multinomial

from reproduction.papers.pram.intervals.channels import TARGETS, setting
from reproduction.papers.pram.names import EVERY
from reproduction.study import Cell, Simulated, Simulator

METHODS: tuple[Method, ...] = ("score", "wald")
AT_ONCE: tuple[Simultaneous, ...] = ("bonferroni", "scheffe")


@dataclass(frozen=True, eq=False)
class PramCoverage(Simulator):
    """Simulator of estimates and their intervals on `data` with the attributes of Adult.

    The measures are:

    - ``coverage`` of single intervals, for each category and for the mean of all, and of
      simultaneous intervals (1 if all contain the true values);
    - ``width``: mean width of single intervals;
    - ``bias``: error of the estimate for a category, in true standard errors;
    - ``spread``: squared error over the true variance, mean over categories;
    - ``variance_ratio``: estimated over true variance, mean over categories, with n - 1 and
      (for the population) n in the denominator.
    """

    data: Microdata

    def simulate(self, cell: Cell, generator: np.random.Generator, replicates: int) -> Simulated:
        channel, labels, proportions = setting(self.data, cell["channel"])
        records = int(cell["records"])
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
                one = {"target": target, "method": method, "intervals": "none"}
                single = intervals(method=method)
                covered = single.cover(truth)
                for label, column in zip(labels, covered.T, strict=True):
                    yield one | {"measure": "coverage", "category": label}, column
                of_all = one | {"measure": "coverage", "category": EVERY}
                yield of_all, covered.mean(axis=1)
                for each in AT_ONCE:
                    together = intervals(method=method, simultaneous=each).cover(truth)
                    yield of_all | {"intervals": each}, together.all(axis=1)
                yield of_all | {"measure": "width"}, (single.high - single.low).mean(axis=1)
            errors, means = _accuracy(channel, reports, truth, target)
            one = {"target": target, "method": "", "intervals": ""}
            for label, column in zip(labels, errors.T, strict=True):
                yield one | {"measure": "bias", "category": label}, column
            for measure, values in means.items():
                yield one | {"measure": measure, "category": EVERY}, values.mean(axis=1)


def _accuracy(
    channel: Channel, reports: Counts, truth: Floats, target: Target
) -> tuple[Floats, dict[str, Floats]]:
    """Return the standardized errors, and measures with a mean over the categories."""
    records = int(reports[0].sum())
    variance = np.diagonal(channel.covariance(truth, records, target))
    estimate = channel.estimate(reports)
    errors = (estimate - truth) / np.sqrt(variance)
    # Moments, because squared standard errors are biased: they are NaN for a variance below 0.
    moments = channel.moments(reports / records, 2)
    if target == "file":
        ratios = {"variance_ratio": (moments - estimate) / records / variance}
    else:
        plug_in = (moments - estimate**2) / variance
        ratios = {"variance_ratio": plug_in / (records - 1), "variance_ratio_n": plug_in / records}
    return errors, {"spread": errors**2} | ratios
