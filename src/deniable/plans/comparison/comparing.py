"""Expected errors of each mechanism at each epsilon, for the data owner, without random draws."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from deniable.arrays import Floats
from deniable.channels import MAKERS, ProductChannel
from deniable.errors import DeniableError, MissingExtraError, named_types
from deniable.estimation import Z_95
from deniable.plans.allocation import Split, Tables, allocate_to_blocks
from deniable.plans.blocks import (
    Block,
    ExpectedTable,
    ResponseKind,
    blocks_of,
    can_be_clusters,
    epsilon_of_record,
    refuse_unknown_columns,
)
from deniable.plans.choosing import BEST, INVARIANT, MECHANISMS, Choice, choose
from deniable.plans.comparison.expected import errors_in_forms, guess_of, note_on_guesses
from deniable.plans.making import with_distributions
from deniable.plans.risks import sum_of_epsilons
from deniable.privacy import largest_posterior
from deniable.schema import RecordsFile, Schema, schema_from_dict

PRIOR_PROBABILITY = 0.01
SAME = 1e-6  # relative
BY_DATA = (
    "Chosen by the original records, for the data owner only. A plan that is chosen in this way "
    "reveals information that no epsilon counts. Choose by a public prior to avoid that."
)
BY_PRIOR = "Chosen by a public prior: only the number of records is used."
Chosen = tuple[Block, float, Choice | None]
"""A block, its epsilon and its channel; None if it is left out."""
Excess = Callable[[tuple[str, ...]], float]
WAYS: tuple[tuple[str, Split], ...] = (
    *((BEST, "even"), (BEST, "size"), (BEST, "optimal")),
    *((kind, "even") for kind in MECHANISMS if kind != INVARIANT),
)
"""Mechanism and budget allocation of each compared plan."""
ASK = "ask "
ASKED = (1, 2, "pairs")
"""Columns of a record in compared split questionnaires, which have the best mechanisms."""


@dataclass(frozen=True, eq=False)
class MechanismComparison:
    """Mechanisms at several epsilons.

    The `table` has one row per epsilon, mechanism, budget allocation and clusters. Its columns are
    the requested ``epsilon``, the ``exact_epsilon`` of a record, ``mechanism``, ``split``,
    ``clusters``, the columns ``left_out``, and ``posterior_of_1_percent``, the largest posterior of
    a prior probability of .01. Then there are root mean squared errors that randomization adds to
    estimated proportions of these records: ``margins``, ``pairs`` (NaN for a single column) and one
    column per stated table. For a number these are proportions at or below a point. The next
    columns are ± points of `expected_errors` at these distributions: ``margins_points`` and
    ``pairs_points``, root mean squares, and ``points`` with the name of each column and stated
    table. ``recommended`` marks one row per epsilon; `errors` has its ± points, as
    `expected_errors` returns them, after a column ``epsilon``. The `recommendation` has one text
    per epsilon: the mechanism with the least error of the stated tables, by default of the marginal
    distributions, and the reason.
    """

    table: pd.DataFrame
    recommendation: tuple[str, ...]
    errors: pd.DataFrame
    chosen_from: str  # the distribution in use, and its consequence
    records: int  # of the file
    not_compared: tuple[str, ...] = ()  # mechanisms for which an extra is missing, and the extra
    repeated: tuple[str, ...] = ()  # mechanisms without a row: they equal the best everywhere
    mechanisms: tuple[Mapping[str, str], ...] = ()
    """Kinds by column that `make_plan` needs for the recommended plan of each epsilon."""


@named_types
def compare(
    source: Any,
    schema: Schema | str | Mapping[str, Any],
    epsilons: Sequence[float],
    tables: Sequence[Sequence[str]] = (),
    *,
    clusters: Sequence[Sequence[str]] = (),
    floor: float = 0.0,
    shares: Mapping[str, float] | None = None,
    responses: ResponseKind = "any",
    prior: Mapping[str, Floats] | None = None,
    progress: Callable[[float], None] = lambda epsilon: None,
) -> MechanismComparison:
    """Return the expected errors of each mechanism at each exact epsilon of a record.

    The errors have closed forms, and no random numbers are drawn. Columns and clusters count as
    independent of each other. Each mechanism is compared for all columns that can have it; others
    have the best one. The best mechanism for each column is compared with three budget allocations,
    and in split questionnaires (`make_questionnaire`), where each record has some of the columns.
    A number always has a number as its randomized value. Matrices are designed for `prior`, or a
    uniform distribution. If a plan leaves out columns, errors of their tables are NaN. Stated
    tables that have no column in common are also compared as clusters.

    Parameters
    ----------
    source : path, table or RecordsFile
    schema : Schema, or its YAML text or plain values
    epsilons : sequence of float, above 0
    tables : sequence of sequences of str
        Columns of the tables to be estimated.
    clusters, floor, shares, responses
        As in `deniable.plans.make_plan`.
    prior : mapping of str to array, optional
        Public distributions, by column; columns without one have a uniform distribution. By default
        the original ones, for the data owner only: see `MechanismComparison.chosen_from`.
    progress : callable, optional
        Receives each epsilon before its mechanisms are compared.

    Raises
    ------
    DeniableError
        If the file contradicts the schema, a name is unknown, or an epsilon is out of range.
    """
    schema = schema_from_dict(schema)
    if not epsilons:
        raise DeniableError("no epsilon to compare at; give at least one")
    stated = [tuple(table) for table in tables]
    refuse_unknown_columns(schema.domain().names, [*stated, tuple(prior or {})])
    file = source if isinstance(source, RecordsFile) else RecordsFile.open(source, schema)
    if not file.records:
        raise DeniableError("the file has no records for a comparison; give a file with records")
    groupings = [tuple(map(tuple, clusters))]
    if not clusters and not shares and can_be_clusters(schema, stated):
        groupings.append(tuple(stated))
    options: dict[str, Any] = {"floor": floor, "shares": shares}
    groups = []
    for each in groupings:
        blocks = blocks_of(schema, each, responses, prior or {})
        if prior is None:  # original distributions, with matrices designed as without them
            public = [replace(block, designed_for=block.fitting_prior) for block in blocks]
            blocks = with_distributions(public, file)
        groups.append(_Group(schema, each, blocks, stated, file.records, options))
    found, errors, reasons, kinds, absent = [], [], [], [], dict[str, str]()
    for epsilon in epsilons:
        progress(epsilon)
        rows, ways = zip(
            *(row for each in groups for row in each.rows(epsilon, absent)), strict=True
        )
        best, reason = _recommended(rows, stated)
        found.append(pd.DataFrame(rows).assign(recommended=np.arange(len(rows)) == best))
        errors.append(_errors(schema, stated, rows[best], file.records))
        note = note_on_guesses(errors[-1])
        reasons.append(f"{reason}. {note}" if note else reason)
        kinds.append(_kinds_to_name(ways[best], designs=bool(prior)))
    table, repeated = _without_repeats(pd.concat(found, ignore_index=True))
    return MechanismComparison(
        table,
        tuple(reasons),
        pd.concat(errors),
        BY_DATA if prior is None else BY_PRIOR,
        file.records,
        tuple(absent.values()),
        repeated,
        tuple(kinds),
    )


@dataclass(frozen=True, eq=False)
class _Group:
    """The columns in `clusters` and `blocks`, whose mechanisms are compared."""

    schema: Schema
    clusters: Tables
    blocks: Sequence[Block]
    stated: Tables
    records: int
    options: Mapping[str, Any]  # of `allocate_to_blocks`

    @cached_property
    def _expected(self) -> dict[tuple[str, ...], ExpectedTable]:
        names = self.schema.domain().names
        tables = [*((name,) for name in names), *combinations(names, 2), *self.stated]
        return {table: ExpectedTable.of(self.blocks, table) for table in tables}

    def rows(
        self, epsilon: float, absent: dict[str, str]
    ) -> Iterator[tuple[dict[str, Any], list[Chosen]]]:
        """Yield each row at an `epsilon` and its channels, none for a split questionnaire.

        `absent` receives the mechanisms for which an extra is missing.
        """
        budget = epsilon_of_record(self.schema, epsilon)
        chooser = cache(partial(choose, designs=True))
        for mechanism, split in WAYS:
            numeric = mechanism in (BEST, "generalized-rr") or getattr(
                MAKERS.get(mechanism), "on_grid", False
            )
            kinds = [mechanism if numeric or not block.number else BEST for block in self.blocks]
            try:
                epsilons = allocate_to_blocks(
                    self.blocks, kinds, budget, split, self.stated, **self.options
                )
                way: list[Chosen] = [
                    (block, own, chooser(block, own, kind) if own or block.size == 1 else None)
                    for block, kind, own in zip(self.blocks, kinds, epsilons, strict=True)
                ]
            except MissingExtraError as error:
                absent[mechanism] = f"{mechanism} is not compared: {error}"
                continue
            if mechanism in (BEST, *(choice.kind for *_, choice in way if choice)):
                yield self._row((epsilon, mechanism, split), *_errors_of(way, self._expected)), way
        for ask in () if any(self.options.values()) else ASKED:
            with suppress(DeniableError):  # of too few or too many columns
                forms, excess = errors_in_forms(self.schema, self.blocks, ask, budget)
                yield self._row((epsilon, BEST, f"{ASK}{ask}"), forms.epsilon, excess), []

    def _row(
        self, about: tuple[float, str, str], exact: float, excess: Excess, left_out: str = ""
    ) -> dict[str, Any]:
        exact = sum_of_epsilons([exact], self.schema.records_per_unit)
        names = self.schema.domain().names
        margins, pairs = [(name,) for name in names], [*combinations(names, 2)]
        errors: dict[str, Tables] = {"margins": margins, "pairs": pairs}
        points = {f"{name}_points": tables for name, tables in errors.items()}
        errors |= {" x ".join(table): [table] for table in self.stated}
        points |= {f"points {' x '.join(table)}": [table] for table in [*margins, *self.stated]}
        added = {table: excess(table) for table in self._expected}
        both = {table: own + self._expected[table].sampling for table, own in added.items()}

        def root_mean(squares: Mapping[tuple[str, ...], float], tables: Tables) -> float:
            own = [squares[table] for table in tables]
            return float(np.sqrt(np.mean(own) / self.records)) if own else math.nan

        return {
            "epsilon": float(about[0]),
            "exact_epsilon": exact,
            "mechanism": about[1],
            "split": about[2],
            "clusters": "; ".join(" x ".join(cluster) for cluster in self.clusters),
            "left_out": left_out,
            "posterior_of_1_percent": float(largest_posterior(PRIOR_PROBABILITY, np.exp(exact))),
            **{name: root_mean(added, tables) for name, tables in errors.items()},
            **{name: 100 * Z_95 * root_mean(both, tables) for name, tables in points.items()},
        }


def _errors_of(
    way: Sequence[Chosen], expected: Mapping[tuple[str, ...], ExpectedTable]
) -> tuple[float, Excess, str]:
    """Return the epsilon of a record, `ExpectedTable.excess` by table, and the columns left out."""

    @cache
    def moment(number: int, part: tuple[str, ...]) -> float:
        block, _, choice = way[number]
        return block.second_moments(choice.channel, part) if choice else np.nan

    def excess(names: tuple[str, ...]) -> float:
        return expected[names].excess({part: moment(*part) for part in expected[names].parts})

    exact = ProductChannel(tuple(choice.channel for *_, choice in way if choice)).epsilon
    return exact, excess, ", ".join(block.label for block, _, choice in way if choice is None)


def _errors(
    schema: Schema, tables: Sequence[tuple[str, ...]], row: Mapping[str, Any], records: int
) -> pd.DataFrame:
    """Return the expected errors of a `row` for each column and each of the `tables`."""
    columns = [(name,) for name in schema.domain().names]
    wanted = {" x ".join(table): table for table in [*columns, *tables]}
    found = pd.DataFrame({"epsilon": row["epsilon"], "columns": [*wanted], "records": records})
    found["points"] = [row[f"points {label}"] for label in wanted]
    found["guess"] = [100 * guess_of(schema, table) for table in wanted.values()]
    return found.assign(informative=~(found["points"] > found["guess"]))


def _kinds_to_name(way: Sequence[Chosen], *, designs: bool) -> dict[str, str]:
    """Return the kinds, by column, that a plan without the records has only if they are named."""
    found = {}
    for block, epsilon, choice in way:
        public = block
        if block.designed_for is not None:
            public = replace(block, prior=block.designed_for)
        if choice and choose(public, epsilon, designs=designs).kind != choice.kind:
            found[block.names[0]] = choice.kind
    return found


def _label(row: Mapping[str, Any]) -> str:
    clusters = f", clusters {row['clusters']}" if row["clusters"] else ""
    split = row["split"] if row["split"].startswith(ASK) else f"split {row['split']}"
    return f"{row['mechanism']}, {split}{clusters}"


def _recommended(
    rows: Sequence[dict[str, Any]], tables: Sequence[tuple[str, ...]]
) -> tuple[int, str]:
    """Return the number of the recommended one of the `rows` of an epsilon, and the reason."""
    labels = [" x ".join(table) for table in tables]
    names = [f"points {label}" for label in labels] or ["margins_points"]
    squares = np.array([[row[name] ** 2 for name in names] for row in rows])
    errors = np.sqrt(np.nan_to_num(squares, nan=np.inf).mean(axis=1)).tolist()
    order = sorted(range(len(rows)), key=lambda number: float(f"{errors[number]:.9g}"))
    best, *rest = order
    others = [number for number in rest if errors[number] > errors[best] * (1 + SAME)]
    reason = (
        f"epsilon {rows[best]['epsilon']:g}: {_label(rows[best])}. Its ± points of "
        f"{', '.join(labels) or 'margins'} are the least: {errors[best]:.4g}"
    )
    if others:
        reason += f", against {errors[others[0]]:.4g} by {_label(rows[others[0]])}"
    if left_out := rows[best]["left_out"]:
        reason += f". It leaves out {left_out}, which are in no table"
    elif np.isnan(rows[best]["pairs"]) and not np.isnan(rows[0]["pairs"]):
        reason += ". Tables of other columns cannot be estimated, so state those that you need"
    return best, reason


def _without_repeats(table: pd.DataFrame) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return the rows without mechanisms that equal the best at all epsilons, and their names."""
    left, repeated = table, []
    numbers = table.select_dtypes("number").columns
    for clusters, rows in table.query("split == 'even'").groupby("clusters", sort=False):
        ways = {str(mechanism): own for mechanism, own in rows.groupby("mechanism", sort=False)}
        best = ways.pop(BEST)[numbers].to_numpy()
        same = [
            mechanism
            for mechanism, own in ways.items()
            if len(own) == len(best)
            and np.allclose(own[numbers], best, rtol=SAME, atol=0, equal_nan=True)
        ]
        if same:
            left = left.drop(rows.index[rows["mechanism"].isin(same)])
            among = ", clusters " + str(clusters) if clusters else ""
            repeated.append(f"Equal to {BEST}, split even{among}: {', '.join(same)}.")
    return left.reset_index(drop=True), tuple(repeated)
