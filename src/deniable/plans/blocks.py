"""What goes through one channel, and how far off estimates from its reports are expected to be."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from deniable.arrays import Floats
from deniable.channels import Channel
from deniable.errors import DeniableError
from deniable.records import Attribute, Domain

MAX_CLUSTER = 4096
"""Cells of a cluster: one dense matrix."""
MAX_THRESHOLDS = 100
NEARLY_NONE = 1e-9  # as a share of nobody counts, so that each report tells of somebody


@dataclass(frozen=True, eq=False)
class Block:
    """Attributes whose joint cells go through one channel.

    Parameters
    ----------
    part : Domain
    points : mapping of str to int
        How many points the grids of the numeric ones have.
    prior : array, shape (cells,)
        The distribution that errors are expected at.
    categories_only : bool
        Whether reports must be categories, so that columns and types stay as they are.
    beyond : bool
        Whether a number can all the same be reported beyond the bounds of its grid.
    """

    part: Domain
    points: Mapping[str, int]
    prior: Floats
    categories_only: bool = False
    beyond: bool = True

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the attributes."""
        return self.part.names

    @property
    def label(self) -> str:
        """Names of the attributes, as tables have them."""
        return " x ".join(self.names)

    @property
    def on_a_grid(self) -> bool:
        """Whether it is one number, never missing, so that noise can be added to it."""
        return self.number and self.part.size == self.points[self.names[0]]

    @property
    def number(self) -> bool:
        """Whether it is one number, which may be missing."""
        return self.names == (*self.points,)

    @cached_property
    def fitting_prior(self) -> Floats:
        """The prior, with nearly nobody where there is nobody."""
        return np.asarray((self.prior + NEARLY_NONE) / (self.prior + NEARLY_NONE).sum())

    def shares(self, names: Sequence[str]) -> Floats:
        """Return the shares that a table of attributes, `names`, is made of, shape (cells, shares).

        A column has 1 for the cells that the share is of. Of a category it is its share; of a
        number the share of all at or below a point, for at most `MAX_THRESHOLDS` points.
        """
        weights = (
            np.ones((each.size, 1))
            if each.name not in names
            else _grid_shares(each, self.points[each.name])
            if each.name in self.points
            else np.eye(each.size)
            for each in self.part
        )
        return reduce(_kron, weights)

    def second_moments(self, channel: Channel, names: Sequence[str]) -> float:
        """Return the sum over `shares` of `names` of the second moments of one report's estimates.

        Raises `DeniableError` if nothing can be estimated through the `channel`.
        """
        channel.refuse_singular()
        fitted = channel.of_least_variance(self.fitting_prior)
        reported = fitted.reported(self.prior)
        if set(names) == set(self.names) and not self.points:
            return float(fitted.second_moments(reported).sum())
        scores = fitted.solve(np.ascontiguousarray(self.shares(names).T))
        return float((scores**2).sum(axis=0) @ reported)

    def error(self, channel: Channel) -> float:
        """Return n times the mean variance of estimated shares that a `channel` adds.

        Estimates are those of the inverse of least variance; see `deniable.channels.Inverse`.
        """
        table = AskedTable.of([self], self.names)
        return table.excess({(0, self.names): self.second_moments(channel, self.names)})

    def number_of_shares(self, names: Sequence[str]) -> int:
        """Return how many `shares` of a table of attributes, `names`, are this block's."""
        asked = (each for each in self.part if each.name in names)
        return math.prod(
            _grid_shares(each, self.points[each.name]).shape[1]
            if each.name in self.points
            else each.size
            for each in asked
        )

    def held(self, names: Sequence[str]) -> float:
        """Return in how many of the `shares` of `names` somebody is, on average."""
        each_in = (
            _grid_shares(each, self.points[each.name]).sum(axis=1)
            if each.name in names and each.name in self.points
            else np.ones(each.size)
            for each in self.part
        )
        return float(self.prior @ reduce(_kron, each_in))


Part = tuple[int, tuple[str, ...]]
"""The number of a block, and which of its attributes a table has."""


@dataclass(frozen=True)
class AskedTable:
    """A table that will be estimated, in parts of it that are blocks' own.

    Parameters
    ----------
    names : tuple of str
    parts : tuple of pairs of a block's number and names
    held : float
        In how many of its shares somebody is, on average.
    shares : int
        How many it is made of; see `Block.shares`.
    """

    names: tuple[str, ...]
    parts: tuple[Part, ...]
    held: float
    shares: int

    @classmethod
    def of(cls, blocks: Sequence[Block], names: Sequence[str]) -> "AskedTable":
        """Return the table of some attributes, `names`, of the `blocks`."""
        own = [tuple(name for name in block.names if name in names) for block in blocks]
        parts = tuple((number, part) for number, part in enumerate(own) if part)
        return cls(
            tuple(names),
            parts,
            math.prod(blocks[number].held(part) for number, part in parts),
            math.prod(blocks[number].number_of_shares(part) for number, part in parts),
        )

    def excess(self, moments: Mapping[Part, float]) -> float:
        """Return n times the mean variance that randomization adds to the table's shares.

        Closed form, from the `Block.second_moments` of its parts (`moments`): the mean of the
        diagonal of D' diag(lambda) D - diag(pi), with D that of the product of the blocks'
        channels. Within a block the distribution is the one given; blocks are taken as independent
        of each other.
        """
        return max(math.prod(moments[part] for part in self.parts) - self.held, 0.0) / self.shares


def blocks_of(
    domain: Domain,
    points: Mapping[str, int],
    clusters: Sequence[Sequence[str]],
    categories_only: Callable[[tuple[str, ...]], bool],
    priors: Mapping[str, Floats],
    beyond: Callable[[str], bool] = lambda _: True,
) -> tuple[Block, ...]:
    """Return the blocks, clusters and all other attributes by themselves, in the file's order.

    Parameters
    ----------
    domain : Domain
    points : mapping of str to int
        How many points the grids of the numeric attributes have.
    clusters : sequence of sequences of names
    categories_only, beyond : callable
        What `Block` says of a block's names, and of each number's name.
    priors : mapping of str to array
        By attribute; those that are not there are uniform.

    Raises
    ------
    DeniableError
        If an attribute is unknown or in two clusters, a cluster has over `MAX_CLUSTER` cells,
        or a prior does not fit.
    """
    own: dict[str, tuple[str, ...]] = {}
    for cluster in clusters:
        names = tuple(sorted(dict.fromkeys(cluster), key=domain.position))
        for name in names:
            if name in own:
                raise DeniableError(f"{name!r} is in two clusters; allowed: in one at most")
            own[name] = names
        if domain.project(names).size > MAX_CLUSTER:
            raise DeniableError(
                f"the cluster {' x '.join(names)} has {domain.project(names).size:,} cells; "
                f"allowed: {MAX_CLUSTER:,}"
            )
    parts = dict.fromkeys(own.get(name, (name,)) for name in domain.names)
    return tuple(
        Block(
            part := domain.project(names),
            {name: points[name] for name in names if name in points},
            reduce(_kron, [_prior(each, priors) for each in part]),
            categories_only(names),
            all(beyond(name) for name in names if name in points),
        )
        for names in parts
    )


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


def _grid_shares(attribute: Attribute, points: int) -> Floats:
    """Return who is at or below points, at most `MAX_THRESHOLDS` evenly spaced; or is missing."""
    number = min(points - 1, MAX_THRESHOLDS)
    thresholds = np.arange(1, number + 1) * points // (number + 1) - 1
    cells = np.arange(attribute.size)
    weights = cells[:, None] <= thresholds
    missing = cells >= points
    return np.column_stack([weights & ~missing[:, None], *[missing] * bool(missing.any())]).astype(
        float
    )


def _kron(left: Floats, right: Floats) -> Floats:
    return np.asarray(np.kron(left, right))
