"""Audit [idp]: compare claimed and exact epsilons of its methods.

A record has the budget epsilon over m attributes. The units and their claims are

- *centroid*: one noisy centroid alone, epsilon / m.
- *attribute*: all noisy centroids of an attribute, epsilon / m by parallel composition; for ``all
  attributes`` together epsilon by sequential composition.
- *record*: the released records, epsilon.

Interpretations are *scale frozen* (Definition 3 with the scale of the actual data set) and *as it
runs* (the algorithm on both data sets, each with its own scales). Clusters are formed for each
neighbour (`RECLUSTERED`), or *fixed*: each record keeps its cluster for all values. The paper's
proofs assume fixed clusters, but no ranking keeps them. *Scale frozen* and *fixed* is the most
favourable interpretation. Every claim holds under it, conditional on both, but not for the release.

All bounds are over neighbours of the actual file, in both directions, as in Definition 3.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from deniable.arrays import Floats
from deniable.idp import Masking, Ranking, masking
from deniable.idp.audit.losses import (
    Cut,
    Losses,
    Moves,
    losses_of_clusters_formed_anew,
    losses_within_fixed_clusters,
    with_frozen_scales,
    with_own_scales,
)
from deniable.idp.audit.partition import refutation_by_a_full_shift, shown_when_shuffled
from deniable.idp.methods import Centroid, Variant, centroid_of

VARIANTS: tuple[Variant, ...] = get_args(Variant)
FIXED_SCALE, RECOMPUTED_SCALE = "scale frozen", "as it runs"
FIXED, RECLUSTERED = "fixed", "recomputed"
ALL = "all attributes"
OF_FIXED_CLUSTERS = "conditional on scale and partition: no guarantee about the release"
CLAIM_TOLERANCE = 1e-9
Kind = Literal["exact", "lower bound"]
COLUMNS = (
    *("dataset", "method", "reading", "unit", "k"),
    *("claimed_epsilon", "exact_or_lower_bound", "kind", "holds"),
    *("epsilon", "domain_factor", "domain", "clusters", "attribute"),
    *("times_claimed", "records_beyond", "delta", "note"),
)
"""Columns of the audit.

``attribute`` is the worst attribute. ``records_beyond`` is the proportion of records with a loss
above the claim. ``delta`` is the probability that a release refutes the neighbour. ``holds`` is
empty if a lower bound does not exceed the claim.
"""


@dataclass(frozen=True, eq=False)
class AuditedFile:
    """A file of numeric records, named `dataset`, and the domains of its attributes, `names`.

    The `values` have the shape (records, attributes). The upper ends of the domains, `upper`, shape
    (attributes,), are computed with the `domain_factor`.
    """

    dataset: str
    names: Sequence[str]
    values: Floats
    upper: Floats
    domain_factor: float

    @cached_property
    def ranking(self) -> Ranking:
        """The ranked records."""
        return Ranking.of(self.values)

    def of_all_attributes(self, losses: Sequence[Losses]) -> Floats:
        """Return the loss of each record if all its attributes change at once, shape (records,).

        `losses` has one item per attribute. New values of attributes can be chosen separately and
        noise is independent, so the largest losses of the attributes add up.
        """
        positions = self.ranking.positions
        return np.asarray(
            sum(own.of_records[where] for own, where in zip(losses, positions, strict=True))
        )


@dataclass(frozen=True, eq=False)
class ClusteredFile:
    """A `file` cut into clusters of `k` (1 for ``dp``, which forms none), for all budgets."""

    file: AuditedFile
    k: int

    @cached_property
    def _moves(self) -> dict[Centroid, list[Moves]]:
        pairs = zip(self.file.ranking.values, self.file.upper, strict=True)
        cuts = [Cut(values, self.k, float(upper)) for values, upper in pairs]
        return {kind: [Moves(cut, kind) for cut in cuts] for kind in get_args(Centroid)}

    def moves(self, method: Variant) -> list[Moves]:
        """Return the effects of a changed record on each attribute under a `method`."""
        return self._moves[centroid_of(method)]

    def shipped(self, method: Variant, epsilon: float) -> Masking:
        """Return centroids and scales of a `method` at `epsilon`, above 0."""
        return masking(method, self.file.ranking, self.k, self.file.upper, epsilon)

    def frozen_losses(self, method: Variant) -> dict[str, list[Losses]]:
        """Return the losses of each attribute at epsilon 1 for a `method`, with fixed scales.

        They are by the kind of clusters, and proportional to epsilon.
        """
        losses = map(with_frozen_scales, self.shipped(method, 1.0).scales)
        pairs = list(zip(self.moves(method), losses, strict=True))
        found = {FIXED: [losses_within_fixed_clusters(moves, loss) for moves, loss in pairs]}
        if method != "dp":
            found[RECLUSTERED] = [
                losses_of_clusters_formed_anew(moves, loss) for moves, loss in pairs
            ]
        return found

    def losses_as_it_runs(self, shipped: Masking) -> list[Losses]:
        """Return losses with each neighbour's own scales: attained, but not always the largest.

        `shipped` has the actual centroids and scales.
        """
        parts = zip(shipped.centres, shipped.scales, shipped.epsilons.tolist(), strict=True)
        return [
            losses_of_clusters_formed_anew(moves, with_own_scales(shipped.method, moves.cut, *part))
            for moves, part in zip(self.moves(shipped.method), parts, strict=True)
        ]


def audit_file(
    file: AuditedFile,
    ks: Sequence[int],
    epsilons: Sequence[float],
    methods: Sequence[Variant] = VARIANTS,
    *,
    as_it_runs: bool = True,
) -> pd.DataFrame:
    """Audit `methods` on a `file`, for clusters of each size of `ks` and for claimed `epsilons`.

    Sizes are at least 3, and claims are for a record. With `as_it_runs`, the second interpretation
    is included, which takes most of the time.
    """
    rows: list[dict[str, Any]] = []
    if "dp" in methods:
        rows += _rows(ClusteredFile(file, 1), "dp", epsilons, as_it_runs)
    with_clusters = [method for method in methods if method != "dp"]
    for k in ks:
        clustered = ClusteredFile(file, k)
        for method in with_clusters:
            rows += _rows(clustered, method, epsilons, as_it_runs)
    return as_table(rows)


def as_table(rows: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Return `rows` of the audit as a table of the columns `COLUMNS`."""
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype({"holds": "boolean", "k": "Int64"})


def _rows(
    clustered: ClusteredFile, method: Variant, epsilons: Sequence[float], as_it_runs: bool
) -> Iterator[dict[str, Any]]:
    frozen = clustered.frozen_losses(method)
    for epsilon in epsilons:
        audit = MethodAudit(clustered, method, epsilon)
        for clusters, losses in frozen.items():
            yield from audit.of_losses(losses, FIXED_SCALE, clusters, "exact", epsilon)
        if method != "dp":
            yield audit.of_records(FIXED_SCALE)
            yield audit.of_shuffled_records()
        if not as_it_runs or method == "idp_cbls_prose":  # it fails already with fixed scales
            continue
        if method in {"dp", "dp_um"}:  # scales are equal on all files of this size
            clusters = FIXED if method == "dp" else RECLUSTERED
            yield from audit.of_losses(
                frozen[clusters], RECOMPUTED_SCALE, clusters, "exact", epsilon
            )
        else:
            own = clustered.losses_as_it_runs(audit.shipped)
            yield from audit.of_losses(own, RECOMPUTED_SCALE, RECLUSTERED, "lower bound", 1.0)
        if method != "dp":
            yield audit.of_records(RECOMPUTED_SCALE)
        yield audit.of_data_driven_domain()


@dataclass(frozen=True, eq=False)
class MethodAudit:
    """The rows of one `method` at one `epsilon`, of a file, `clustered`."""

    clustered: ClusteredFile
    method: Variant
    epsilon: float

    @cached_property
    def shipped(self) -> Masking:
        """The centroids and noise scales."""
        return self.clustered.shipped(self.method, self.epsilon)

    def claimed(self, unit: str, attribute: str) -> float:
        """Return the claim for a `unit`; for one `attribute` it is a part of the budget."""
        attributes = self.clustered.file.ranking.attributes
        return self.epsilon if attribute == ALL or unit == "record" else self.epsilon / attributes

    def of_losses(
        self, losses: Sequence[Losses], reading: str, clusters: str, kind: Kind, times: float
    ) -> Iterator[dict[str, Any]]:
        """Yield the rows of centroids, attributes and, if clusters are fixed, records.

        The `losses` of attributes are multiplied by `times`. See `row` for the other arguments,
        `reading`, `clusters` and `kind`.
        """
        names = self.clustered.file.names
        note = OF_FIXED_CLUSTERS if clusters == FIXED and self.method != "dp" else ""
        together = self.clustered.file.of_all_attributes(losses)
        alone = int(np.argmax([float(own.of_centroids.max()) * times for own in losses]))
        whole = int(np.argmax([float(own.of_records.max()) * times for own in losses]))
        found = [
            ("centroid", names[alone], losses[alone].of_centroids),
            ("attribute", names[whole], losses[whole].of_records),
            ("attribute", ALL, together),
        ]
        if clusters == FIXED:
            # Records in fixed clusters reveal the same as their centroids.
            found.append(("record", ALL, together))
        for unit, attribute, lost in found:
            about = {"reading": reading, "unit": unit, "clusters": clusters, "attribute": attribute}
            limit = self.claimed(unit, attribute) * (1 + CLAIM_TOLERANCE)
            beyond = np.nan if unit == "centroid" else float((lost * times > limit).mean())
            found_epsilon = float(lost.max()) * times
            yield self.row(found_epsilon, kind, note=note, records_beyond=beyond, **about)

    def of_records(self, reading: str) -> dict[str, Any]:
        """Return the row, in a `reading`, of released records if each file has its own clusters."""
        shipped = self.shipped
        parts = zip(shipped.centres, shipped.scales, shipped.upper.tolist(), strict=True)
        deltas = [refutation_by_a_full_shift(*part) for part in parts]
        worst = int(np.argmax(deltas))
        return self._refuted(
            deltas[worst] > 0,
            reading=reading,
            attribute=self.clustered.file.names[worst],
            delta=deltas[worst],
            note="the partition into clusters is released",
        )

    def of_shuffled_records(self) -> dict[str, Any]:
        """Return the row of records that are released in random order."""
        file = self.clustered.file
        of = centroid_of(self.method), self.shipped.scales, float(file.upper[0])
        shown = shown_when_shuffled(file.values, self.clustered.k, *of)
        note = "records in random order: how many of them two clusters share is released"
        return self._refuted(shown, reading=FIXED_SCALE, attribute=file.names[0], note=note)

    def of_data_driven_domain(self) -> dict[str, Any]:
        """Return the row of a domain that is a multiple of the largest value.

        A record above the largest value increases U. A value clipped to the old U has positive
        probability on the file and 0 on the neighbour. Only clusters without noise are not clipped.
        """
        about = {"domain": "from the data", "attribute": ALL, "reading": RECOMPUTED_SCALE}
        note = "values clipped to U show U, which the largest value made"
        return self._refuted(bool((self.shipped.scales > 0).any()), note=note, **about)

    def _refuted(self, refuted: bool, **about: Any) -> dict[str, Any]:
        """Return a row of records, with an infinite epsilon if a release can refute a neighbour."""
        about |= {"unit": "record", "clusters": RECLUSTERED}
        return self.row(np.inf if refuted else 0.0, "lower bound", **about)

    def row(self, found: float, kind: Kind, **about: Any) -> dict[str, Any]:
        """Return a row of the audit, which compares the claimed epsilon with the one `found`.

        By its `kind` the epsilon found is exact or a lower bound. An infinite lower bound is exact.
        A lower bound within the claim decides nothing. `about` has other columns of `COLUMNS`, at
        least ``reading`` (the interpretation), ``unit`` (the released object), ``attribute`` (or
        all), and ``clusters`` (fixed, or recomputed).
        """
        file, formed = self.clustered.file, self.method != "dp"
        claimed = self.claimed(about["unit"], about["attribute"])
        kind = "exact" if np.isinf(found) else kind
        within = found <= claimed * (1 + CLAIM_TOLERANCE)
        columns = {
            "dataset": file.dataset,
            "method": self.method,
            "k": self.clustered.k if formed else None,
            "claimed_epsilon": claimed,
            "exact_or_lower_bound": found,
            "kind": kind,
            "holds": (True if kind == "exact" else None) if within else False,
            "epsilon": self.epsilon,
            "domain_factor": file.domain_factor,
            "domain": "public",
            "times_claimed": found / claimed,
            "records_beyond": np.nan,
            "delta": np.nan,
            "note": "",
        }
        return columns | (about if formed else about | {"clusters": "none"})
