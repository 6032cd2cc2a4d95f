"""Distinct randomized values of the columns of a regression, and their unbiased scores."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from deniable.arrays import Floats
from deniable.channels import Inverse
from deniable.errors import DeniableError
from deniable.records import Domain
from deniable.responses import MAX_ENTRIES, Answers, cells_of, factors, sums_of_scores


@dataclass(frozen=True, eq=False)
class Group:
    """Records with the same channels of all columns, as their distinct randomized values."""

    parts: list[Answers]  # with codes of the distinct values
    own: list[Domain]  # the columns of the regression in each part
    sums: Floats  # records, weights and squared weights by value, shape (3, values)

    @property
    def domain(self) -> Domain:
        """The columns of the regression, in the order of the parts."""
        return Domain(tuple(each for own in self.own for each in own))


def groups_of(
    answers: Sequence[Answers], weights: Floats | None, names: Sequence[str], inverse: Inverse
) -> list[Group]:
    """Return the records that have randomized values of all columns `names`, in groups.

    The `answers` and `weights` are as in `deniable.responses.Responses.answers`, and the `inverse`
    is as in `deniable.channels.Inverse`. Raises `DeniableError` if no record has all columns.
    """
    parts = [each for each in answers if set(each.cells.names) & set(names)]
    kinds, kind = np.unique([each.codes >= 0 for each in parts], axis=1, return_inverse=True)
    groups = []
    for number, flags in enumerate(kinds.T):
        inside = [each for each, flag in zip(parts, flags, strict=True) if flag]
        if set(names) <= {name for each in inside for name in each.cells.names}:
            rows = np.flatnonzero(kind.reshape(-1) == number)
            codes = np.array([each.codes[rows] for each in inside])
            codes, place = np.unique(codes, axis=1, return_inverse=True)
            counts = np.ones(rows.size) if weights is None else weights[rows]
            powers = (counts**power for power in range(3))
            sums = np.array([np.bincount(place.reshape(-1), power) for power in powers])
            for at, (each, own) in enumerate(zip(inside, codes, strict=True)):
                reports = np.bincount(own, sums[1], each.channel.reports)
                fitted = each.channel.fitted_to(reports, inverse)
                inside[at] = replace(each, codes=own, channel=fitted)
            own = [e.cells.project([n for n in e.cells.names if n in names]) for e in inside]
            groups.append(Group(inside, own, sums))
    if not groups:
        raise DeniableError(
            f"no record has randomized values of all of {', '.join(names)}; name columns that were "
            "asked together"
        )
    return groups


class CellScores:
    """Unbiased scores of the joint cells of a `domain`, from the records of `groups`.

    The score of a randomized value of a part is its row of the left inverse of the channel. Parts
    are independent given the original record, so products of scores are unbiased too.
    """

    def __init__(self, groups: Sequence[Group], domain: Domain) -> None:
        self._sources = [
            (group, cells_of(group.domain, domain), [*map(_matrix, group.parts, group.own)])
            for group in groups
        ]
        self._cells = domain.size

    def sums(self, power: int) -> Floats:
        """Return the sum of scores times weights to the `power`, shape (cells,)."""
        found = np.zeros(self._cells)
        for group, place, matrices in self._sources:
            codes = [part.codes for part in group.parts]
            found[place] += sums_of_scores(matrices, codes, group.sums[power]).reshape(-1)
        return found

    def expected(self, functions: Floats) -> Iterator[tuple[Group, Floats]]:
        """Yield for each group the unbiased values of `functions` of the original cells.

        The `functions` have the shape (cells, functions), and the values (functions, values).
        """
        for group, place, matrices in self._sources:
            found = np.empty((functions.shape[1], group.sums.shape[1]))
            for at, left, right in factors(matrices, [part.codes for part in group.parts]):
                for row, function in zip(found, functions[place].T, strict=True):
                    row[at] = (left * (function.reshape(len(left), -1) @ right)).sum(axis=0)
            yield group, found


def _matrix(part: Answers, own: Domain) -> Floats:
    """Return the score of each randomized value of a `part` for each cell of its `own` columns."""
    if (entries := own.size * max(part.cells.size, part.channel.reports)) > MAX_ENTRIES:
        raise DeniableError(
            f"{', '.join(own.names)} need a matrix of {entries:,} entries, and at most "
            f"{MAX_ENTRIES:,} are allowed; name fewer columns"
        )
    return part.channel.solve(np.eye(own.size)[:, cells_of(part.cells, own)])
