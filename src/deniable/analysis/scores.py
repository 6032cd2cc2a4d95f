"""Estimates from scores of single records, for tables with too many randomized values to count.

The *score* of a randomized value of one side is its row of an inverse of the channel. It is
unbiased for the indicators of the original cells. Sides are randomized independently, so the
product of their scores is unbiased for the indicator of a cell of the table.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from deniable.analysis.answers import EstimateOptions, columns_of, refuse_one_record
from deniable.arrays import Floats
from deniable.channels import roots_of_variances
from deniable.estimation import euclidean_projection, student
from deniable.records import Domain
from deniable.responses import Responses, Table, cells_of, sums_of_scores


def estimates_of_sets(
    table: Table,
    sets: Sequence[Floats],
    source: Responses,
    weight: str | None,
    options: EstimateOptions,
) -> tuple[list[Floats], int]:
    """Return estimates, standard errors and limits by `options`, and the number of records.

    For each side of the `table`, `sets` is an array of shape (sets, cells), 1 in the cells of a
    set, else 0. Arrays have one value per combination of sets, one set of each side; the last side
    changes first. Records of the `source` count by the released column `weight`, if given.
    Intervals are by Student's t, or for the file by the normal distribution, from the linearization
    of the weighted mean (`deniable.estimation.survey_weights`). Errors are as in
    `deniable.analysis.answers.refuse_one_record`.
    """
    counted = source.count([side.reports for side in table.sides], weight)
    scores = [
        side.channel.fitted_to(each.counts, options.inverse).solve(own)
        for side, each, own in zip(table.sides, counted, sets, strict=True)
    ]
    refuse_one_record(counted[0], options)
    squared_scores = [each**2 for each in scores]
    total, squares, first, once, twice = 0.0, 0.0, *(np.zeros(()) for _ in range(3))
    for batch in source.batches(table.reports.names, weight):
        codes = [batch.joint(side.reports) for side in table.sides]
        w = np.ones(codes[0].size) if batch.weights is None else batch.weights
        total, squares = total + w.sum(), squares + (w**2).sum()
        first = first + sums_of_scores(scores, codes, w)
        once = once + sums_of_scores(scores, codes, w**2)
        twice = twice + sums_of_scores(squared_scores, codes, w**2)
    records, share = counted[0].records, first / total
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
    limits, records = estimates_of_sets(table, sets, source, weight, options)
    cells = Domain(tuple(attribute for part in table.parts for attribute in part))
    order = np.argsort(cells_of(cells, table.domain))
    parts = [each[order] for each in (*limits, euclidean_projection(limits[0]))]
    return columns_of(parts, records, options) | {"consistent_by": "projection"}
