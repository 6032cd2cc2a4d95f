"""Two-way tables of all pairs of attributes, from a protected file and its matrices.

[multirr] takes attributes of different clusters as independent. But each cluster went through its
own matrix, so that the product of both has an inverse: an unbiased estimate of every pair's joint
distribution, from the same reports, at the same epsilon. What it costs is variance.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from deniable.arrays import Counts, Floats, Positions
from deniable.channels import KeepOrReplace
from deniable.estimation import (
    Part,
    Reduced,
    combined,
    euclidean_projection,
    unbiased_pair_part,
    unbiased_part,
)
from deniable.pram import Block, StratifiedProtocol, label
from deniable.randomized_response import reports_categories, shrunk_joint
from deniable.records import Domain, Microdata
from deniable.release import CategoricalRelease, marked
from deniable.release.categorical.estimates import estimate, indicators_of, interval_columns

COLUMNS = (
    *("attributes", "categories", "one_cluster", "stratum", "records", "reported", "estimate"),
    *("standard_error_file", "ci_low_file", "ci_high_file"),
    *("standard_error_population", "ci_low_population", "ci_high_population", "shrunk"),
)


def estimated(release: CategoricalRelease, made: Mapping[str, Any]) -> dict[str, pd.DataFrame]:
    """Return the estimates of a `release`, from the ``release`` and ``protected`` file it `made`.

    Those of attributes and clusters, and those of all pairs of attributes.
    """
    protocol, reports = StratifiedProtocol.from_json(made["release"]), made["protected"]
    tables = {"estimates": estimate(protocol, reports), "pairs": estimate_pairs(protocol, reports)}
    return {name: marked(table, release, reports) for name, table in tables.items()}


@dataclass(frozen=True, eq=False)
class _Reports:
    """The reports of a block in one stratum: each record's, of so many, and the block's matrix."""

    domain: Domain
    cells: Positions
    number: int
    reduced: Reduced

    def indicators(self, names: Block) -> Floats:
        """Return which cells each category, or pair of them, is the sum of."""
        return indicators_of(self.domain, names)


@dataclass(frozen=True, eq=False)
class _PairOfReports:
    """What one stratum's reports say of two attributes, of one block or of two."""

    names: tuple[str, str]
    first: _Reports
    second: _Reports

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of categories of either attribute."""
        one, other = self.names
        return self.first.domain[one].size, self.second.domain[other].size

    @cached_property
    def counts(self) -> Counts:
        """Of the block's reports, or of the reports of both blocks, shape (first, second)."""
        width = self.second.number
        if self.first is self.second:
            return np.bincount(self.first.cells, minlength=width)
        joint = self.first.cells * width + self.second.cells
        return np.bincount(joint, minlength=self.first.number * width).reshape(-1, width)

    @cached_property
    def sides(self) -> tuple[Floats, Floats]:
        """Which cells of its own block each category of either attribute is the sum of."""
        one, other = self.names
        return self.first.indicators((one,)), self.second.indicators((other,))

    @cached_property
    def part(self) -> Part:
        """The unbiased estimate of the two-way table, flat; NaN through a singular matrix."""
        if self.first is self.second:
            return unbiased_part(self.first.reduced, self.counts, self.first.indicators(self.names))
        return unbiased_pair_part(
            (self.first.reduced, self.second.reduced), self.counts, self.sides
        )

    @property
    def reported(self) -> Floats:
        """The shares of reports, flat; NaN where they are of other things than categories."""
        if not all(reports_categories(x.reduced.channel) for x in (self.first, self.second)):
            return np.full(self.part.values.shape, np.nan)
        if self.first is self.second:
            found = self.first.indicators(self.names) @ self.counts
        else:
            found = (self.sides[0] @ self.counts @ self.sides[1].T).reshape(-1)
        return np.asarray(found / self.counts.sum())

    @property
    def shrunk(self) -> Floats:
        """The estimate pulled towards independence by its noise, the nearest distribution, flat."""
        joint = self.part.values.reshape(self.shape)
        if np.isnan(joint).any():
            return self.part.values
        pulled = shrunk_joint(joint, self._noise(joint)).estimate
        return euclidean_projection(pulled.reshape(-1))

    def _noise(self, joint: Floats) -> float:
        """Estimate the total variance of the joint minus the product of its margins t and u.

        To leading order that is the mean over records of h = s - t v' - w u' + t u', where s, w and
        v are what a record's reports say of the pair and of either attribute: in expectation the
        indicators of what is true.
        """
        t, u = joint.sum(axis=1), joint.sum(axis=0)
        if self.first is self.second:
            scores = self.first.reduced.solve(self.first.indicators(self.names))
            s = scores.reshape(*self.shape, -1)
            w, v = s.sum(axis=1), s.sum(axis=0)
            h = s - t[:, None, None] * v - u[:, None] * w[:, None] + (t[:, None] * u)[..., None]
            told = float((h**2).sum(axis=(0, 1)) @ self.counts)
        else:
            sides = zip((self.first, self.second), self.sides, (t, u), strict=True)
            one, other = (
                ((each.reduced.solve(own) - margin[:, None]) ** 2).sum(axis=0)
                for each, own, margin in sides
            )
            told = float(one @ self.counts @ other)
        records = float(self.counts.sum())
        true = [1 - 2 * margin + np.sum(margin**2) for margin in (t, u)]
        return max(told / records - float(true[0] @ joint @ true[1]), 0.0) / records


def estimate_pairs(protocol: StratifiedProtocol, reports: Microdata) -> pd.DataFrame:
    """Estimate the joint distribution of every pair of attributes from `reports` by a `protocol`.

    A row a cell, for the whole file and for each stratum: ``attributes`` and ``categories`` (joined
    by " x "), ``one_cluster`` (whether they are of one cluster; stratum attributes, which are
    reported as they are, are with any), ``stratum``, ``records``, ``reported``, ``estimate``
    (unbiased: may leave [0, 1]) with standard errors and intervals for the targets "file" and
    "population" as in `deniable.release.categorical.estimates.estimate`, and ``shrunk``: a proper
    distribution, the estimate pulled towards independence by the share of it that is noise. Empty
    where a matrix is singular.
    """
    strata = [
        (label(stratum), _by_attribute(protocol, reports, stratum, rows))
        for stratum, rows in protocol.parts(reports)
    ]
    tables = []
    for one, other in combinations(protocol.domain.names, 2):
        pair, randomized = (one, other), {one, other} - set(protocol.strata)
        found = {name: _PairOfReports(pair, each[one], each[other]) for name, each in strata}
        about = {
            "attributes": " x ".join(pair),
            "categories": protocol.domain.project(pair).cell_labels(),
            "one_cluster": any(randomized <= set(block) for block in protocol.blocks),
        }
        together = {"": list(found.values())} | {n: [own] for n, own in found.items() if n}
        for name, own in together.items():
            tables.append(pd.DataFrame(about | {"stratum": name} | _columns(own)))
    # A single attribute has no pairs.
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=list(COLUMNS))


def _columns(pairs: list[_PairOfReports]) -> dict[str, Any]:
    """Return the estimates of strata together: sums weighted by the strata's shares."""
    whole = combined([pair.part for pair in pairs])
    shared, nothing = [(pair.part.records / whole.records, pair) for pair in pairs], np.zeros(())
    reported = sum((share * pair.reported for share, pair in shared), nothing)
    shrunk = sum((share * pair.shrunk for share, pair in shared), nothing)
    columns = {"records": whole.records, "reported": reported, "estimate": whole.values}
    return columns | interval_columns(whole) | {"shrunk": shrunk}


def _by_attribute(
    protocol: StratifiedProtocol, reports: Microdata, stratum: tuple[str, ...], rows: Positions
) -> dict[str, _Reports]:
    """Return the reports of each attribute's block; a stratum attribute goes through as it is."""
    found: dict[str, _Reports] = {}
    for block in (*protocol.blocks, *((name,) for name in protocol.strata)):
        domain = protocol.domain.project(block)
        if block[0] in protocol.strata:
            own = reports.project(block)
            reduced = Reduced.of(KeepOrReplace(1.0, np.zeros(domain.size)), invariant=False)
        else:
            sent = protocol.protocols[stratum]
            own = reports.project(sent.reported_as(block).names)
            reduced = Reduced.of(sent.channel_of(block), invariant=protocol.invariant)
        cells = own.domain.ravel([column[rows] for column in own.columns]).astype(np.intp)
        found |= dict.fromkeys(block, _Reports(domain, cells, own.domain.size, reduced))
    return found
