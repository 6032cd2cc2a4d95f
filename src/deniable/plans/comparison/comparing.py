"""For the owner of a file: errors expected of each mechanism at each epsilon, before any draw."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from deniable.arrays import Floats
from deniable.errors import DeniableError, MissingExtraError
from deniable.plans.allocation import Split, allocate_to_blocks
from deniable.plans.blocks import (
    MAX_CLUSTER,
    Block,
    ExpectedTable,
    Part,
    refuse_unknown_columns,
)
from deniable.plans.choosing import BEST, INVARIANT, MECHANISMS, Choice, choose
from deniable.plans.making import (
    Responses,
    planned_blocks,
    protocol_of,
    with_distributions,
)
from deniable.privacy import largest_posterior
from deniable.schema import RecordsFile, Schema

SUSPICION = 0.01
ALIKE = 1e-6  # relative
GUESSED = 12**-0.5
"""Standard deviation of a share of which nothing is known but that it is between 0 and 1."""
BY_DATA = (
    "Chosen by the true records: for their trusted owner alone. A plan that is chosen so tells of "
    "them what no epsilon counts; choose by a public prior to avoid that."
)
BY_PRIOR = "Chosen by a public prior: of the records only their number is used."


@dataclass(frozen=True, eq=False)
class Comparison:
    """Mechanisms at several epsilons.

    Parameters
    ----------
    table : DataFrame
        A row for each epsilon and way to spend it: ``epsilon`` as asked for, ``exact_epsilon`` of
        the record, ``mechanism``, ``split``, ``clusters``; ``posterior_of_1_percent``, to which a
        suspicion of .01 about a respondent can rise at most; root mean squared errors of estimated
        shares of these records that randomization adds, ``margins``, ``pairs`` (NaN for a single
        column) and one column for each stated table; and whether it is ``recommended`` at its
        epsilon. Shares of a number are those of all at or below a point.
    recommendation : tuple of str
        For each epsilon the way of the least error of the stated tables, or of the margins if none
        is stated, and its reason.
    chosen_from : str
        By which distribution, and what that means.
    records : int
        Of the file.
    not_compared : tuple of str
        Kinds of mechanisms for which an extra is missing, and which.
    repeated : tuple of str
        Which kinds have no row, as they give what the best gives at every epsilon.
    """

    table: pd.DataFrame
    recommendation: tuple[str, ...]
    chosen_from: str
    records: int
    not_compared: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class _Way:
    """A way to spend an epsilon."""

    mechanism: str
    split: Split
    clusters: str
    blocks: tuple[Block, ...]

    @property
    def label(self) -> str:
        clusters = f", clusters {self.clusters}" if self.clusters else ""
        return f"{self.mechanism}, split {self.split}{clusters}"


def compare(
    source: Any,
    schema: Schema,
    epsilons: Sequence[float],
    tables: Sequence[Sequence[str]] = (),
    *,
    clusters: Sequence[Sequence[str]] = (),
    responses: Responses = "any",
    prior: Mapping[str, Floats] | None = None,
    progress: Callable[[float], None] = lambda epsilon: None,
) -> Comparison:
    """Return the errors to expect of each mechanism at each exact epsilon of a record.

    Closed forms: no draw is made. Within a column or a cluster the distribution is taken as it is;
    different ones are taken as independent of each other. Compared are each kind of mechanism for
    all columns that can have it (others have the best), and the best for each column with epsilon
    split in three ways; with stated tables that share no column, also these as clusters.

    Parameters
    ----------
    source : path, table or RecordsFile
    schema : Schema
    epsilons : sequence of float, above 0
    tables : sequence of sequences of column names
        What will be estimated.
    clusters, responses
        As in `deniable.plans.make_plan`.
    prior : mapping of str to array, optional
        Public distributions, by column; uniform for columns that it lacks, so for all if empty. By
        default the true ones, which is for a trusted owner: see `Comparison.chosen_from`.
    progress : callable, optional
        Is told each epsilon before its mechanisms are made.

    Raises
    ------
    DeniableError
        If the file cannot be read by the schema, or a name or an epsilon is none.
    """
    if not epsilons:
        raise DeniableError("no epsilon to compare at; give at least one")
    asked = [tuple(table) for table in tables]
    refuse_unknown_columns(schema.domain().names, [*asked, tuple(prior or {})])
    file = source if isinstance(source, RecordsFile) else RecordsFile.open(source, schema)
    groupings = [tuple(map(tuple, clusters))]
    if not clusters and _can_be_clusters(schema, asked):
        groupings.append(tuple(asked))
    planned = [planned_blocks(schema, each, responses, prior or {}) for each in groupings]
    records = file.records
    if not records:
        raise DeniableError("the file has no record to compare by")
    if prior is None:
        planned = [with_distributions(blocks, file)[0] for blocks in planned]
    ways = [way for each in zip(groupings, planned, strict=True) for way in _ways(*each)]
    names = schema.domain().names
    found, absent = [], dict[str, str]()
    for epsilon in epsilons:
        progress(epsilon)
        rows = []
        for way in ways:
            try:
                rows.append(_row(schema, way, epsilon, asked, names, records))
            except MissingExtraError as error:
                absent[way.mechanism] = f"{way.mechanism} is not compared: {error}"
        found.append(_marked([row for row in rows if row is not None], asked))
    table, repeated = _without_repeats(pd.concat([each for each, _ in found], ignore_index=True))
    said = BY_DATA if prior is None else BY_PRIOR
    reasons = tuple(reason for _, reason in found)
    return Comparison(table, reasons, said, records, tuple(absent.values()), repeated)


def _can_be_clusters(schema: Schema, tables: Sequence[tuple[str, ...]]) -> bool:
    named = [name for table in tables for name in table]
    small = all(schema.domain().project(table).size <= MAX_CLUSTER for table in tables)
    return small and len(named) == len(set(named)) > len(tables)


def _ways(clusters: Sequence[tuple[str, ...]], blocks: tuple[Block, ...]) -> list[_Way]:
    label = "; ".join(" x ".join(cluster) for cluster in clusters)
    splits: tuple[Split, ...] = ("even", "size", "optimal")
    return [
        *(_Way(BEST, split, label, blocks) for split in splits),
        *(_Way(kind, "even", label, blocks) for kind in MECHANISMS if kind != INVARIANT),
    ]


def _row(
    schema: Schema,
    way: _Way,
    epsilon: float,
    tables: Sequence[tuple[str, ...]],
    names: Sequence[str],
    records: int,
) -> dict[str, Any] | None:
    """Return what a way costs and gives; None if no block can have its mechanism."""
    kinds = [way.mechanism] * len(way.blocks)
    shares = allocate_to_blocks(way.blocks, kinds, epsilon, way.split, tables)
    choices = [
        choose(block, share, way.mechanism) for block, share in zip(way.blocks, shares, strict=True)
    ]
    if way.mechanism != BEST and not any(each.kind == way.mechanism for each in choices):
        return None
    exact = protocol_of(schema, way.blocks, choices).epsilon
    errors = _Errors(way.blocks, choices, records)
    return {
        "epsilon": float(epsilon),
        "exact_epsilon": exact,
        "mechanism": way.mechanism,
        "split": way.split,
        "clusters": way.clusters,
        "posterior_of_1_percent": float(largest_posterior(SUSPICION, float(np.exp(exact)))),
        "margins": errors.of([(name,) for name in names]),
        "pairs": errors.of(list(combinations(names, 2))),
        **{" x ".join(table): errors.of([table]) for table in tables},
        "label": way.label,
    }


class _Errors:
    """Root mean squared errors of tables by the channels chosen."""

    def __init__(self, blocks: Sequence[Block], choices: Sequence[Choice], records: int) -> None:
        self.blocks, self.choices, self.records = blocks, choices, records
        self.moments: dict[Part, float] = {}

    def of(self, tables: Sequence[tuple[str, ...]]) -> float:
        """Return the root of the mean over tables of their mean squared errors."""
        if not tables:
            return float("nan")
        asked = [ExpectedTable.of(self.blocks, table) for table in tables]
        for number, names in (part for table in asked for part in table.parts):
            if (number, names) not in self.moments:
                block, channel = self.blocks[number], self.choices[number].channel
                self.moments[number, names] = block.second_moments(channel, names)
        squared = np.mean([table.excess(self.moments) for table in asked]) / self.records
        return float(np.sqrt(squared))


def _marked(
    rows: Sequence[dict[str, Any]], tables: Sequence[tuple[str, ...]]
) -> tuple[pd.DataFrame, str]:
    """Return the rows of one epsilon, the recommended one marked, and why it is that one."""
    told = [" x ".join(table) for table in tables] or ["margins"]
    errors = [float(np.sqrt(np.mean([row[name] ** 2 for name in told]))) for row in rows]
    order = sorted(range(len(rows)), key=lambda number: float(f"{errors[number]:.9g}"))
    best, *rest = order
    others = [number for number in rest if errors[number] > errors[best] * (1 + ALIKE)]
    reason = (
        f"epsilon {rows[best]['epsilon']:g}: {rows[best]['label']}. Its root mean squared error of "
        f"{', '.join(told)} is the least: {errors[best]:.4g}"
    )
    if others:
        reason += f", against {errors[others[0]]:.4g} by {rows[others[0]]['label']}"
    if errors[best] > GUESSED:
        reason += (
            f". That is more than guessing a share between 0 and 1 would give ({GUESSED:.2f}): "
            "leave columns out, make coarser categories, or give a larger epsilon"
        )
    table = pd.DataFrame(rows).drop(columns="label")
    return table.assign(recommended=np.arange(len(rows)) == best), reason


def _without_repeats(table: pd.DataFrame) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return the rows but for those of kinds that the best is everywhere, and which these are."""
    left, told = table, []
    numbers = table.select_dtypes("number").columns
    for clusters, rows in table.query("split == 'even'").groupby("clusters", sort=False):
        ways = {str(mechanism): own for mechanism, own in rows.groupby("mechanism", sort=False)}
        best = ways.pop(BEST)[numbers].to_numpy()
        same = [
            mechanism
            for mechanism, own in ways.items()
            if len(own) == len(best)
            and np.allclose(own[numbers], best, rtol=ALIKE, atol=0, equal_nan=True)
        ]
        if same:
            left = left.drop(rows.index[rows["mechanism"].isin(same)])
            among = ", clusters " + str(clusters) if clusters else ""
            told.append(f"As {BEST}, split even{among}: {', '.join(same)}.")
    return left.reset_index(drop=True), tuple(told)
