"""Estimates from scores of single records, for tables with too many randomized values to count.

The *score* of a randomized value of one side is its row of an inverse of the channel. It is
unbiased for the indicators of the original cells. Sides are randomized independently, so the
product of their scores is unbiased for the indicator of a cell of the table.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from deniable.analysis.answers import EstimateOptions, columns_of, refuse_one_record
from deniable.arrays import Codes, Floats
from deniable.channels import Inverse, roots_of_variances
from deniable.estimation import euclidean_projection, student
from deniable.records import Domain
from deniable.responses import Counted, Responses, Side, Table, cells_of

AT_ONCE = 1 << 22
"""Scores that are held at a time."""


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of the randomized values of some sides, for sets of their cells.

    Attributes
    ----------
    sides : tuple of Side
    counted : tuple of Counted
        The counts of the randomized values of each side.
    matrices : tuple of arrays, each of shape (sets, reports)
        For each side the score of each randomized value for each set. Products have one set of
        each side; the set of the last side changes first.
    """

    sides: tuple[Side, ...]
    counted: tuple[Counted, ...]
    matrices: tuple[Floats, ...]

    @classmethod
    def of(
        cls,
        sides: Sequence[Side],
        sets: Sequence[Floats],
        protected: Responses,
        weight: str | None = None,
        inverse: Inverse = "least",
    ) -> "Scores":
        """Return the scores of some `sides` by an `inverse` of their channels.

        The `sets` of a side, shape (sets, cells), are 1 in the cells of the set, else 0.
        """
        counted = protected.count([side.reports for side in sides], weight)
        matrices = [
            side.channel.fitted_to(each.counts, inverse).solve(own)
            for side, each, own in zip(sides, counted, sets, strict=True)
        ]
        return cls(tuple(sides), tuple(counted), tuple(matrices))

    def batches(
        self, protected: Responses, weight: str | None = None
    ) -> Iterator[tuple[list[Codes], Floats | None]]:
        """Yield the codes of each side in a batch of `protected` records, and their weights."""
        names = [name for side in self.sides for name in side.reports.names]
        for batch in protected.batches(names, weight):
            yield [batch.joint(side.reports) for side in self.sides], batch.weights


def factors(
    matrices: Sequence[Floats], codes: Sequence[Codes]
) -> Iterator[tuple[slice, Floats, Floats]]:
    """Yield some records at a time, and two factors of their scores, of shape (sets, records).

    The first factor is the product of all sides but the last, the second is the last side.

    Parameters
    ----------
    matrices : sequence of arrays, shape (sets, reports)
        Scores of each side.
    codes : sequence of arrays, shape (records,)
        Randomized values of each side.
    """
    *others, last = matrices
    step = max(1, AT_ONCE // (prod(len(each) for each in others) + len(last)))
    for start in range(0, codes[0].size, step):
        part = slice(start, start + step)
        first = np.ones((1, codes[0][part].size))
        for matrix, own in zip(others, codes, strict=False):
            first = (first[:, None] * matrix[:, own[part]]).reshape(-1, first.shape[1])
        yield part, first, last[:, codes[-1][part]]


def by_scores(
    scores: Scores, protected: Responses, weight: str | None, options: EstimateOptions
) -> tuple[list[Floats], int]:
    """Return estimates, standard errors and limits of proportions, flat, and the records' number.

    Intervals are by Student's t, or for the file by the normal distribution, from the linearization
    of the weighted mean (`deniable.estimation.survey_weights`).

    Raises
    ------
    DeniableError
        As `deniable.analysis.answers.refuse_one_record`.
    """
    refuse_one_record(scores.counted[0], options)
    shape = (prod(len(each) for each in scores.matrices[:-1]), len(scores.matrices[-1]))
    total = squares = 0.0
    first, once, twice = (np.zeros(shape) for _ in range(3))  # w g, w^2 g, w^2 g^2
    for codes, weights in scores.batches(protected, weight):
        for part, left, right in factors(scores.matrices, codes):
            own = np.ones(left.shape[1]) if weights is None else weights[part]
            total, squares = total + own.sum(), squares + (own**2).sum()
            first += (left * own) @ right.T
            once += (left * own**2) @ right.T
            twice += (left * own) ** 2 @ (right**2).T
    records, share = scores.counted[0].records, first / total
    if options.target == "population":
        variance = (twice - 2 * share * once + share**2 * squares) * records / (records - 1)
        freedom = records - 1.0
    else:
        variance, freedom = twice - once, np.inf
    error = roots_of_variances(variance, 1e-12 * twice) / total
    reach = student(np.array(freedom), options.confidence) * error
    return [each.ravel() for each in (share, error, share - reach, share + reach)], records


def scored(
    table: Table, protected: Responses, weight: str | None, options: EstimateOptions
) -> dict[str, Any]:
    """Return the columns of the estimates of a `table`; see `columns_of`.

    The consistent distribution is the one nearest to the estimate.
    """
    scores = Scores.of(table.sides, table.parts_as_sets(), protected, weight, options.inverse)
    limits, records = by_scores(scores, protected, weight, options)
    cells = Domain(tuple(attribute for part in table.parts for attribute in part))
    order = np.argsort(cells_of(cells, table.domain))
    parts = [each[order] for each in (*limits, euclidean_projection(limits[0]))]
    return columns_of(parts, records, options) | {"consistent_by": "projection"}
