"""The expected error of the estimates of a plan, before any record is protected."""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce

import numpy as np
import pandas as pd

from deniable.arrays import Floats
from deniable.errors import ChannelError, DeniableError
from deniable.estimation import guess_half_width
from deniable.plans.blocks import Block, ExpectedTable
from deniable.plans.interface import Plan
from deniable.responses import Table

REMEDY = (
    "leave columns out, make coarser categories, give a larger epsilon, or choose --split optimal "
    "with the tables that matter"
)


def expected_errors(
    plan: Plan,
    records: int,
    tables: Sequence[Sequence[str]] = (),
    *,
    prior: Mapping[str, Floats] | None = None,
) -> pd.DataFrame:
    """Return the expected ± points of the estimates of each column and table of a plan.

    These are half-widths of the 95 % intervals that `Released` gives for a population, in
    percentage points. They contain the error of sampling and the error of randomization: 1.96 times
    the root of the mean variance of the proportions, in closed form. For a number these are the
    proportions of values at or below each of up to 100 points, as in queries. Columns count as
    independent of each other.

    Parameters
    ----------
    plan : Plan
        Of any kind with channels.
    records : int, at least 2
        Number of records of the file. If only a part of the respondents answers, fewer count.
    tables : sequence of sequences of str
        Further tables.
    prior : mapping of str to array, optional
        Distributions, by column, at which errors are expected; by default uniform.

    Returns
    -------
    DataFrame
        One row per column, then per table: ``columns``; ``records`` that answer; ``points``, not a
        number if the matrix is singular; ``guess``, the half-width without any data
        (`deniable.estimation.guess_half_width`; a number counts as two categories); and
        ``informative``, whether the points are not above this guess.

    Raises
    ------
    DeniableError
        If the plan has no channels, a column is unknown, a table is too large, or there are fewer
        than two records.

    Examples
    --------
    >>> from deniable.schema import schema_from_dict
    >>> from deniable.plans import make_plan
    >>> columns = [{"name": n, "kind": "categorical", "categories": ["x", "y"]} for n in "abcdefgh"]
    >>> about = {"format": "deniable-schema", "population": "all", "file": {"kind": "arrow"}}
    >>> plan = make_plan(schema_from_dict(about | {"columns": columns}), 2.0)
    >>> expected_errors(plan, 12_000, [("a", "b")])["points"].round(1).tolist()[-2:]
    [7.2, 29.4]
    """
    answering = records if plan.part is None else records // plan.part.of
    if answering < 2:
        raise DeniableError(f"{answering} records cannot show an error; give at least 2")
    columns = plan.schema_of_tables.randomized
    points = {each.name: len(each.points) for each in columns if each.on_grid}
    rows = []
    for names in (*((each.name,) for each in columns), *map(tuple, tables)):
        table = plan.table_of(names)
        asked = answering * table.asked
        error = 100 * _half_width(table, points, prior or {}, asked)
        guess = 100 * guess_of((each.name in points, each.size) for each in table.domain)
        # A comparison with NaN is false.
        rows.append((table.label, round(asked), error, guess, not error > guess))
    return pd.DataFrame(rows, columns=["columns", "records", "points", "guess", "informative"])


def guess_of(attributes: Iterable[tuple[bool, int]]) -> float:
    """Return `guess_half_width` of a table; each of the `attributes` is (number, categories)."""
    return guess_half_width(math.prod(2 if number else size for number, size in attributes))


def _half_width(
    table: Table, points: Mapping[str, int], prior: Mapping[str, Floats], records: float
) -> float:
    blocks = []
    for side in table.sides:
        own = (
            np.asarray(prior.get(each.name, np.full(each.size, 1 / each.size)))
            for each in side.cells
        )
        grids = {name: points[name] for name in side.cells.names if name in points}
        blocks.append(Block(side.cells, grids, reduce(np.multiply.outer, own).reshape(-1)))
    expected = ExpectedTable.of(blocks, table.domain.names)
    try:
        moments = {
            part: blocks[part[0]].second_moments(table.sides[part[0]].channel, part[1])
            for part in expected.parts
        }
    except ChannelError:  # an invariant matrix may be singular
        return math.nan
    return expected.half_width(moments, records)
