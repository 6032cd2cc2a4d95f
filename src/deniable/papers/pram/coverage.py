"""Coverage of the intervals of [pram], (1.2) and (1.3), through five channels.

A run draws the reports of a file of n records with the proportions of Adult: for the population as
one multinomial with [pram]'s lambda, which is what sampling and randomizing come to (1.1), and
for the file from fixed true counts. From them it estimates, with all kinds of intervals, and asks
which of these hold the truth.

The channels, on attributes of Adult or groups of their categories:

- ``warner``: income, the truth told with probability .7 (Warner, 1965);
- ``generalized``: education, 16 categories, kept with probability .6, else any of them alike;
- ``ordinal``: education in 7 levels, a dense matrix that is not symmetric: a neighbour is reported
  more often than what is further off, and a lower level more often than a higher one;
- ``product``: relationship and income, each on its own, all 12 cells at once;
- ``near_singular``: the 7 levels through a matrix of rows that are 98 % the same, with a condition
  number of 296; to be asked with more records;
- ``neighbours``: beyond the five, education with forbidden transitions, each category being
  reported as itself or as a neighbour. Rare categories then have few reports, and with a thousand
  records the plug-in of (1.3) is too small for Wald's intervals more often than they allow.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from deniable.arrays import Counts, Floats
from deniable.channels import Channel, DenseChannel, KeepOrReplace, ProductChannel, Target
from deniable.errors import DeniableError
from deniable.estimation import Intervals, Method, Simultaneous, confidence_intervals
from deniable.records import Attribute, Microdata
from deniable.sampling import multinomial

TARGETS: tuple[Target, ...] = ("population", "file")
METHODS: tuple[Method, ...] = ("score", "wald")
AT_ONCE: tuple[Simultaneous, ...] = ("bonferroni", "scheffe")
LEVELS = (
    ("up to 6th", ("Preschool", "1st-4th", "5th-6th")),
    ("7th to 9th", ("7th-8th", "9th")),
    ("10th to 12th", ("10th", "11th", "12th")),
    ("high school", ("HS-grad",)),
    ("some college", ("Some-college", "Assoc-voc", "Assoc-acdm")),
    ("bachelor", ("Bachelors",)),
    ("beyond", ("Masters", "Prof-school", "Doctorate")),
)
EVERY = "every category"


def _ordinal() -> Floats:
    """Weights 1, .35, .35^2, ... by distance, half as much again for what lies below."""
    codes = np.arange(len(LEVELS))
    distance = codes[None, :] - codes[:, None]
    weights = 0.35 ** np.abs(distance) * np.where(distance < 0, 1.5, 1.0)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _near_singular() -> Floats:
    ordinal = _ordinal()
    return np.asarray(0.02 * ordinal + 0.98 * ordinal.mean(axis=0))


def _neighbours(size: int = 16) -> Floats:
    """.8 for the category itself; the rest for its neighbours, alike."""
    weights = np.eye(size, k=1) + np.eye(size, k=-1)
    return np.asarray(0.8 * np.eye(size) + 0.2 * weights / weights.sum(axis=1, keepdims=True))


CHANNELS: Mapping[str, tuple[tuple[str, ...], Callable[[], Channel]]] = {
    "warner": (("income",), lambda: KeepOrReplace.from_entries(2, 0.7, 0.3)),
    "generalized": (("education",), lambda: KeepOrReplace.uniform(16, 0.6)),
    "ordinal": (("education",), lambda: DenseChannel(_ordinal())),
    "product": (
        ("relationship", "income"),
        lambda: ProductChannel((KeepOrReplace.uniform(6, 0.7), KeepOrReplace.uniform(2, 0.7))),
    ),
    "near_singular": (("education",), lambda: DenseChannel(_near_singular())),
    "neighbours": (("education",), lambda: DenseChannel(_neighbours())),
}
"""For each channel its attributes in Adult, and how it is built."""


def in_levels(counts: Counts, education: Attribute) -> Counts:
    """Return counts by education, on the last axis, by its levels instead."""
    groups = [[education.code_of(each) for each in group] for _, group in LEVELS]
    return np.stack([counts[..., group].sum(axis=-1) for group in groups], axis=-1)


@dataclass(frozen=True, eq=False)
class PramCoverage:
    """Simulates estimates and their intervals.

    Parameters
    ----------
    data : Microdata
        Adult, or records with its attributes income, education and relationship.
    confidence : float, in (0, 1)
    """

    data: Microdata
    confidence: float = 0.95
    _known: dict[str, tuple[Channel, list[str], Floats]] = field(default_factory=dict, repr=False)

    def setting(self, name: str) -> tuple[Channel, list[str], Floats]:
        """Return a channel, the names of its categories, and their true proportions."""
        if name not in CHANNELS:
            raise DeniableError(f"unknown channel {name!r}; use {', '.join(CHANNELS)}")
        if name not in self._known:
            attributes, build = CHANNELS[name]
            counts = self.data.counts(attributes)
            domain = self.data.domain.project(attributes)
            labels = [
                " x ".join(a.categories[code] for a, code in zip(domain, codes, strict=True))
                for codes in np.ndindex(*domain.shape)
            ]
            channel, flat = build(), counts.reshape(-1)
            if channel.size == len(LEVELS):
                flat = in_levels(flat, domain[attributes[0]])
                labels = [label for label, _ in LEVELS]
            self._known[name] = channel, labels, flat / flat.sum()
        return self._known[name]

    def outputs(self, cell: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return what names each output of a run: target, method, intervals, category, measure.

        - ``coverage`` of single intervals, for each category and for the mean of all, and of
          simultaneous intervals (1 if all hold);
        - ``width``: mean width of the single intervals;
        - ``bias``: error of the estimate of a category in true standard errors;
        - ``spread``: squared error over the true variance, mean over categories;
        - ``variance_ratio``: estimated over true variance, mean over categories, with n - 1 and
          with n in the denominator (for the population).
        """
        _, labels, _ = self.setting(cell["channel"])
        found = []
        for target in TARGETS:
            for method in METHODS:
                one = {"target": target, "method": method}
                single = one | {"intervals": "none", "measure": "coverage"}
                found += [single | {"category": label} for label in [*labels, EVERY]]
                found += [
                    one | {"intervals": each, "category": EVERY, "measure": "coverage"}
                    for each in AT_ONCE
                ]
                found.append(one | {"intervals": "none", "category": EVERY, "measure": "width"})
            none = {"target": target, "method": "", "intervals": ""}
            found += [none | {"category": label, "measure": "bias"} for label in labels]
            names = ["spread", "variance_ratio"]
            names += ["variance_ratio_n"] if target == "population" else []
            found += [none | {"category": EVERY, "measure": name} for name in names]
        return found

    def __call__(
        self, cell: Mapping[str, Any], generator: np.random.Generator, replicates: int
    ) -> Floats:
        """Return the outputs of each run, shape (replicates, outputs).

        Parameters
        ----------
        cell : mapping
            channel (of `CHANNELS`), records.
        """
        channel, _, proportions = self.setting(cell["channel"])
        records = int(cell["records"])
        columns: list[Floats] = []
        for target in TARGETS:
            if target == "population":
                truth = proportions
                law = channel.reported(truth)
                reports = multinomial(generator, np.full(replicates, records), law)
            else:
                counts = rounded_counts(proportions, records)
                truth = counts / records
                files = np.broadcast_to(counts, (replicates, channel.size))
                reports = channel.randomize_counts(files, generator)
            for method in METHODS:
                columns += self._coverages(channel, reports, truth, target, method)
            columns += _accuracy(channel, reports, truth, target)
        return np.column_stack(columns)

    def _coverages(
        self, channel: Channel, reports: Counts, truth: Floats, target: Target, method: Method
    ) -> list[Floats]:
        def intervals(simultaneous: Simultaneous) -> Intervals:
            return confidence_intervals(
                channel, reports, confidence=self.confidence, method=method,
                simultaneous=simultaneous, target=target,
            )  # fmt: skip

        single = intervals("none")
        covered = single.cover(truth).astype(float)
        at_once = [intervals(each).cover(truth).all(axis=1).astype(float) for each in AT_ONCE]
        width = (single.high - single.low).mean(axis=1)
        return [*covered.T, covered.mean(axis=1), *at_once, width]


def rounded_counts(proportions: Floats, records: int) -> Counts:
    """Return whole counts in the proportions, largest remainders rounded up."""
    exact = proportions * records
    counts = np.floor(exact).astype(np.int64)
    missing = records - int(counts.sum())
    counts[np.argsort(counts - exact, kind="stable")[:missing]] += 1
    return counts


def _accuracy(channel: Channel, reports: Counts, truth: Floats, target: Target) -> list[Floats]:
    """Return the standardized errors, their mean square, and the ratios of variances."""
    records = int(reports[0].sum())
    variance = np.diagonal(channel.covariance(truth, records, target))
    errors = (channel.estimate(reports) - truth) / np.sqrt(variance)
    # Squared standard errors are no estimate without bias where a variance below 0 is NaN.
    moments = channel.second_moments(reports / records)
    estimate = channel.estimate(reports)
    if target == "file":
        ratios = [(moments - estimate) / records / variance]
    else:
        plug_in = (moments - estimate**2) / variance
        ratios = [plug_in / (records - 1), plug_in / records]
    return [*errors.T, (errors**2).mean(axis=1), *(ratio.mean(axis=1) for ratio in ratios)]
