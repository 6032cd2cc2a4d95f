"""Attacks on one release of [idp]'s methods, and the claim that noise never protects less.

`attack_table` has how often an intruder distinguishes the file from a neighbour, and the most that
the claimed epsilon allows. `protection_table` tests section 1, "never less protection than the
underlying microaggregation".
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import scipy

from deniable.arrays import Floats, Positions
from deniable.idp import Masking, Method, Ranking, Variant, masking, microaggregate
from deniable.idp.audit import (
    FIXED_SCALE,
    RECLUSTERED,
    RECOMPUTED_SCALE,
    Accuracy,
    AuditedFile,
    ClusteredFile,
    Linkage,
    NoisyCentroids,
    certain_values,
    likelihood_attack,
    link_records,
    partition_attack,
    privacy_loss_at_equal_centroids,
)
from deniable.records import NumericMicrodata
from deniable.sampling import SeededNoise, generator_for

from reproduction.papers.idp.audit import file_of

ATTACKED: tuple[Method, ...] = ("dp_um", "idp_ls", "idp_cbls")
LINKED_TARGETS = 1000
RANDOM_CHANGES = 200
FALSE_ALARM = 1e-4  # of a single attack that refutes a claim
TWIN_CLUSTERS = ((1.0, 2.0, 3.0), (2.0, 2.0, 2.0))
TWIN_DOMAIN = 4.5  # 1.5 times the largest value
WHOLE_RECORD = "a record, all attributes"
PROTECTION_COLUMNS = (
    *("dataset", "measure", "method", "k", "epsilon", "value", "microaggregation"),
    *("less_protection", "replicates", "score"),
)


def attack_table(
    name: str,
    data: NumericMicrodata,
    seed: int,
    *,
    k: Sequence[int],
    epsilons: Sequence[float],
    domain_factor: float,
    runs: int,
) -> pd.DataFrame:
    """Attack releases of a data set and of a neighbour, `runs` times each.

    The data set `name` with the records `data` is masked in clusters of at least each `k`, at each
    of the claimed `epsilons`, on domains that end at `domain_factor` times its largest values. The
    root seed is `seed`.

    ``attack`` is "partition" or "likelihood", ``neighbour`` the change, ``unit`` the released part.
    ``claimed_epsilon`` belongs to a record, though the partition attack changes a single attribute.
    ``accuracy`` has a 95 % interval from ``replicates`` releases. ``allowed`` is the most that the
    claimed epsilon allows, and the lower end of the interval proves ``epsilon_at_least``. ``holds``
    is False if a 99.98 % interval lies above ``allowed``, else empty: no attack proves a claim.
    """
    file = file_of(name, data, domain_factor)
    every = (_Attacks(file, data.values, epsilon, runs, seed) for epsilon in epsilons)
    found = (row for attacks in every for row in attacks.rows(k))
    return pd.DataFrame(found).astype({"holds": "boolean", "k": "Int64"})


def _together(masked: Masking, scales: Floats) -> NoisyCentroids:
    """Return all centroids of all attributes, with the given scales."""
    upper = np.repeat(masked.upper, masked.centres.shape[1])
    return NoisyCentroids(masked.centres.reshape(-1), scales.reshape(-1), upper)


@dataclass(frozen=True, eq=False)
class _Attacks:
    file: AuditedFile
    values: Floats
    epsilon: float
    runs: int
    seed: int

    def rows(self, ks: Sequence[int]) -> Iterator[dict[str, Any]]:
        yield self._on_laplace()
        for k in ks:
            clustered = ClusteredFile(self.file, k)
            for method in ATTACKED:
                yield self._partition(method, k)
                yield self._partition_of_random_changes(method, k)
                yield from self._likelihood(clustered, method)

    def _on_laplace(self) -> dict[str, Any]:
        """Attack plain Laplace noise for the record that is farthest from an end of all domains."""
        upper, share = self.file.upper, self.epsilon / self.file.upper.size
        reach = np.maximum(self.values, upper - self.values) / upper
        record = self.values[int(np.argmax(reach.sum(axis=1)))]
        changed = np.where(record > upper - record, 0.0, upper)
        one, other = (NoisyCentroids(each, upper / share, upper) for each in (record, changed))
        found = likelihood_attack(one, other, self._generator("laplace", "dp", 1), self.runs)
        return self._row(found, None, "likelihood", WHOLE_RECORD, "dp", FIXED_SCALE, "record")

    def _partition(self, method: Variant, k: int) -> dict[str, Any]:
        column, changed = self.values[:, 0], self.values[:, 0].copy()
        changed[np.argsort(column, kind="stable")[0]] = self.file.upper[0]
        one, other = (self._of_first(method, k, each) for each in (column, changed))
        found = partition_attack(one, other, self._generator("partition", method, k), self.runs)
        what = "smallest value to U, first attribute"
        return self._row(found, k, "partition", what, method, RECOMPUTED_SCALE, "record")

    def _partition_of_random_changes(self, method: Variant, k: int) -> dict[str, Any]:
        """Attack repeatedly: a random record gets the value of another random record."""
        generator = self._generator("random change", method, k)
        column, right = self.values[:, 0], 0
        tried = min(self.runs, RANDOM_CHANGES)
        actual = self._of_first(method, k, column)
        for _ in range(tried):
            record, other = generator.choice(column.size, size=2, replace=False)
            changed = column.copy()
            changed[record] = column[other]
            neighbour = self._of_first(method, k, changed)
            right += partition_attack(actual, neighbour, generator, 1).right
        what = "a random record gets another's value, first attribute"
        return self._row(
            Accuracy(right, tried), k, "partition", what, method, RECOMPUTED_SCALE, "record"
        )

    def _of_first(
        self, method: Variant, k: int, column: Floats
    ) -> tuple[NoisyCentroids, Positions]:
        """Return the centroids, and each record's cluster, of values of the first attribute."""
        upper, share = self.file.upper[:1], self.epsilon / self.file.upper.size
        found = masking(method, Ranking.of(column[:, None]), k, upper, share)
        return _together(found, found.scales), found.clusters.memberships[0]

    def _likelihood(self, clustered: ClusteredFile, method: Variant) -> Iterator[dict[str, Any]]:
        shipped = clustered.shipped(method, self.epsilon)
        changed = self._worst_neighbour(clustered, shipped)
        for reading in (FIXED_SCALE, RECOMPUTED_SCALE):
            other = _together(changed, shipped.scales if reading == FIXED_SCALE else changed.scales)
            actual = _together(shipped, shipped.scales)
            # Neither reading includes rounding errors of centroids.
            apart = ~np.isclose(actual.centres, other.centres, rtol=1e-9, atol=0.0)
            differs = apart | (actual.scales != other.scales)
            generator = self._generator(f"likelihood {reading}", method, clustered.k)
            one, two = (
                NoisyCentroids(each.centres[differs], each.scales[differs], each.upper[differs])
                for each in (actual, other)
            )
            found = likelihood_attack(one, two, generator, self.runs)
            what = ("likelihood", WHOLE_RECORD, method, reading, "attribute")
            yield self._row(found, clustered.k, *what)

    def _worst_neighbour(self, clustered: ClusteredFile, shipped: Masking) -> Masking:
        """Return the masking if the record with most to lose moves to the worse end of each."""
        losses = clustered.frozen_losses(shipped.method)[RECLUSTERED]
        record = int(np.argmax(self.file.of_all_attributes(losses)))

        def masked_with(values: Floats) -> Masking:
            table = self.values.copy()
            table[record] = values
            own = Ranking.of(table)
            return masking(shipped.method, own, clustered.k, self.file.upper, self.epsilon)

        def lost_at(end: Floats) -> Floats:
            moved, scales = np.abs(masked_with(end).centres - shipped.centres), shipped.scales
            losses = np.divide(moved, scales, out=np.zeros_like(moved), where=scales > 0)
            return np.asarray(losses.sum(axis=1))

        low, high = np.zeros(self.file.upper.size), self.file.upper
        return masked_with(np.where(lost_at(low) > lost_at(high), low, high))

    def _generator(self, attack: str, method: str, k: int) -> np.random.Generator:
        key = {"audit": attack, "data": self.file.dataset, "method": method, "k": k}
        return generator_for(self.seed, key | {"epsilon": self.epsilon})

    def _row(self, found: Accuracy, k: int | None, *what: str) -> dict[str, Any]:
        """Return a row on an attack, a neighbour, a method, a reading and a unit."""
        about = ("attack", "neighbour", "method", "reading", "unit")
        low, high = found.interval()
        surely, _ = found.interval(1 - 2 * FALSE_ALARM)
        allowed = float(scipy.special.expit(self.epsilon))
        return {
            "dataset": self.file.dataset,
            **dict(zip(about, what, strict=True)),
            "k": k,
            "claimed_epsilon": self.epsilon,
            "accuracy": found.value,
            "ci_low": low,
            "ci_high": high,
            "replicates": found.tried,
            "allowed": allowed,
            "epsilon_at_least": found.epsilon(),
            "holds": False if surely > allowed else None,
        }


def protection_table(
    name: str,
    data: NumericMicrodata,
    seed: int,
    *,
    k: Sequence[int],
    epsilons: Sequence[float],
    domain_factor: float,
) -> pd.DataFrame:
    """Compare the protection by releases with the protection by microaggregation alone.

    `name`, `data`, `seed`, `k`, `epsilons` and `domain_factor` are as in `attack_table`.

    ``value`` is a ``measure`` under the method, ``microaggregation`` the same for the
    microaggregated file, ``less_protection`` whether the first is larger. ``replicates`` is the
    number of records that the intruder searches for, ``score`` the score in use for each half of
    them. Measures are:

    - "loss between clusters with one mean": between (1, 2, 3) and (2, 2, 2), which are the same
      after microaggregation (no data set);
    - "values known for certain": the proportion of all values;
    - "records linked": the proportion of records that the intruder of `deniable.idp.audit.linkage`
      links to their own, a lower bound, and "records linked by the nearest", by squared distances.
    """
    file = file_of(name, data, domain_factor)
    linked = _linked(file, data.values, k, epsilons, seed)
    twins = [
        {"dataset": "none", "measure": "loss between clusters with one mean", "method": method}
        | {"k": len(TWIN_CLUSTERS[0]), "epsilon": epsilon, "microaggregation": 0.0}
        | {"value": privacy_loss_at_equal_centroids(method, *TWIN_CLUSTERS, TWIN_DOMAIN, epsilon)}
        for method, epsilon in product(ATTACKED, epsilons)
    ]
    table = pd.DataFrame([*twins, *_certain(file, k), *linked])
    table["less_protection"] = table["value"] > table["microaggregation"]
    table = table[list(PROTECTION_COLUMNS)]
    return table.astype({"k": "Int64", "replicates": "Int64"})


def _certain(file: AuditedFile, ks: Sequence[int]) -> Iterator[dict[str, Any]]:
    for k in ks:
        moves = ClusteredFile(file, k).moves("idp_cbls")
        means, exact = np.mean([certain_values(each.cut) for each in moves], axis=0)
        yield {
            "dataset": file.dataset,
            "measure": "values known for certain",
            "method": "idp_cbls",
            "k": k,
            "value": exact,
            "microaggregation": means,
        }


def _linked(
    file: AuditedFile, values: Floats, ks: Sequence[int], epsilons: Sequence[float], seed: int
) -> Iterator[dict[str, Any]]:
    generator = generator_for(seed, {"audit": "linked", "data": file.dataset})
    targets, noise = generator.permutation(len(values))[:LINKED_TARGETS], SeededNoise(generator)

    def found(method: Method, k: int, epsilon: float) -> Linkage:
        masked = masking(method, file.ranking, k, file.upper, epsilon)
        return link_records(values, masked.mask(noise)[0], targets, generator)

    plain_noise = {epsilon: found("dp", ks[0], epsilon) for epsilon in epsilons}  # without clusters
    for k in ks:
        alone = link_records(values, microaggregate(values, k), targets, generator)
        for method, epsilon in product(("dp", *ATTACKED), epsilons):
            own = plain_noise[epsilon] if method == "dp" else found(method, k, epsilon)
            of = {"dataset": file.dataset, "method": method, "k": k, "epsilon": epsilon}
            of |= {"replicates": targets.size}
            yield of | {
                "measure": "records linked",
                "value": own.share,
                "microaggregation": alone.share,
                "score": ", ".join(own.scores),
            }
            yield of | {
                "measure": "records linked by the nearest",
                "value": own.nearest,
                "microaggregation": alone.nearest,
            }
