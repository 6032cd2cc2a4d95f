"""Distinct randomized values of the columns of a regression, and their unbiased scores."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from deniable.arrays import Codes, Floats
from deniable.channels import Inverse
from deniable.errors import DeniableError
from deniable.records import Domain
from deniable.regression.formulas import refusal
from deniable.responses import MAX_ENTRIES, Answers, cells_of, factors, sums_of_scores


@dataclass(frozen=True, eq=False)
class Group:
    """Records with the same channels of all columns, as their distinct randomized values.

    The score of a randomized value of a part is its row of the left inverse of the channel. Parts
    are independent given the original record, so products of scores are unbiased too.
    """

    parts: list[Answers]  # with codes of the distinct values
    own: list[Domain]  # the columns of the regression in each part
    sums: Floats  # records, weights and squared weights by value, shape (3, values)

    @property
    def domain(self) -> Domain:
        """The columns of the regression, in the order of the parts."""
        return Domain(tuple(each for own in self.own for each in own))

    @cached_property
    def _scores(self) -> tuple[list[Floats], list[Codes]]:
        """The scores of each part, shape (cells of its own columns, reports), and its codes."""
        found = []
        for part, own in zip(self.parts, self.own, strict=True):
            if (entries := own.size * max(part.cells.size, part.channel.reports)) > MAX_ENTRIES:
                raise DeniableError(
                    f"{', '.join(own.names)} need a matrix of {entries:,} entries, and at most "
                    f"{MAX_ENTRIES:,} are allowed; name fewer columns"
                )
            found.append(part.channel.solve(np.eye(own.size)[:, cells_of(part.cells, own)]))
        return found, [part.codes for part in self.parts]

    def sum_of_scores(self, domain: Domain, power: int) -> Floats:
        """Return the sum of scores times weights to the `power`, in the cells of a `domain`."""
        sums = sums_of_scores(*self._scores, self.sums[power])
        return sums.reshape(-1)[cells_of(domain, self.domain)]

    def expected(self, domain: Domain, functions: Floats) -> Floats:
        """Return the unbiased values of `functions` of the cells of a `domain`.

        The `functions` have the shape (cells, functions), and the result (functions, values).
        """
        found = np.empty((functions.shape[1], self.sums.shape[1]))
        own = functions[cells_of(self.domain, domain)].T
        for at, left, right in factors(*self._scores):
            for row, function in zip(found, own, strict=True):
                row[at] = (left * (function.reshape(len(left), -1) @ right)).sum(axis=0)
        return found


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


class Fit(NamedTuple):
    """Estimated `coefficients`, shape (equations, terms), and their `covariance`.

    They are from this number of `records`.
    """

    coefficients: Floats
    covariance: Floats
    records: int


def fit_of(beta: Floats, info: Floats, meat: Floats, groups: Sequence[Group]) -> Fit:
    """Return the coefficients `beta` with their sandwich covariance, from records of `groups`.

    The `info` is the information, and `meat` is the sum of squared scores. Raises `NoAnswerError`
    if there are too few records.
    """
    records = sum(int(group.sums[0].sum()) for group in groups)
    if records <= beta.size:
        raise refusal(f"{records} records are too few for {beta.size} coefficients")
    bread = np.linalg.inv(info)
    return Fit(beta, bread @ meat @ bread, records)
