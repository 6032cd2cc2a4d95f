"""A plan from a schema and an epsilon: the channel of each column or cluster."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy.typing as npt

from deniable.arrays import Floats
from deniable.channels import refuse_bad_budget
from deniable.errors import DeniableError, named_types, refuse_unknown, shown
from deniable.plans.allocation import Split, allocate_to_blocks
from deniable.plans.blocks import (
    MAX_CLUSTER,
    Block,
    ResponseKind,
    blocks_of,
    count_cells,
    epsilon_of_record,
    refuse_unknown_columns,
)
from deniable.plans.choosing import BEST, INVARIANT, MECHANISMS, choose
from deniable.plans.columns import ColumnsPlan
from deniable.plans.interface import Order
from deniable.plans.risks import BY_CURATOR, Origin, sum_of_epsilons
from deniable.privacy import Requirement
from deniable.randomized_response import (
    Protocol,
    cluster_attributes,
    dependences_from_tables,
    pair_measures,
)
from deniable.records import Domain
from deniable.schema import RecordsFile, Schema, schema_from_dict


@named_types
def make_plan(
    schema: Schema | str | Mapping[str, Any],
    epsilon: "float | Requirement",
    *,
    split: Split = "even",
    clusters: Sequence[Sequence[str]] = (),
    tables: Sequence[Sequence[str]] = (),
    floor: float = 0.0,
    shares: Mapping[str, float] | None = None,
    mechanism: str = BEST,
    mechanisms: Mapping[str, str] | None = None,
    responses: ResponseKind = "any",
    prior: Mapping[str, Floats] | None = None,
    data: RecordsFile | None = None,
    clusters_from_data: tuple[int, float] | None = None,
    accept: Sequence[str] = (),
    order: Order = "permuted",
) -> ColumnsPlan:
    """Return a plan with at most this exact epsilon of a record.

    Parameters
    ----------
    schema : Schema, str or mapping
        A schema, its YAML text, such as `deniable.draft_schema` returns, or its plain values.
    epsilon : float, above 0, or Requirement
        Epsilon of a whole record. The exact epsilons of the blocks add up to at most this. If the
        schema has a unit, it is of up to k records, which get epsilon / k each. In its place a
        requirement of the record, beta or breach, which its `epsilon` meets.
    split : "even", "size", "optimal" or "each"
        The budget allocation to columns and clusters: evenly, in proportion to the logarithm of the
        number of categories, or by the least expected error of `tables`. With "optimal", columns
        and clusters in no table are left out, unless there is a `floor`. With "each", every column
        or cluster has this epsilon, and the target of the record is their sum.
    clusters : sequence of sequences of str
        Columns that share a channel for their joint cells; all others have their own. Columns with
        impossible combinations or skip patterns in the schema share one too.
    tables : sequence of sequences of str
        The tables of "optimal"; by default all marginal distributions.
    floor, shares
        The least epsilons of columns with "optimal", and the proportions of single columns; see
        `allocate_to_blocks`.
    mechanism : "best" or a kind of `MECHANISMS`
        For columns and clusters that can have it. Others have the best one, and the plan states the
        reason. "best" has the least mean variance of estimated proportions. For a number, these are
        the proportions of values at or below a point.
    mechanisms : mapping of str to str, optional
        The mechanism of single columns, or of the cluster of a column; an impossible one is an
        error.
    responses : "any" or "categories"
        Whether a column of text may have other randomized values than its categories, as the best
        channels often have. Columns of other types, and clusters, only have categories. With "any",
        a single number may have randomized values beyond its bounds if its type allows that.
    prior : mapping of str to array, optional
        Public distributions, by column, at which errors are expected; by default uniform.
    data : RecordsFile, optional
        The original records. A choice by them must be accepted as ``chosen_by_data``. Invariant
        matrices are made from them.
    clusters_from_data : pair of int and float, optional
        T_v and T_d, by which clusters are found in `data` (`clusters_from`); by default none.
    accept : sequence of str
        Names of accepted risks; see `deniable.plans.RISKS`.
    order : "permuted" or "as_in_file"

    Raises
    ------
    DeniableError
        If the plan is impossible, or a risk is not accepted.
    """
    schema = schema_from_dict(schema)
    target, required = target_of_record(schema, epsilon)
    if prior and data is not None:
        raise DeniableError("both a prior and the data to choose by; give one of them")
    if clusters_from_data is not None:
        if data is None or clusters:
            raise DeniableError(
                "clusters are found in the data: give --data and --accept chosen_by_data, and name "
                "no clusters"
            )
        clusters = clusters_from(data, *clusters_from_data)
    blocks = blocks_of(schema, clusters, responses, prior or {})
    refuse_unknown_columns(schema.domain().names, [*tables, tuple(prior or {})])
    origin: Origin = "a public prior" if prior else "no data"
    if data is not None:
        origin = BY_CURATOR
        blocks = with_distributions(blocks, data)
    kinds = kinds_of(blocks, mechanism, mechanisms or {})
    if INVARIANT in kinds:
        refuse_weights(schema, f"mechanism {INVARIANT}")
        if data is None:
            raise DeniableError(
                "invariant matrices are made from the records: give --data and --accept "
                "chosen_by_data"
            )
    named = [any(name in (mechanisms or {}) for name in block.names) for block in blocks]
    chooser = partial(choose, designs=origin != "no data")
    stated = [tuple(table) for table in tables]
    epsilons = allocate_to_blocks(
        blocks, kinds, target, split, stated, floor=floor, shares=shares, choose=chooser
    )
    if split == "each":
        target = sum_of_epsilons(epsilons)
    released = [
        (block, chooser(block, own, kind, must=must))
        for block, own, kind, must in zip(blocks, epsilons, kinds, named, strict=True)
        if own or block.size == 1
    ]
    if len(released) < len(blocks):
        schema = schema.only([name for block, _ in released for name in block.names])
    blocks, choices = (tuple(each) for each in zip(*released, strict=True))
    return ColumnsPlan(
        schema=schema,
        target=float(target),
        protocol=Protocol(
            schema.domain(),
            tuple(block.names for block in blocks),
            tuple(choice.channel for choice in choices),
        ),
        why=tuple(choice.why for choice in choices),
        chosen_from=origin,
        accept=tuple(dict.fromkeys(accept)),
        order=order,
        requirement=required,
        invariant=all(each.kind == INVARIANT for each in choices if each.channel.size > 1),
    )


@named_types
def plan_from_protocol(
    protocol: Protocol,
    population: str = "records",
    *,
    chosen_from: Origin = "no data",
    accept: Sequence[str] = (),
) -> ColumnsPlan:
    """Return the plan of a protocol: RR-Independent, -Joint and -Clusters, PRAM, own channels.

    The records are tables with the categories of the protocol's attributes as columns.

    Parameters
    ----------
    protocol : Protocol
    population : str
        The respondents.
    chosen_from, accept
        As in `Plan`. Matrices made from the records, as often in PRAM, are chosen by the data.

    Raises
    ------
    DeniableError
        If a risk is not accepted, or a category is not text that a file can hold.

    Examples
    --------
    >>> from deniable.records import Attribute, Domain
    >>> from deniable.randomized_response import rr_independent
    >>> domain = Domain((Attribute("sex", ("F", "M")),))
    >>> plan_from_protocol(rr_independent(domain, 0.5, "keep")).epsilon  # ln 3, rounded up
    1.0986122886681098
    """
    columns = [
        {
            "name": each.name,
            "kind": "categorical",
            "categories": list(each.categories),
            "ordered": each.scale == "ordinal",
        }
        for each in protocol.domain
    ]
    about = {"format": "deniable-schema", "version": 1, "population": population}
    schema = schema_from_dict(about | {"file": {"kind": "arrow"}, "columns": columns})
    why = ("stated",) * len(protocol.clusters)
    return ColumnsPlan(
        schema, protocol.epsilon, protocol, why, chosen_from=chosen_from, accept=tuple(accept)
    )


def target_of_record(
    schema: Schema, epsilon: float | Requirement
) -> tuple[float, Requirement | None]:
    """Return the target of a record from the `epsilon` of `make_plan`, and the requirement in it.

    The `epsilon` is of a unit of the `schema`. Raises `DeniableError` if it is out of range.
    """
    required = epsilon if isinstance(epsilon, Requirement) else None
    target = epsilon.epsilon if isinstance(epsilon, Requirement) else epsilon
    refuse_bad_budget(target)
    return epsilon_of_record(schema, float(target)), required


def with_distributions(blocks: Sequence[Block], data: RecordsFile) -> tuple[Block, ...]:
    """Return the `blocks` with distributions of the `data` as priors.

    Raises `DeniableError` if the file has no records.
    """
    counts = count_cells([block.part for block in blocks], data.portions())
    if not (records := int(counts[0].sum())):
        raise DeniableError("the file has no records to choose by; give a file with records")
    pairs = zip(blocks, counts, strict=True)
    return tuple(replace(block, prior=count / records) for block, count in pairs)


def refuse_weights(schema: Schema, mechanism: str) -> None:
    """Raise `DeniableError` if the `schema` has a weight, which a `mechanism` does not use."""
    if weights := [column.name for column in schema.columns if column.kind == "weight"]:
        raise DeniableError(
            f"{mechanism}: column {shown(weights[0])} is a weight, but matrices from the original "
            "records use unweighted frequencies only. Declare the column as left_out or choose "
            "another mechanism, or name it as the weight of a matrix of kind two_step or designed"
        )


def kinds_of(blocks: Sequence[Block], mechanism: str, mechanisms: Mapping[str, str]) -> list[str]:
    """Return the requested kind of channel of each of `blocks`.

    `mechanism` is for all columns without their own in `mechanisms`. Raises `DeniableError` if a
    column or a kind is unknown, or a cluster has two.
    """
    known = [name for block in blocks for name in block.names]
    for name, kind in mechanisms.items():
        refuse_unknown("column to randomize", name, known)
        refuse_unknown(f"mechanism of {name!r}", kind, (BEST, *MECHANISMS))
    refuse_unknown("mechanism", mechanism, (BEST, *MECHANISMS))
    kinds = []
    for block in blocks:
        own = list(dict.fromkeys(mechanisms[name] for name in block.names if name in mechanisms))
        if len(own) > 1:
            raise DeniableError(
                f"{block.label} is one cluster, but two mechanisms are named for it: "
                f"{' and '.join(own)}; name one"
            )
        kinds.append(own[0] if own else mechanism)
    return kinds


def clusters_from(
    data: RecordsFile,
    largest_cells: int,
    least_dependence: float,
    ordinal: Sequence[str] = (),
    domain: Domain | None = None,
) -> tuple[tuple[str, ...], ...]:
    """Return the clusters of several columns of the original records ([multirr], Algorithm 1).

    One pass over the `data` counts all pairs of columns. The `largest_cells`, 2 to 4,096, are T_v,
    the largest number of joint cells of a cluster. The `least_dependence`, in [0, 1], is T_d, the
    smallest dependence of columns that are merged. Besides the ordered columns, those in `ordinal`
    have Pearson's correlation as the measure. The columns are a `domain`, by default all randomized
    ones. Raises `DeniableError` if a threshold is out of range.
    """
    if not 2 <= largest_cells <= MAX_CLUSTER:
        raise DeniableError(
            f"T_v is {largest_cells}; a cluster has 2 to {MAX_CLUSTER:,} joint cells at most"
        )
    if not 0 <= least_dependence <= 1:
        raise DeniableError(f"T_d is {least_dependence}; dependences are in [0, 1]")
    domain = data.schema.domain() if domain is None else domain
    pairs = [domain.project(pair) for pair in combinations(domain.names, 2)]
    small = [pair for pair in pairs if pair.size <= largest_cells]
    tables = {
        (pair.names[0], pair.names[1]): counts.reshape(pair.shape)
        for pair, counts in zip(small, count_cells(small, data.portions()), strict=True)
    }
    return clusters_from_tables(domain, tables, largest_cells, least_dependence, ordinal)


def clusters_from_tables(
    domain: Domain,
    tables: Mapping[tuple[str, str], npt.ArrayLike],
    largest_cells: int,
    least_dependence: float,
    ordinal: Sequence[str],
) -> tuple[tuple[str, ...], ...]:
    """Return the clusters of several columns of a `domain`, by two-way `tables`.

    Columns without a table of both count as independent. `largest_cells`, `least_dependence` and
    `ordinal` are as in `clusters_from`.
    """
    measures = pair_measures(domain, ordinal)
    with_table = {pair: measure for pair, measure in measures.items() if pair in tables}
    found = dependences_from_tables(tables, with_table)
    clusters = cluster_attributes(domain, found, largest_cells, least_dependence)
    return tuple(each for each in clusters if len(each) > 1)
