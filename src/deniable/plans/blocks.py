"""Columns that share one channel, and the expected error of estimates from their randomized values.

The estimates are proportions: of a category, or of the values of a number at or below a point.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from typing import Literal, get_args

import numpy as np

from deniable.arrays import Counts, Flags, Floats
from deniable.channels import Channel, rounded_down
from deniable.errors import DeniableError, refuse_unknown, shown
from deniable.records import Attribute, Domain, connected, possible_cells
from deniable.responses import holds_wider_points
from deniable.schema import Column, RecordBatch, Schema, weights_of

ResponseKind = Literal["any", "categories"]
MAX_CLUSTER = 4096  # cells of a cluster: one dense matrix
MAX_THRESHOLDS = 100
NEARLY_NONE = 1e-9  # proportion of an empty cell, so that each randomized value is informative


@dataclass(frozen=True, eq=False)
class Block:
    """Attributes that share one channel for their joint cells."""

    part: Domain  # the attributes
    points: Mapping[str, int]  # of the grid of each numeric attribute
    prior: Floats  # the distribution at which errors are expected, shape (cells,)
    categories_only: bool = False
    """Whether randomized values must be categories, so that columns and types stay the same."""
    beyond: bool = True
    """Whether a randomized number may lie beyond its bounds, even if `categories_only`."""
    possible: Flags | None = None
    """Flags of the cells that a record can have, shape (cells,); None if it can have all."""
    designed_for: Floats | None = None
    """The distribution for which matrices are designed; by default `fitting_prior`."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the attributes."""
        return self.part.names

    @property
    def label(self) -> str:
        """Names of the attributes, as in tables."""
        return " x ".join(self.names)

    @property
    def size(self) -> int:
        """Number of possible cells."""
        return self.part.size if self.possible is None else int(self.possible.sum())

    @property
    def on_a_grid(self) -> bool:
        """Whether the block is one number, never missing, so that noise can be added to it."""
        return self.number and self.part.size == self.points[self.names[0]]

    @property
    def number(self) -> bool:
        """Whether the block is one number, which may be missing."""
        return self.names == (*self.points,)

    @cached_property
    def fitting_prior(self) -> Floats:
        """The prior, with a tiny proportion in empty cells."""
        return np.asarray((self.prior + NEARLY_NONE) / (self.prior + NEARLY_NONE).sum())

    def _shares_of(self, attribute: Attribute) -> Floats:
        """Return 1 if a category is in a proportion, else 0; shape (categories, proportions)."""
        if attribute.name not in self.points:
            return np.eye(attribute.size)
        points = self.points[attribute.name]
        number = min(points - 1, MAX_THRESHOLDS)
        thresholds = np.arange(1, number + 1) * points // (number + 1) - 1
        cells = np.arange(attribute.size)
        missing = cells >= points
        weights = (cells[:, None] <= thresholds) & ~missing[:, None]
        return np.column_stack([weights, *[missing] * bool(missing.any())]).astype(float)

    def shares(self, names: Sequence[str]) -> Floats:
        """Return the proportions in a table of attributes, `names`, shape (cells, proportions).

        A column has 1 in the cells that the proportion contains. The proportions of a number are
        those at or below a point, for at most `MAX_THRESHOLDS` evenly spaced points, and of the
        missing values.
        """
        weights = (
            self._shares_of(each) if each.name in names else np.ones((each.size, 1))
            for each in self.part
        )
        return reduce(_kron, weights)

    def _of_all_cells(self, names: Sequence[str]) -> bool:
        """Whether the `shares` of `names` are the cells: each cell is in one proportion, alone."""
        return set(names) == set(self.names) and not self.points

    def second_moments(self, channel: Channel, names: Sequence[str]) -> float:
        """Return the sum over `shares` of `names` of second moments of one record's estimates.

        Raises `DeniableError` if the `channel` is singular.
        """
        channel.refuse_singular()
        fitted = channel.of_least_variance(self.fitting_prior)
        reported = fitted.reported(self.prior)
        if self._of_all_cells(names):
            return float(fitted.moments(reported, 2).sum())
        scores = fitted.solve(np.ascontiguousarray(self.shares(names).T))
        return float((scores**2).sum(axis=0) @ reported)

    def error(self, channel: Channel) -> float:
        """Return n times the mean variance that a `channel` adds to estimated proportions.

        Estimates use the inverse of least variance; see `deniable.channels.Inverse`.
        """
        table = ExpectedTable.of([self], self.names)
        return table.excess({(0, self.names): self.second_moments(channel, self.names)})

    def expected(self, names: Sequence[str]) -> tuple[float, float, int]:
        """Return `held`, `squares` and `shares` of the `ExpectedTable` of `names`, by the prior."""
        if self._of_all_cells(names):
            held, squares = self.prior @ np.ones(self.part.size), self.prior @ self.prior
            return float(held), float(squares), self.size
        shares = self.shares(names)
        held, squares = self.prior @ shares.sum(axis=1), ((self.prior @ shares) ** 2).sum()
        possible = shares if self.possible is None else shares[self.possible]
        return float(held), float(squares), int(possible.any(axis=0).sum())


def _kron(first: Floats, second: Floats) -> Floats:  # of one type for mypy, unlike NumPy's
    return np.asarray(np.kron(first, second))


BlockPart = tuple[int, tuple[str, ...]]
"""The number of a block, and the attributes of the block that are in a table."""


@dataclass(frozen=True, eq=False)
class ExpectedTable:
    """A table of attributes of several blocks, for its expected error.

    `parts` are the blocks in the table with their attributes. `held` is the mean number of the
    table's proportions (`Block.shares`) that contain a record, `squares` the sum of their squares,
    and `shares` the number of all.
    """

    parts: tuple[BlockPart, ...]
    held: float
    squares: float
    shares: int

    @classmethod
    def of(cls, blocks: Sequence[Block], names: Sequence[str]) -> "ExpectedTable":
        """Return the table of some attributes, `names`, of the `blocks`."""
        own = [tuple(name for name in block.names if name in names) for block in blocks]
        parts = tuple((number, part) for number, part in enumerate(own) if part)
        means = [blocks[number].expected(part) for number, part in parts]
        return cls(
            parts,
            math.prod(held for held, *_ in means),
            math.prod(squares for _, squares, _ in means),
            math.prod(number for *_, number in means),
        )

    def excess(self, moments: Mapping[BlockPart, float], asked: float = 1.0) -> float:
        """Return n times the mean variance that randomization adds to the table's proportions.

        Closed form, from the `Block.second_moments` of its parts (`moments`): the mean of the
        diagonal of D' diag(lambda) D - diag(pi). D is the inverse of the product of the blocks'
        channels. Blocks count as independent of each other. If only a proportion of the records is
        `asked`, the result includes the error by the choice of these records.
        """
        moment = math.prod(moments[part] for part in self.parts)
        by_choice = (moment - self.squares) * (1 / asked - 1)
        return (max(moment - self.held, 0.0) + by_choice) / self.shares

    @property
    def sampling(self) -> float:
        """N times the mean variance of the table's proportions by sampling alone."""
        return max(self.held - self.squares, 0.0) / self.shares


def refuse_unknown_columns(known: Sequence[str], lists: Sequence[Sequence[str]]) -> None:
    """Raise `DeniableError` for a name in `lists` that is not `known`, or twice in one list."""
    for names in lists:
        for name in names:
            refuse_unknown("column to randomize", name, known)
        if len(set(names)) < len(names):
            raise DeniableError(f"{', '.join(names)} names a column twice; name it once")


def epsilon_of_record(schema: Schema, epsilon: float) -> float:
    """Return the epsilon of a record if `epsilon` is the one of a unit of the `schema`."""
    most = schema.records_per_unit
    return epsilon if most == 1 else rounded_down(Fraction(epsilon) / most)


def group_columns(groups: Sequence[Sequence[str]], domain: Domain) -> tuple[tuple[str, ...], ...]:
    """Return the `groups` of columns, and all other columns alone, in the order of a `domain`.

    Raises `DeniableError` if a name is unknown, or in two groups.
    """
    group_of: dict[str, tuple[str, ...]] = {}
    for group in groups:
        refuse_unknown_columns(domain.names, [group])
        names = tuple(sorted(group, key=domain.position))
        for name in names:
            if name in group_of:
                raise DeniableError(f"{name!r} is in two clusters; allowed: in one at most")
            group_of[name] = names
    return tuple(dict.fromkeys(group_of.get(name, (name,)) for name in domain.names))


def groups_of(schema: Schema, clusters: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """Return groups of all columns of a `schema`: `clusters`, joined by impossible combinations.

    Raises `DeniableError` as `group_columns` does.
    """
    domain = schema.domain()
    group_columns(clusters, domain)  # refuses unknown names, and names in two of them
    return group_columns(connected([*clusters, *schema.rules]), domain)


def can_be_clusters(schema: Schema, tables: Sequence[Sequence[str]]) -> bool:
    """Whether `tables` have no column in common, a pair, and clusters in `blocks_of` a `schema`."""
    named = [name for table in tables for name in table]
    if not len(named) == len(set(named)) > len(tables):
        return False
    domain, groups = schema.domain(), groups_of(schema, tables)
    return all(len(each) == 1 or domain.project(each).size <= MAX_CLUSTER for each in groups)


def blocks_of(
    schema: Schema,
    clusters: Sequence[Sequence[str]],
    responses: ResponseKind,
    priors: Mapping[str, Floats],
) -> tuple[Block, ...]:
    """Return the clusters and all other columns alone, in the order of the file.

    `schema`, `clusters` and `responses` are as in `make_plan`. `priors` are distributions by
    column, by default uniform. Columns with impossible combinations form clusters, joined with the
    given ones. Raises `DeniableError` if a column is unknown or in two clusters, a cluster has over
    `MAX_CLUSTER` cells, or a prior has another number of categories.
    """
    refuse_unknown("responses", responses, get_args(ResponseKind))
    domain, rules = schema.domain(), schema.rules
    points = {each.name: len(each.points) for each in schema.randomized if each.on_grid}
    blocks = []
    for names in groups_of(schema, clusters):
        part = domain.project(names)
        if len(names) > 1 and part.size > MAX_CLUSTER:
            remedy = ""
            if any({*names} & {*rule} for rule in rules):
                remedy = (
                    ". Columns with impossible combinations or skip patterns (asked_if) share one "
                    "channel: group their categories, or leave a column out"
                )
            raise DeniableError(
                f"the cluster {' x '.join(names)} has {part.size:,} cells; allowed: "
                f"{MAX_CLUSTER:,}{remedy}"
            )
        possible = possible_cells(part, rules)
        prior = reduce(_kron, [_prior(each, priors) for each in part])
        if possible is not None:
            prior = np.where(possible, prior, 0.0)
            if not prior.any():
                raise DeniableError(f"the priors of {', '.join(names)} allow no possible cell")
            prior /= prior.sum()
        typed = any(schema[name].response_type is not None for name in names)
        numbers = {name: points[name] for name in names if name in points}
        block = Block(
            part,
            numbers,
            prior,
            responses == "categories" or typed or len(names) > 1,
            all(responses == "any" and holds_wider_points(schema[name]) for name in numbers),
            possible,
        )
        blocks.append(block)
    return tuple(blocks)


def count_cells(
    parts: Sequence[Domain], batches: Iterable[RecordBatch], times: Column | None = None
) -> list[Counts]:
    """Return the counts of the joint cells of each of the `parts`, in one pass over `batches`.

    Rows count once, or as many times as a weight `times`, which is a whole number below 2^31.
    """
    counts = [np.zeros(part.size, dtype=np.int64) for part in parts]
    for batch in batches:
        rows = _row_weights(batch, times)
        if np.any((rows % 1 != 0) | (rows >= 2**31)):
            raise DeniableError(
                f"column {times and times.name}: give numbers of records as integers below 2^31"
            )
        for number, part in enumerate(parts):
            cells = part.ravel([batch.codes[name] for name in part.names])
            counts[number] += np.bincount(cells, rows, part.size).astype(np.int64)
    return counts


def weighted_cells(
    parts: Sequence[Domain], batches: Iterable[RecordBatch], weight: Column | None
) -> list[Floats]:
    """Return sums of weights and of their squares, shape (2, cells), for each of the `parts`.

    Cells are joint cells of a part. Records in `batches` count by the column `weight`, or without
    it as one each. Raises `DeniableError` if a weight is 0.
    """
    sums = [np.zeros((2, part.size)) for part in parts]
    for batch in batches:
        own = _row_weights(batch, weight)
        if not own.all():
            raise DeniableError(
                f"column {shown(weight and weight.name)}: a record has the weight 0; matrices for "
                "weighted frequencies need positive weights, so leave such records out"
            )
        for each, part in zip(sums, parts, strict=True):
            cells = part.ravel([batch.codes[name] for name in part.names])
            each += [np.bincount(cells, own**power, part.size) for power in (1, 2)]
    return sums


def _row_weights(batch: RecordBatch, weight: Column | None) -> Floats:
    return weights_of(batch.passed[weight.name], weight.decimal) if weight else np.ones(len(batch))


def _prior(attribute: Attribute, priors: Mapping[str, Floats]) -> Floats:
    if attribute.name not in priors:
        return np.full(attribute.size, 1 / attribute.size)
    given = np.asarray(priors[attribute.name], dtype=float)
    if given.shape != (attribute.size,):
        raise DeniableError(
            f"the prior of {attribute.name!r} has {given.size} probabilities; allowed: one for "
            f"each of its {attribute.size} categories"
        )
    return given
