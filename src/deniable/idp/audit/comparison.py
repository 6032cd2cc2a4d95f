"""Compare the estimates and records of a test release with the original records.

**The intruder** knows the released file and all original values of one record, the target. For some
other records the intruder knows both the original and the released values. With them the intruder
chooses among `_FIXED` and the learned likelihood. The number of links is a lower bound on the risk:
other scores or more knowledge may find more.

The nearest record, by squared distances, is a weak choice. The noise of one centroid may be
thousands of times larger than the noise of the next. A single extreme value then dominates all
exact ones. Scores that grow slowly with the distance avoid this.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import Generator
from numpy.typing import ArrayLike

from deniable.arrays import Floats, Positions
from deniable.errors import from_extras
from deniable.idp import (
    NumericMechanism,
    class_codes,
    estimate_numbers,
    histograms,
    mean_sse,
    microaggregate,
    protect_numbers,
    statistics,
)
from deniable.idp.audit.attack import certificate
from deniable.records import NumericMicrodata
from deniable.sampling import SeededNoise, generator_for

LINKED_TARGETS = 1000
REDRAWS = 100
ROUNDING = 1e-8  # for numbers written with 9 digits
UTILITY_COLUMNS = ["measure", "class", "value", "reference", "reference_is"]
UNPROTECTED = "the original records"


def compare_estimates(
    mechanism: NumericMechanism,
    original: NumericMicrodata,
    estimates: pd.DataFrame,
    generator: np.random.Generator,
    redraws: int = REDRAWS,
) -> pd.DataFrame:
    """Compare the `estimates` of a test release with the statistics of the `original` records.

    The `generator` draws the release again, `redraws` times, to measure coverage. The result has
    the estimates, by `deniable.idp.estimate_numbers` of the `mechanism`, with ``true``,
    ``covered``, ``coverage`` and ``redraws``. Without an interval, ``covered`` and
    ``coverage`` are empty.
    """
    domains, inner = mechanism.domains, mechanism.domains.inner(original.values)
    found = [x for column in domains.outer(inner).T for x in statistics(column).values()]
    if mechanism.by_histograms:
        codes, classes = class_codes(original), max(len(original.classes), 1)
        counts = histograms(inner, codes, classes, domains.widths, mechanism.bins)
        sizes = np.bincount(codes, minlength=classes)
        found += (counts[:, sizes > 0] / sizes[sizes > 0, None]).reshape(-1).tolist()
    true = np.array(found)
    low, high = (estimates[f"ci_{end}_file"].to_numpy(dtype=float) for end in ("low", "high"))
    slack = ROUNDING * np.maximum(1.0, np.abs(true))
    known = np.isfinite(low)
    covered = (low - slack <= true) & (true <= high + slack)
    table = estimates.assign(true=true, covered=pd.array(covered, dtype="boolean"))
    table["covered"] = table["covered"].mask(~known)
    if not known.any():
        return table.assign(coverage=np.nan, redraws=0)
    noise, hits = SeededNoise(generator), np.zeros(len(true))
    for _ in range(redraws):
        values, noisy = protect_numbers(mechanism, original, noise, generator)
        again = estimate_numbers(mechanism, replace(original, values=values), noisy)
        hits += again["ci_low_file"].to_numpy() - slack <= true
        hits -= again["ci_high_file"].to_numpy() + slack < true
    return table.assign(coverage=np.where(known, hits / redraws, np.nan), redraws=redraws)


def measure_utility(
    mechanism: NumericMechanism, original: NumericMicrodata, protected: NumericMicrodata, seed: int
) -> pd.DataFrame:
    """Return measures of the utility and of the disclosure risk of a test release.

    The `original` and the `protected` records are in the same order. The `seed` is for the intruder
    and the random forests.

    Columns are ``measure``, ``class``, ``value``, ``reference``, ``reference_is``. The measures are

    - mean SSE under the `mechanism`; the reference is microaggregation alone;
    - proportion of records that the intruder of `deniable.idp.audit.comparison` links correctly, a
      lower bound on the risk; the reference is guessing;
    - lower bound on epsilon from the released numbers; the reference is the claimed epsilon;
    - F-measures of a random forest, trained on the first 66 % of the protected records and tested
      on the other original ones; the reference is a forest trained on original records.
    """
    rows: list[tuple[Any, ...]] = []
    varied, k = np.ptp(original.values, axis=0) > 0, mechanism.k
    if varied.any():
        numbers, released = original.values[:, varied], protected.values[:, varied]
        alone = float(mean_sse(numbers, microaggregate(numbers, k))) if k else np.nan
        basis = f"microaggregation alone, k = {k}" if k else ""
        generator = generator_for(seed, {"check": "linkage"})
        targets = generator.permutation(len(original))[:LINKED_TARGETS]
        linked = link_records(numbers, released, targets, generator).share
        proven = float(certificate(numbers, released[None]).max())
        rows = [
            ("mean SSE", "", float(mean_sse(numbers, released)), alone, basis),
            ("proportion of records linked", "", linked, 1 / len(original), "guessing"),
            ("epsilon proved by the numbers", "", proven, mechanism.epsilon, "claimed"),
        ]
    if len(original.classes) > 1:
        rows += _forests(original, protected, seed)
    return pd.DataFrame(rows, columns=UTILITY_COLUMNS)


def _forests(
    original: NumericMicrodata, protected: NumericMicrodata, seed: int
) -> Iterator[tuple[Any, ...]]:
    # Imported here because the library is large and files without classes do not need it.
    with from_extras():
        from sklearn.dummy import DummyClassifier  # type: ignore[import-untyped]  # noqa: PLC0415
        from sklearn.ensemble import (  # type: ignore[import-untyped]  # noqa: PLC0415
            RandomForestClassifier,
        )
        from sklearn.metrics import f1_score  # type: ignore[import-untyped]  # noqa: PLC0415

    training, test = original.training_split()
    if min(np.unique(part.labels).size for part in (training, test)) < 2:
        return
    measures, codes = [], range(len(original.classes))
    forest = RandomForestClassifier(random_state=seed, n_jobs=1)
    of_majority = DummyClassifier(strategy="most_frequent")
    masked, numbers = protected.values[: len(training)], training.values
    for classifier, values in ((forest, masked), (forest, numbers), (of_majority, numbers)):
        predicted = classifier.fit(values, training.labels).predict(test.values)
        found = f1_score(test.labels, predicted, labels=codes, average=None, zero_division=0)
        measures.append(found.tolist())
    for name, own, reference, always in zip(original.classes, *measures, strict=True):
        yield "F-measure", name, own, reference, UNPROTECTED
        yield "F-measure of the majority class", name, always, reference, UNPROTECTED


SQUARED, LIKELIHOOD = "squared", "likelihood"
WIDTHS = {"log .2": 0.2, "log .02": 0.02, "log .002": 0.002, "log .0002": 0.0002}
"""Widths of logarithmic scores, in standard deviations."""
TRIED = 100
"""Number of other records on which each score is tried; the likelihood is learned from the rest."""
PAIRS = 20  # pairs of different people per record from which the likelihood is learned
CELLS = 1 << 20  # cells of a table of scores: 8 MB

Score = Callable[[int, Floats], Floats]
"""A function of an attribute and distances, of any shape; smaller scores mean closer records."""


@dataclass(frozen=True)
class Linkage:
    """The proportions of correct links of the intruder.

    `share` is the proportion of correctly linked targets, with ties broken at random. `nearest` is
    the same by squared distances alone. `scores` has the chosen score in each half.
    """

    share: float
    nearest: float
    scores: tuple[str, ...]


def link_records(
    true: ArrayLike, released: ArrayLike, targets: ArrayLike, generator: Generator
) -> Linkage:
    """Link targets to released records; the score for each half is chosen on the other half.

    `true` and `released` records, shape (records, attributes), are in the same order. Attributes
    without variance are left out. `targets` are record numbers, in random order. The `generator`
    draws the pairs of different people.
    """
    file = _File(true, released)
    own = np.asarray(targets, dtype=np.intp)
    halves = own[: own.size // 2], own[own.size // 2 :]
    linked, scores = 0.0, []
    for sought, others in (halves, halves[::-1]):
        tried = others[: min(TRIED, others.size // 2)]
        known = dict(_FIXED)
        if learned := _likelihood(file, others[tried.size :], generator):
            known[LIKELIHOOD] = learned
        scores.append(max(known, key=lambda name: file.linked(known[name], tried)))
        linked += file.linked(known[scores[-1]], sought)
    return Linkage(linked / own.size, file.linked(_FIXED[SQUARED], own) / own.size, tuple(scores))


def _log(width: float, _: int, apart: Floats) -> Floats:
    return np.asarray(np.log1p(apart / width))


_FIXED: Mapping[str, Score] = {
    SQUARED: lambda _, apart: apart * apart,
    "absolute": lambda _, apart: apart,
    **{name: partial(_log, width) for name, width in WIDTHS.items()},
}
# Scores of distances d = |true - released| in standard deviations, summed over attributes: d^2, as
# in [idp], (5); d; log(1 + d / width) for each of `WIDTHS`. The learned likelihood is a log ratio
# for the class of a distance, in ten classes: its frequency between records of different people
# over its frequency between original and released values of one person.


class _File:
    """Original and released values in standard deviations, shape (attributes, records)."""

    def __init__(self, true: ArrayLike, released: ArrayLike) -> None:
        numbers, shown = (np.asarray(each, dtype=float) for each in (true, released))
        varied = np.ptp(numbers, axis=0) > 0
        deviations = numbers[:, varied].std(axis=0, ddof=1)
        self.true, self.released = ((each[:, varied] / deviations).T for each in (numbers, shown))
        # The distinct released values of each attribute, and the position of each record's value.
        self.distinct = [np.unique(column, return_inverse=True) for column in self.released]

    def linked(self, score: Score, sought: Positions) -> float:
        """Return the number of correctly linked records; a tie of n counts as 1 / n."""
        found, at_once = 0.0, max(CELLS // self.true.shape[1], 1)
        for start in range(0, sought.size, at_once):
            own = sought[start : start + at_once]
            scores = np.zeros((own.size, self.true.shape[1]))
            for j, (values, places) in enumerate(self.distinct):
                # Records of a cluster have the same value, so each score is computed once.
                each = score(j, np.abs(self.true[j, own, None] - values))
                scores += each.take(places, axis=1)
            best = scores.min(axis=1, keepdims=True)
            alike = scores <= best + 1e-9 * (1.0 + np.abs(best))
            found += float((alike[np.arange(own.size), own] / alike.sum(axis=1)).sum())
        return found


def _likelihood(file: _File, learned_from: Positions, generator: Generator) -> Score | None:
    """Learn the likelihood of distances; return None if there are too few records."""
    if learned_from.size < PAIRS:
        return None
    people = np.repeat(learned_from, PAIRS)
    strangers = generator.integers(file.true.shape[1], size=people.size)
    edges, ratios = [], []
    for true, released in zip(file.true, file.released, strict=True):
        own = np.abs(true - released)[learned_from]
        cuts = np.unique(np.quantile(own, np.linspace(0.1, 0.9, 9)))
        # Distances that do not occur have the weight of half a record.
        mine, theirs = (
            np.bincount(np.searchsorted(cuts, apart), minlength=cuts.size + 1) + 0.5
            for apart in (own, np.abs(true[people] - released[strangers]))
        )
        edges.append(cuts)
        ratios.append(np.log(theirs / theirs.sum()) - np.log(mine / mine.sum()))

    def score(attribute: int, apart: Floats) -> Floats:
        classes = np.searchsorted(edges[attribute], apart)
        return np.asarray(ratios[attribute][classes] + 1e-6 * apart)  # nearer within a class

    return score
