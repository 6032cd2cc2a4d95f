"""Link released records to persons with known original values.

**The intruder** knows the released file and all original values of one record, the target. For some
other records the intruder knows both the original and the released values. With them the intruder
chooses among `_FIXED` and the learned likelihood. The number of links is a lower bound on the risk:
other scores or more knowledge may find more.

The nearest record, by squared distances, is a weak choice. The noise of one centroid may be
thousands of times larger than the noise of the next. A single extreme value then dominates all
exact ones. Scores that grow slowly with the distance avoid this.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from deniable.arrays import Floats, Positions

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
