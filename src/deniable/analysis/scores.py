"""Estimates from scores of single records, for tables with too many randomized values to count.

The *score* of a randomized value of one side is its row of an inverse of the channel. It is
unbiased for the indicators of the original cells. Sides are randomized independently, so the
product of their scores is unbiased for the indicator of a cell of the table.
"""

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from deniable.analysis.answers import EstimateOptions, columns_of, refuse_one_record
from deniable.arrays import Codes, Floats
from deniable.channels import Inverse, roots_of_variances
from deniable.estimation import euclidean_projection, student
from deniable.records import Domain
from deniable.responses import Responses, Side, Table, cells_of, factors


class Scores:
    """Scores of the randomized values of some `sides`, for `sets` of their cells.

    For each side, `sets` is an array of shape (sets, cells), 1 in the cells of a set, else 0. The
    list `matrices` has for each side the score of each randomized value for each set, shape (sets,
    reports), by the `inverse` "least" or "own". Records of the `source` count by the released
    column `weight`, if given.
    """

    def __init__(
        self,
        source: Responses,
        sides: Sequence[Side],
        sets: Sequence[Floats],
        weight: str | None = None,
        inverse: Inverse = "least",
    ) -> None:
        self._source, self._sides, self._weight = source, sides, weight
        self.counted = source.count([side.reports for side in sides], weight)
        self.matrices = [
            side.channel.fitted_to(each.counts, inverse).solve(own)
            for side, each, own in zip(sides, self.counted, sets, strict=True)
        ]

    def batches(self) -> Iterator[tuple[list[Codes], Floats | None]]:
        """Yield the codes of each side in a batch of records, and their weights."""
        names = [name for side in self._sides for name in side.reports.names]
        for batch in self._source.batches(names, self._weight):
            yield [batch.joint(side.reports) for side in self._sides], batch.weights

    def estimates(self, options: EstimateOptions) -> tuple[list[Floats], int]:
        """Return estimates, standard errors and limits by `options`, and the number of records.

        Arrays have one value per combination of sets, one set of each side; the last side changes
        first. Intervals are by Student's t, or for the file by the normal distribution, from the
        linearization of the weighted mean (`deniable.estimation.survey_weights`). Errors are as in
        `deniable.analysis.answers.refuse_one_record`.
        """
        refuse_one_record(self.counted[0], options)
        shape = (prod(len(each) for each in self.matrices[:-1]), len(self.matrices[-1]))
        total = squares = 0.0
        first, once, twice = (np.zeros(shape) for _ in range(3))  # w g, w^2 g, w^2 g^2
        for codes, weights in self.batches():
            for part, left, right in factors(self.matrices, codes):
                own = np.ones(left.shape[1]) if weights is None else weights[part]
                total, squares = total + own.sum(), squares + (own**2).sum()
                first += (left * own) @ right.T
                once += (left * own**2) @ right.T
                twice += (left * own) ** 2 @ (right**2).T
        records, share = self.counted[0].records, first / total
        if options.target == "population":
            variance = (twice - 2 * share * once + share**2 * squares) * records / (records - 1)
            freedom = records - 1.0
        else:
            variance, freedom = twice - once, np.inf
        error = roots_of_variances(variance, 1e-12 * twice) / total
        reach = student(np.array(freedom), options.confidence) * error
        return [each.ravel() for each in (share, error, share - reach, share + reach)], records


def scored(
    table: Table, source: Responses, weight: str | None, options: EstimateOptions
) -> dict[str, Any]:
    """Return the columns of the estimates of a `table` by `options`; see `columns_of`.

    Records of the `source` count by the released column `weight`, if given. The consistent
    distribution is the one nearest to the estimate.
    """
    pairs = zip(table.parts, table.sides, strict=True)
    sets = [np.eye(part.size)[:, cells_of(side.cells, part)] for part, side in pairs]
    limits, records = Scores(source, table.sides, sets, weight, options.inverse).estimates(options)
    cells = Domain(tuple(attribute for part in table.parts for attribute in part))
    order = np.argsort(cells_of(cells, table.domain))
    parts = [each[order] for each in (*limits, euclidean_projection(limits[0]))]
    return columns_of(parts, records, options) | {"consistent_by": "projection"}
