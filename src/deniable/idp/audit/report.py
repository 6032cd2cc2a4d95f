"""The audit of [idp]: what its methods claim, and what is so.

Units, and what is claimed of each when a record has the budget epsilon over m attributes:

- *centroid*: one noisy centroid alone, epsilon / m.
- *attribute*: all noisy centroids of an attribute, epsilon / m by parallel composition; for
  ``all attributes`` together epsilon by sequential composition.
- *record*: the released records, epsilon.

Readings: *scale frozen* (Definition 3 with the scale held fixed at the actual data set) and *as it
runs* (the algorithm on both data sets, each with its own scales). Clusters are *formed anew* for
each neighbour, or *fixed*: each record keeps its cluster whatever its value, which is what the
paper's proofs look at and no ranking does.

All bounds are over neighbours of the actual file, in both directions: Definition 3 asks no more.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from deniable.arrays import Floats
from deniable.idp import Masking, Ranking, masking
from deniable.idp.audit.changes import Centroid, Cut, Moves
from deniable.idp.audit.losses import (
    AsItRuns,
    FrozenScale,
    Losses,
    Method,
    losses_of_clusters_formed_anew,
    losses_within_fixed_clusters,
)
from deniable.idp.audit.partition import refutation_by_a_full_shift, shown_when_shuffled

METHODS: tuple[Method, ...] = get_args(Method)
FROZEN, AS_IT_RUNS = "scale frozen", "as it runs"
FIXED, ANEW = "fixed", "formed anew"
ALL = "all attributes"
CLAIM_TOLERANCE = 1e-9
Kind = Literal["exact", "lower bound"]
COLUMNS = (
    "dataset",
    "method",
    "reading",
    "unit",
    "k",
    "claimed_epsilon",
    "exact_or_lower_bound",
    "kind",
    "holds",
    "epsilon",
    "domain_factor",
    "domain",
    "clusters",
    "attribute",
    "times_claimed",
    "records_beyond",
    "delta",
    "note",
)
"""Of the audit: the contract's, then what else names a row and what is worth knowing of it.

``attribute`` is the worst one. ``records_beyond`` is the share of records whose own change spends
more than is claimed. ``delta`` is the probability that a release refutes the neighbour outright.
``holds`` is empty where a lower bound does not exceed the claim.
"""


@dataclass(frozen=True, eq=False)
class AuditedFile:
    """A file of numeric records and the domains that its methods are given.

    Attributes
    ----------
    dataset : str
    names : sequence of str
        Of the attributes.
    ranking : Ranking
    upper : array, shape (attributes,)
    domain_factor : float
        What `upper` was made with.
    """

    dataset: str
    names: Sequence[str]
    ranking: Ranking
    upper: Floats
    domain_factor: float

    @property
    def columns(self) -> Floats:
        """The values, shape (records, attributes)."""
        ranking = self.ranking
        return np.take_along_axis(ranking.values, ranking.positions, axis=1).T

    def of_all_attributes(self, losses: Sequence[Losses]) -> Floats:
        """Return the loss of each record that changes in all attributes at once, (records,).

        Its new values can be chosen apart from each other and noises are independent: the largest
        losses of the attributes add up.
        """
        positions = self.ranking.positions
        return np.asarray(
            sum(own.of_records[where] for own, where in zip(losses, positions, strict=True))
        )


@dataclass(frozen=True, eq=False)
class ClusteredFile:
    """A file cut into clusters, for all methods and budgets.

    Attributes
    ----------
    file : AuditedFile
    k : int
        1 for ``dp``, which forms no clusters.
    """

    file: AuditedFile
    k: int

    @cached_property
    def _cuts(self) -> list[Cut]:
        pairs = zip(self.file.ranking.values, self.file.upper, strict=True)
        return [Cut(values, self.k, float(upper)) for values, upper in pairs]

    @cached_property
    def _moves(self) -> dict[Centroid, list[Moves]]:
        return {kind: [Moves(cut, kind) for cut in self._cuts] for kind in get_args(Centroid)}

    def moves(self, method: Method) -> list[Moves]:
        """Return what a record's change does to each attribute."""
        return self._moves[centroid_of(method)]

    def shipped(self, method: Method, epsilon: float) -> Masking:
        """Return centroids and scales of the mechanism that ships."""
        prose = method == "idp_cbls_prose"
        return masking(
            "idp_cbls" if method == "idp_cbls_prose" else method,
            self.file.ranking,
            self.k,
            self.file.upper,
            epsilon,
            reading="prose" if prose else "exact",
        )

    def frozen_losses(self, method: Method) -> dict[str, list[Losses]]:
        """Return the losses of each attribute at epsilon 1, scales held fixed, by clusters.

        They are proportional to epsilon.
        """
        losses = [FrozenScale(scales) for scales in self.shipped(method, 1.0).scales]
        pairs = list(zip(self.moves(method), losses, strict=True))
        found = {FIXED: [losses_within_fixed_clusters(moves, loss) for moves, loss in pairs]}
        if method != "dp":
            found[ANEW] = [losses_of_clusters_formed_anew(moves, loss) for moves, loss in pairs]
        return found

    def losses_as_it_runs(self, method: Method, epsilon: float) -> list[Losses]:
        """Return losses with each neighbour's own scales: attained, not always the largest."""
        shipped = self.shipped(method, epsilon)
        parts = zip(shipped.centres, shipped.scales, shipped.epsilons.tolist(), strict=True)
        return [
            losses_of_clusters_formed_anew(moves, AsItRuns(method, moves.cut, *part))
            for moves, part in zip(self.moves(method), parts, strict=True)
        ]


def centroid_of(method: Method) -> Centroid:
    """Return which centroid a method gives noise to."""
    return "preprocessed" if method.startswith("idp_cbls") else "mean"


def holds(claimed: float, found: float, kind: Kind) -> bool | None:
    """Return whether a claim holds; None if a lower bound decides nothing."""
    within = found <= claimed * (1 + CLAIM_TOLERANCE)
    return (True if kind == "exact" else None) if within else False


def audit_file(
    file: AuditedFile,
    ks: Sequence[int],
    epsilons: Sequence[float],
    methods: Sequence[Method] = METHODS,
    *,
    as_it_runs: bool = True,
) -> pd.DataFrame:
    """Audit every method on a file.

    Parameters
    ----------
    file : AuditedFile
    ks : sequence of int
        Least sizes of clusters, at least 3.
    epsilons : sequence of float
        Claimed for a record.
    methods : sequence of str
    as_it_runs : bool
        Whether to look at the second reading too, which takes most of the time.

    Returns
    -------
    DataFrame
        The columns `COLUMNS`.
    """
    rows: list[dict[str, Any]] = []
    if "dp" in methods:
        rows += _rows(ClusteredFile(file, 1), "dp", epsilons, as_it_runs)
    for k in ks:
        clustered = ClusteredFile(file, k)
        for method in methods:
            if method != "dp":
                rows += _rows(clustered, method, epsilons, as_it_runs)
    return as_table(rows)


def as_table(rows: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Return rows of the audit as a table of the columns `COLUMNS`."""
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    return table.astype({"holds": "boolean", "k": "Int64"})


def _rows(
    clustered: ClusteredFile, method: Method, epsilons: Sequence[float], as_it_runs: bool
) -> Iterator[dict[str, Any]]:
    frozen = clustered.frozen_losses(method)
    for epsilon in epsilons:
        page = Page(clustered, method, epsilon)
        for clusters, losses in frozen.items():
            yield from page.of_losses(losses, FROZEN, clusters, "exact", epsilon)
        if method != "dp":
            yield page.of_records(FROZEN)
            yield page.of_shuffled_records()
        if not as_it_runs or method == "idp_cbls_prose":  # which fails the first reading already
            continue
        if method in {"dp", "dp_um"}:  # their scales are the same on all files of this size
            losses = frozen[FIXED if method == "dp" else ANEW]
            clusters = FIXED if method == "dp" else ANEW
            yield from page.of_losses(losses, AS_IT_RUNS, clusters, "exact", epsilon)
        else:
            own = clustered.losses_as_it_runs(method, epsilon)
            yield from page.of_losses(own, AS_IT_RUNS, ANEW, "lower bound", 1.0)
        if method != "dp":
            yield page.of_records(AS_IT_RUNS)
        yield page.of_data_driven_domain()


@dataclass(frozen=True, eq=False)
class Page:
    """Writes the rows of one method at one budget.

    Attributes
    ----------
    clustered : ClusteredFile
    method : str
    epsilon : float
    """

    clustered: ClusteredFile
    method: Method
    epsilon: float

    @property
    def of_attribute(self) -> float:
        """What is claimed of one attribute."""
        return self.epsilon / self.clustered.file.ranking.attributes

    def of_losses(
        self, losses: Sequence[Losses], reading: str, clusters: str, kind: Kind, times: float
    ) -> Iterator[dict[str, Any]]:
        """Yield the rows of centroids, attributes and, for clusters that are fixed, records."""
        claimed, names = self.of_attribute, self.clustered.file.names
        single = [float(own.of_centroids.max()) * times for own in losses]
        whole = [float(own.of_records.max()) * times for own in losses]
        together = self.clustered.file.of_all_attributes(losses) * times
        for unit, found in (("centroid", single), ("attribute", whole)):
            worst = int(np.argmax(found))
            beyond = np.nan
            if unit == "attribute":
                own = losses[worst].of_records * times
                beyond = float((own > claimed * (1 + CLAIM_TOLERANCE)).mean())
            yield self.row(
                reading, unit, claimed, found[worst], kind, clusters, names[worst], beyond
            )
        beyond = float((together > self.epsilon * (1 + CLAIM_TOLERANCE)).mean())
        # Values of clusters that nobody can leave tell what their centroids tell, and no more.
        units = ("attribute", "record") if clusters == FIXED else ("attribute",)
        for unit in units:
            yield self.row(
                reading, unit, self.epsilon, float(together.max()), kind, clusters, ALL, beyond
            )

    def of_records(self, reading: str) -> dict[str, Any]:
        """Return the row of released records whose clusters are formed anew."""
        names = self.clustered.file.names
        shipped = self.clustered.shipped(self.method, self.epsilon)
        deltas = [
            refutation_by_a_full_shift(centres, scales, float(upper))
            for centres, scales, upper in zip(
                shipped.centres, shipped.scales, shipped.upper, strict=True
            )
        ]
        worst = int(np.argmax(deltas))
        found = np.inf if deltas[worst] > 0 else 0.0
        return self.row(
            reading,
            "record",
            self.epsilon,
            found,
            "exact" if np.isinf(found) else "lower bound",
            ANEW,
            names[worst],
            delta=deltas[worst],
            note="the partition into clusters is released",
        )

    def of_shuffled_records(self) -> dict[str, Any]:
        """Return the row of records that are released in random order."""
        clustered = self.clustered
        shown = shown_when_shuffled(
            clustered.file.columns,
            clustered.k,
            centroid_of(self.method),
            clustered.shipped(self.method, self.epsilon).scales,
            float(clustered.file.upper[0]),
        )
        return self.row(
            FROZEN,
            "record",
            self.epsilon,
            np.inf if shown else 0.0,
            "lower bound",
            ANEW,
            clustered.file.names[0],
            note="records in random order: how many of them two clusters share is released",
        )

    def of_data_driven_domain(self) -> dict[str, Any]:
        """Return the row of a domain that is a multiple of the largest value.

        A record above the largest raises U. What is clipped to the old U has positive probability
        on the file and none on the neighbour, whose values pass through the old U at single points
        with probability 0. Clusters without noise aside, every method does clip.
        """
        shipped = self.clustered.shipped(self.method, self.epsilon)
        clips = bool((shipped.scales > 0).any())
        return self.row(
            AS_IT_RUNS,
            "record",
            self.epsilon,
            np.inf if clips else 0.0,
            "exact" if clips else "lower bound",
            FIXED if self.method == "dp" else ANEW,
            ALL,
            domain="from the data",
            note="values clipped to U show U, which the largest value made",
        )

    def row(
        self,
        reading: str,
        unit: str,
        claimed: float,
        found: float,
        kind: Kind,
        clusters: str,
        attribute: str,
        beyond: float = np.nan,
        *,
        delta: float = np.nan,
        domain: str = "public",
        note: str = "",
    ) -> dict[str, Any]:
        """Return one row. A lower bound that is infinite is exact."""
        kind = "exact" if np.isinf(found) else kind
        return {
            "dataset": self.clustered.file.dataset,
            "method": self.method,
            "reading": reading,
            "unit": unit,
            "k": None if self.method == "dp" else self.clustered.k,
            "claimed_epsilon": claimed,
            "exact_or_lower_bound": found,
            "kind": kind,
            "holds": holds(claimed, found, kind),
            "epsilon": self.epsilon,
            "domain_factor": self.clustered.file.domain_factor,
            "domain": domain,
            "clusters": "none" if self.method == "dp" else clusters,
            "attribute": attribute,
            "times_claimed": found / claimed,
            "records_beyond": beyond,
            "delta": delta,
            "note": note,
        }
