"""Expected errors of each mechanism at each epsilon, for the data owner, without random draws."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from deniable.arrays import Floats
from deniable.channels import MAKERS, rounded_up
from deniable.errors import DeniableError, MissingExtraError, named_types
from deniable.estimation import Z_95
from deniable.plans.allocation import Chooser, Split, allocate_to_blocks
from deniable.plans.blocks import (
    MAX_CLUSTER,
    Block,
    ExpectedTable,
    ResponseKind,
    blocks_of,
    epsilon_of_record,
    refuse_unknown_columns,
)
from deniable.plans.choosing import BEST, INVARIANT, MECHANISMS, Choice, choose
from deniable.plans.comparison.expected import guess_of, note_on_guesses
from deniable.plans.comparison.in_forms import FormErrors
from deniable.plans.making import protocol_of, with_distributions
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
    groupings = [tuple(map(tuple, clusters))]
    named = [name for table in stated for name in table]
    if not clusters and not shares and len(named) == len(set(named)) > len(stated):
        domain = schema.domain()
        if all(domain.project(table).size <= MAX_CLUSTER for table in stated):
            groupings.append(tuple(stated))
    records, blocks_by_clusters = file.records, {}
    if not records:
        raise DeniableError("the file has no records for a comparison; give a file with records")
    for each in groupings:
        blocks = blocks_of(schema, each, responses, prior or {})
        label = "; ".join(" x ".join(cluster) for cluster in each)
        blocks_by_clusters[label] = _at_originals(blocks, file) if prior is None else blocks
    found, absent, kinds = [], dict[str, str](), list[dict[str, str]]()
    for epsilon in epsilons:
        progress(epsilon)
        rows, chosen, budget = [], [], epsilon_of_record(schema, epsilon)
        allocated = partial(allocate_to_blocks, floor=floor, shares=shares)
        chooser = cache(partial(choose, designs=True))
        for label, blocks in blocks_by_clusters.items():
            for mechanism, split in WAYS:
                try:
                    way = _chosen(blocks, mechanism, split, budget, stated, allocated, chooser)
                except MissingExtraError as error:
                    absent[mechanism] = f"{mechanism} is not compared: {error}"
                    continue
                if mechanism in (BEST, *(choice.kind for *_, choice in way if choice)):
                    row = _row(schema, way, stated, records, (epsilon, mechanism, split))
                    rows.append(row | {"clusters": label})
                    chosen.append(way)
            for ask in () if floor or shares else ASKED:
                with suppress(DeniableError):  # of too few or too many columns
                    found_in = FormErrors(schema, blocks, ask, budget)
                    about, exact = (epsilon, BEST, f"{ASK}{ask}"), found_in.forms.epsilon
                    of = blocks, found_in.excess
                    row = _numbers(schema, of, exact, about, stated, records)
                    rows.append(row | {"clusters": label})
                    chosen.append([])
        found.append(_marked(rows, stated))
        recommended = int(found[-1][0]["recommended"].argmax())
        kinds.append(_kinds_to_name(chosen[recommended], designs=bool(prior)))
    wanted = [*((name,) for name in schema.domain().names), *stated]
    errors = pd.concat([_errors(schema, wanted, each, records) for each, _ in found])
    table, repeated = _without_repeats(pd.concat([each for each, _ in found], ignore_index=True))
    chosen_from = BY_DATA if prior is None else BY_PRIOR
    notes = (note_on_guesses(each) for _, each in errors.groupby("epsilon", sort=False))
    reasons = tuple(
        f"{reason}. {note}" if note else reason
        for (_, reason), note in zip(found, notes, strict=True)
    )
    return MechanismComparison(
        table,
        reasons,
        errors,
        chosen_from,
        records,
        tuple(absent.values()),
        repeated,
        tuple(kinds),
    )


def _at_originals(blocks: Sequence[Block], file: RecordsFile) -> tuple[Block, ...]:
    """Return the blocks at the original distributions, with matrices designed as without them."""
    public = [replace(block, designed_for=block.fitting_prior) for block in blocks]
    return with_distributions(public, file)


def _chosen(
    blocks: Sequence[Block],
    mechanism: str,
    split: Split,
    epsilon: float,
    tables: Sequence[tuple[str, ...]],
    allocated: Callable[..., tuple[float, ...]],
    chooser: Chooser,
) -> list[Chosen]:
    """Return the blocks with their epsilons and channels, for all that can have a mechanism."""
    numeric = mechanism in (BEST, "generalized-rr") or getattr(
        MAKERS.get(mechanism), "on_grid", False
    )
    kinds = [mechanism if numeric or not block.number else BEST for block in blocks]
    epsilons = allocated(blocks, kinds, epsilon, split, tables)
    return [
        (block, own, chooser(block, own, kind) if own or block.size == 1 else None)
        for block, kind, own in zip(blocks, kinds, epsilons, strict=True)
    ]


def _row(
    schema: Schema,
    way: Sequence[Chosen],
    tables: Sequence[tuple[str, ...]],
    records: int,
    about: tuple[float, str, Split],
) -> dict[str, Any]:
    """Return the epsilons and errors of blocks with channels; `about` begins the row."""
    pairs = [(block, choice) for block, _, choice in way if choice is not None]
    released = schema.only([name for block, _ in pairs for name in block.names])
    exact = protocol_of(released, *zip(*pairs, strict=True)).epsilon

    @cache
    def moment(number: int, part: tuple[str, ...]) -> float:
        block, _, choice = way[number]
        return block.second_moments(choice.channel, part) if choice else np.nan

    def excess(names: tuple[str, ...]) -> float:
        table = ExpectedTable.of([block for block, *_ in way], names)
        return table.excess({each: moment(*each) for each in table.parts})

    left_out = ", ".join(block.label for block, _, choice in way if choice is None)
    of = [block for block, *_ in way], cache(excess)
    return _numbers(schema, of, exact, about, tables, records) | {"left_out": left_out}


def _numbers(
    schema: Schema,
    of: tuple[Sequence[Block], Callable[[tuple[str, ...]], float]],
    exact: float,
    about: tuple[float, str, str],
    tables: Sequence[tuple[str, ...]],
    records: int,
) -> dict[str, Any]:
    names, (blocks, excess) = schema.domain().names, of
    margins, pairs = [(name,) for name in names], list(combinations(names, 2))
    exact = rounded_up(Fraction(exact) * schema.records_per_unit)

    def error(asked: Sequence[tuple[str, ...]]) -> float:
        return float(np.sqrt(np.mean([*map(excess, asked)]) / records)) if asked else float("nan")

    def points(asked: Sequence[tuple[str, ...]]) -> float:
        squares = [excess(each) + ExpectedTable.of(blocks, each).sampling for each in asked]
        return float(100 * Z_95 * np.sqrt(np.mean(squares) / records)) if asked else float("nan")

    return {
        "epsilon": float(about[0]),
        "exact_epsilon": exact,
        "mechanism": about[1],
        "split": about[2],
        "clusters": "",
        "left_out": "",
        "posterior_of_1_percent": float(largest_posterior(PRIOR_PROBABILITY, float(np.exp(exact)))),
        "margins": error(margins),
        "pairs": error(pairs),
        **{" x ".join(table): error([table]) for table in tables},
        "margins_points": points(margins),
        "pairs_points": points(pairs),
        **{f"points {' x '.join(table)}": points([table]) for table in [*margins, *tables]},
    }


def _errors(
    schema: Schema, tables: Sequence[tuple[str, ...]], rows: pd.DataFrame, records: int
) -> pd.DataFrame:
    """Return the expected errors of the recommended one of the `rows` of an epsilon."""
    (row,) = rows[rows["recommended"]].to_dict("records")
    labels = list(dict.fromkeys(" x ".join(table) for table in tables))
    guesses = {" x ".join(table): 100 * guess_of(schema, table) for table in tables}
    own = [float(row[f"points {label}"]) for label in labels]
    found = pd.DataFrame({"epsilon": row["epsilon"], "columns": labels, "records": records})
    found = found.assign(points=own, guess=[guesses[label] for label in labels])
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


def _marked(
    rows: Sequence[dict[str, Any]], tables: Sequence[tuple[str, ...]]
) -> tuple[pd.DataFrame, str]:
    """Return the rows of one epsilon, with the recommended one marked, and its reason."""
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
    return pd.DataFrame(rows).assign(recommended=np.arange(len(rows)) == best), reason


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
