"""The expected error of the estimates of a plan, before any record is protected."""

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache, reduce
from itertools import combinations
from typing import Any, Literal

import numpy as np
import pandas as pd

from deniable.arrays import Floats
from deniable.channels import MAX_EPSILON, Channel, ProductChannel
from deniable.errors import ChannelError, DeniableError
from deniable.estimation import Z_95, guess_half_width, propagation_factor, records_needed
from deniable.plans.blocks import MAX_CLUSTER, Block, ExpectedTable
from deniable.plans.choosing import BEST
from deniable.plans.interface import Plan
from deniable.plans.making import make_plan
from deniable.plans.questionnaire import choose_in_forms, forms_of, make_questionnaire
from deniable.records import Domain, possible_cells
from deniable.responses import Forms, Table, cells_of
from deniable.schema import Schema

REMEDIES = (
    "leave columns out, make coarser categories, give a larger epsilon, ask each record a part of "
    "the columns (--ask), or divide epsilon for the tables that matter (--split optimal --table)"
)
Names = tuple[str, ...]
KINDS: tuple[Literal["absolute", "relative"], ...] = ("absolute", "relative")
MAX_POINTS, MIN_EPSILON, DIGITS, NAMED = 50, 0.01, 3, 10


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
        One row per column, then per further table: ``columns``; ``records`` that answer;
        ``points``, not a number if the matrix is singular; ``guess``, the half-width without any
        data (`deniable.estimation.guess_half_width`; a number counts as two categories); and
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
    columns = [(each.name,) for each in plan.schema_of_tables.randomized]
    return _errors(plan, records, [*columns, *map(tuple, tables)], prior)


def _errors(
    plan: Plan, records: int, tables: Sequence[Names], prior: Mapping[str, Floats] | None
) -> pd.DataFrame:
    answering = records if plan.part is None else records // plan.part.of
    if answering < 2:
        raise DeniableError(f"records: {answering}; errors need 2 or more records, so give these")
    columns = plan.schema_of_tables.randomized
    points = {each.name: len(each.points) for each in columns if each.on_grid}
    priors = prior or {}
    rows = []
    for names in dict.fromkeys(tables):
        table, blocks = plan.table_of(names), []
        for cells in (side.cells for side in table.sides):
            own = [np.asarray(priors.get(e.name, np.full(e.size, 1 / e.size))) for e in cells]
            grids = {name: points[name] for name in cells.names if name in points}
            blocks.append(Block(cells, grids, reduce(np.multiply.outer, own).reshape(-1)))
        try:
            error = 100 * (Z_95 * math.sqrt(sum(_excess(table, blocks)) / answering))
        except ChannelError:  # an invariant matrix may be singular
            error = math.nan
        guess = 100 * guess_of(plan.schema_of_tables, names)
        # A comparison with NaN is false.
        rows.append((table.label, round(answering * table.asked), error, guess, not error > guess))
    return pd.DataFrame(rows, columns=["columns", "records", "points", "guess", "informative"])


def epsilon_for(
    schema: Schema,
    points: float,
    records: int,
    tables: Sequence[Sequence[str]] = (),
    **options: Any,
) -> float:
    """Return the least epsilon at which estimates have at most these expected ± points.

    It is the `epsilon` of `make_plan`, rounded up to three digits, and at least .01. All plans at
    the tried epsilons are made, so the plan at the result has these errors.

    Parameters
    ----------
    schema : Schema
    points : float, above 0, at most 50
        The largest ± points of `expected_errors`, for each of the `tables`.
    records : int, at least 2
        Number of records that answer.
    tables : sequence of sequences of str
        By default all columns, each alone.
    **options
        Further arguments of `make_plan`, or with ``ask`` of `make_questionnaire`.

    Raises
    ------
    DeniableError
        If no epsilon has so small errors, because of sampling, or as `make_plan`.

    Examples
    --------
    >>> from deniable.schema import schema_from_dict
    >>> columns = [{"name": n, "kind": "categorical", "categories": ["x", "y"]} for n in "abcdefgh"]
    >>> about = {"format": "deniable-schema", "population": "all", "file": {"kind": "arrow"}}
    >>> epsilon_for(schema_from_dict(about | {"columns": columns}), 2, 12_000)
    7.71
    """
    if not 0 < points <= MAX_POINTS:
        raise DeniableError(f"± {points:g} points; give a number above 0, at most {MAX_POINTS}")
    make: Callable[..., Plan] = make_questionnaire if "ask" in options else make_plan
    wanted = [tuple(table) for table in tables] or [(name,) for name in schema.domain().names]

    def worst(epsilon: float) -> tuple[float, str]:
        plan = make(schema, epsilon, tables=tables, **options)
        found = _errors(plan, records, wanted, options.get("prior"))
        row = found.sort_values("points").iloc[-1]  # a matrix without estimates is last
        return float(row["points"]), str(row["columns"])

    def small_enough(epsilon: float) -> bool:
        with suppress(DeniableError):  # some mechanisms need a larger epsilon
            return worst(epsilon)[0] <= points
        return False

    channels = 1 if options.get("split") == "each" else len(schema.domain())
    largest = MAX_EPSILON * channels * schema.records_per_unit
    least, label = worst(largest)
    if not least <= points:
        raise DeniableError(
            f"± {points:g} points are impossible with {records:,} records: {label} has ± "
            f"{points_text(least)} points at the largest epsilon too, because of sampling. Allow "
            "more points, collect more records, or name other tables"
        )
    first, last = 10 ** (DIGITS - 1), math.ceil(math.log10(largest))
    digits = range(first, 10 * first)
    scales = range(round(math.log10(MIN_EPSILON)), last + 1)
    tried = [float(f"{each}e{scale - DIGITS + 1}") for scale in scales for each in digits]
    return tried[min(bisect_left(tried, True, key=small_enough), len(tried) - 1)]


def points_text(points: float) -> str:
    """Return `points` as text: one decimal, two below 1, a dash if there is no number.

    Examples
    --------
    >>> points_text(14.326), points_text(0.0412)
    ('14.3', '0.04')
    """
    if not math.isfinite(points):
        return "–"
    return f"{points:.{1 if points >= 1 else 2}f}"


def note_on_guesses(found: pd.DataFrame) -> str:
    """Return a note on columns and tables with errors above a guess, or an empty text.

    The table `found` is one of `expected_errors`.
    """
    above = found[~found["informative"] & np.isfinite(found["points"])]
    if above.empty:
        return ""
    errors = map(beside_guess, above["points"], above["guess"])
    worse = dict(zip(above["columns"], errors, strict=True))
    return f"{better_guesses(worse)} To change this, {REMEDIES}"


def beside_guess(points: float, guess: float) -> str:
    """Return the `points` of an estimate and those of a `guess` as text."""
    return f"± {points_text(points)} points, a guess ± {points_text(guess)}"


def better_guesses(worse: Mapping[str, str]) -> str:
    """Return a sentence on tables that are `worse` than a guess, by name with `beside_guess`."""
    named = [f"{name} ({errors})" for name, errors in worse.items()]
    more = [f"{len(named) - NAMED} more"] if len(named) > NAMED else []
    return (
        f"{', '.join([*named[:NAMED], *more])}: a guess without any data has smaller errors than "
        "these estimates."
    )


def guess_of(schema: Schema, names: Sequence[str]) -> float:
    """Return `guess_half_width` of the table of some columns, `names`, of a `schema`."""
    columns = [schema[name] for name in names]
    return guess_half_width(math.prod(2 if c.on_grid else c.attribute().size for c in columns))


def errors_in_forms(
    schema: Schema, blocks: Sequence[Block], ask: int | str, epsilon: float
) -> tuple[Forms, Callable[[Names], float]]:
    """Return the forms of a questionnaire with the best mechanisms, and their expected errors.

    `ask` and `epsilon` are as in `make_questionnaire`, and the `blocks` are the columns and
    clusters of the `schema`. The errors are `ExpectedTable.excess` by the names of a table, and NaN
    for a table without a form. Raises `DeniableError` if there are no such forms, or too many.
    """
    found, kind = forms_of(schema, ask, [block.names for block in blocks]), BEST
    if ask == "pairs":  # keep or replace is the best mechanism of all clusters
        kind = "generalized-rr"
        blocks = [_joined(schema, *pair) for pair in combinations(blocks, 2)]
    forms, _ = choose_in_forms(schema, found, blocks, [kind] * len(blocks), epsilon, "even", ())

    @cache
    def block_of(cells: Domain) -> Block:
        whole = next(each for each in blocks if {*cells.names} <= {*each.names})
        prior = np.bincount(cells_of(whole.part, cells), whole.prior, cells.size).astype(float)
        points = {name: of for name, of in whole.points.items() if name in cells.names}
        possible = whole.possible if cells == whole.part else None
        return Block(cells, points, prior, possible=possible)

    moment = cache(Block.second_moments)

    def excess(names: Names) -> float:
        try:
            table, _ = forms.table(names)
        except DeniableError:
            return math.nan
        own = [block_of(side.cells) for side in table.sides]
        return _excess(table, own, moment)[0]

    return forms, excess


def _joined(schema: Schema, first: Block, second: Block) -> Block:
    """Return a cluster of two blocks, whose columns count as independent."""
    part = Domain((*first.part, *second.part))
    if part.size > MAX_CLUSTER:
        raise DeniableError(f"the cluster of {' x '.join(part.names)} has too many cells")
    prior = np.asarray(np.kron(first.prior, second.prior))
    possible = possible_cells(part, schema.rules)
    points = {**first.points, **second.points}
    return Block(part, points, prior, categories_only=True, possible=possible)


def _excess(
    table: Table,
    blocks: Sequence[Block],
    moment: Callable[[Block, Channel, Names], float] = Block.second_moments,
) -> tuple[float, float]:
    """Return `ExpectedTable.excess` and `sampling` of a `table`, with a block for each side."""
    expected = ExpectedTable.of(blocks, table.domain.names)
    moments = {
        (at, part): moment(blocks[at], table.sides[at].channel, part) for at, part in expected.parts
    }
    return expected.excess(moments, table.asked), expected.sampling


def records_for_error(
    plan: Plan, error: float, tables: Sequence[Sequence[str]] = (), alpha: float = 0.05
) -> pd.DataFrame:
    """Return the numbers of records for an error of each block of a `plan` and of each table.

    Errors are the absolute one (5) and the relative one (6) of [multirr], section 2.3, of all
    proportions of a block at once, with probability 1 - `alpha`. The `error` is in [1e-9, 1).
    `tables` are lists of columns; a column in a cluster needs the whole cluster.

    The columns are ``columns``; ``values``, the number r of randomized values; ``absolute``, in the
    worst case, and ``relative``, at equal frequencies, for proportions of randomized values;
    ``propagation``; and ``estimate_absolute``, ``estimate_relative``, for estimates. Their errors
    are larger by the propagation factor, so they need its square times as many records. This number
    is exact for matrices with one value on the diagonal and one elsewhere, else a lower bound. It
    is missing with more randomized values than categories, and infinite for singular matrices.

    Raises `DeniableError` if the plan has no channels, a column is unknown, a number out of range.
    """
    if not 0 < error < 1:
        raise DeniableError(f"the error of proportions must be in (0, 1), not {error}")
    if part := _asked_in_part(plan):
        raise DeniableError(
            f"only a part of the records has values of {part[0]}, and these numbers are of records "
            "with all values; use the expected errors (--records, --within)"
        )
    channels, protocol = [*plan.channels().items()], plan.record_protocol
    for names in tables:
        if protocol is None:
            raise DeniableError(f"a plan of kind {plan.kind} has no channel of tables; name none")
        protocol.domain.project(names)  # refuses unknown names
        own = [each for each in protocol.clusters if set(each) & set(names)]
        # A column in a cluster needs the whole cluster.
        joint = ProductChannel(tuple(map(protocol.channel_of, own)))
        channels.append((" x ".join(names), joint))
    rows = []
    for columns, channel in channels:
        row: dict[str, Any] = {"columns": columns, "values": channel.reports}
        needed = {each: records_needed(channel.reports, error, alpha, each) for each in KINDS}
        factor = propagation_factor(channel) if channel.square else math.nan
        estimates = {f"estimate_{each}": np.ceil(n * factor**2) for each, n in needed.items()}
        rows.append(row | needed | {"propagation": factor} | estimates)
    if not rows:
        raise DeniableError(f"a plan of kind {plan.kind} has no channels; compare test releases")
    return pd.DataFrame(rows)


def _asked_in_part(plan: Plan) -> list[str]:
    names = [each.name for each in plan.schema_of_tables.randomized]
    try:
        return [name for name in names if plan.table_of([name]).asked < 1]
    except DeniableError:  # of a plan without channels, or of large tables within strata
        return []
