"""Attacks on one release of [idp]'s methods, and the claim that noise never protects less.

- `attack_table`: how often an intruder tells the file from a neighbour, against what the claimed
  epsilon allows (`idp_attacks.csv`);
- `protection_table`: section 1's "never less protection than the underlying microaggregation", by
  computation (`idp_protection.csv`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from deniable.arrays import Flags, Floats
from deniable.idp import Masking, Ranking, microaggregate
from deniable.idp.audit import (
    ANEW,
    AS_IT_RUNS,
    FROZEN,
    Accuracy,
    AuditedFile,
    ClusteredFile,
    Method,
    NoisyCentroids,
    certain_values,
    largest_accuracy,
    likelihood_attack,
    linked_share,
    memberships,
    partition_attack,
    told_beyond_means,
)
from deniable.papers.idp.audit import file_of
from deniable.records import NumericMicrodata
from deniable.sampling import SeededNoise, generator_for
from deniable.study import Given

ATTACKED: tuple[Method, ...] = ("dp_um", "idp_ls", "idp_cbls")
LINKED_TARGETS = 1000
RANDOM_CHANGES = 200
FALSE_ALARM = 1e-4  # of a single attack that is said to refute a claim
TWIN_CLUSTERS = ((1.0, 2.0, 3.0), (2.0, 2.0, 2.0))
TWIN_DOMAIN = 4.5  # 1.5 times the largest value


@dataclass(frozen=True)
class AttackGrid:
    """What is attacked.

    Attributes
    ----------
    k : sequence of int, at least 3
    epsilons : sequence of float
    domain_factor : float
    runs : int
        Releases for each attack.
    """

    k: Sequence[int] = (3, 10)
    epsilons: Sequence[float] = (0.01, 0.1, 1.0)
    domain_factor: float = 1.5
    runs: int = 2000


def attack_table(
    name: str, data: NumericMicrodata, grid: AttackGrid, root_seed: int
) -> pd.DataFrame:
    """Attack releases of a data set and of a neighbour.

    Returns
    -------
    DataFrame
        ``dataset``, ``attack`` ("partition" or "likelihood"), ``neighbour`` (what is changed),
        ``method``, ``reading``, ``unit`` (what is released), ``k``, ``claimed_epsilon`` (of the
        record, though the partition attack changes a single attribute), ``accuracy`` with its 95 %
        interval from ``replicates`` releases, ``allowed`` (the most that the claimed epsilon
        allows), ``epsilon_at_least`` (which the interval's lower end proves) and ``holds``: False
        if a 99.98 % interval lies above what is allowed, else empty, for no attack proves a claim.
    """
    file = file_of(name, data, grid.domain_factor)
    rows = [_Attacks(file, data.values, epsilon, grid.runs, root_seed) for epsilon in grid.epsilons]
    found = [row for attacks in rows for row in attacks.rows(grid.k)]
    return pd.DataFrame(found).astype({"holds": "boolean", "k": "Int64"})


def _together(masked: Masking, scales: Floats) -> NoisyCentroids:
    """Return all centroids of all attributes, with the given scales."""
    upper = np.repeat(masked.upper, masked.centres.shape[1])
    return NoisyCentroids(masked.centres.reshape(-1), scales.reshape(-1), upper)


def _those(model: NoisyCentroids, chosen: Flags) -> NoisyCentroids:
    return NoisyCentroids(model.centres[chosen], model.scales[chosen], model.upper[chosen])


@dataclass(frozen=True, eq=False)
class _Attacks:
    file: AuditedFile
    values: Floats
    epsilon: float
    runs: int
    root_seed: int

    def rows(self, ks: Sequence[int]) -> Iterator[dict[str, Any]]:
        yield self._on_laplace()
        for k in ks:
            clustered = ClusteredFile(self.file, k)
            for method in ATTACKED:
                yield self._partition(clustered, method)
                yield self._partition_of_random_changes(clustered, method)
                yield from self._likelihood(clustered, method)

    def _on_laplace(self) -> dict[str, Any]:
        """Attack plain Laplace noise: the record that is farthest from an end of all domains."""
        upper, share = self.file.upper, self.epsilon / self.file.upper.size
        reach = np.maximum(self.values, upper - self.values) / upper
        record = self.values[int(np.argmax(reach.sum(axis=1)))]
        changed = np.where(record > upper - record, 0.0, upper)
        scales = upper / share
        found = likelihood_attack(
            NoisyCentroids(record, scales, upper),
            NoisyCentroids(changed, scales, upper),
            self._generator("laplace", "dp", 1),
            self.runs,
        )
        return self._row("likelihood", "a record, all attributes", "dp", FROZEN, "record", 1, found)

    def _partition(self, clustered: ClusteredFile, method: Method) -> dict[str, Any]:
        column, changed = self.values[:, 0], self.values[:, 0].copy()
        changed[np.argsort(column, kind="stable")[0]] = self.file.upper[0]
        models = self._models_of_first(clustered, method, changed)
        found = partition_attack(
            *models,
            memberships(column, clustered.k),
            memberships(changed, clustered.k),
            self._generator("partition", method, clustered.k),
            self.runs,
        )
        what = "smallest value to U, first attribute"
        return self._row("partition", what, method, AS_IT_RUNS, "record", clustered.k, found)

    def _partition_of_random_changes(
        self, clustered: ClusteredFile, method: Method
    ) -> dict[str, Any]:
        """Attack as often, with another record and another record's value each time."""
        generator = self._generator("random change", method, clustered.k)
        column, right = self.values[:, 0], 0
        tried = min(self.runs, RANDOM_CHANGES)
        for _ in range(tried):
            record, other = generator.choice(column.size, size=2, replace=False)
            changed = column.copy()
            changed[record] = column[other]
            found = partition_attack(
                *self._models_of_first(clustered, method, changed),
                memberships(column, clustered.k),
                memberships(changed, clustered.k),
                generator,
                1,
            )
            right += found.right
        what = "a random record gets another's value, first attribute"
        found = Accuracy(right, tried)
        return self._row("partition", what, method, AS_IT_RUNS, "record", clustered.k, found)

    def _models_of_first(
        self, clustered: ClusteredFile, method: Method, changed: Floats
    ) -> tuple[NoisyCentroids, NoisyCentroids]:
        """Return the first attribute's centroids under the file and under a neighbour."""
        share = self.epsilon / self.file.upper.size
        upper = self.file.upper[:1]
        models = []
        for column in (self.values[:, 0], changed):
            single = AuditedFile("", self.file.names[:1], Ranking.of(column[:, None]), upper, 1.0)
            own = ClusteredFile(single, clustered.k).shipped(method, share)
            models.append(_together(own, own.scales))
        return models[0], models[1]

    def _likelihood(self, clustered: ClusteredFile, method: Method) -> Iterator[dict[str, Any]]:
        shipped = clustered.shipped(method, self.epsilon)
        changed = self._worst_neighbour(clustered, method)
        for reading in (FROZEN, AS_IT_RUNS):
            other = _together(changed, shipped.scales if reading == FROZEN else changed.scales)
            actual = _together(shipped, shipped.scales)
            # Rounding is no part of either reading: centroids that are equal but for it are equal.
            apart = ~np.isclose(actual.centres, other.centres, rtol=1e-9, atol=0.0)
            differs = apart | (actual.scales != other.scales)
            found = likelihood_attack(
                _those(actual, differs),
                _those(other, differs),
                self._generator(f"likelihood {reading}", method, clustered.k),
                self.runs,
            )
            what = "a record, all attributes"
            yield self._row("likelihood", what, method, reading, "attribute", clustered.k, found)

    def _worst_neighbour(self, clustered: ClusteredFile, method: Method) -> Masking:
        """Return how a neighbour is masked: the record with most to lose goes to an end of each.

        Which end of each domain tells more is seen by trying both.
        """
        record = self._most_exposed(clustered, method)
        scales = clustered.shipped(method, self.epsilon).scales
        centres = clustered.shipped(method, self.epsilon).centres
        ends, told = (np.zeros(self.file.upper.size), self.file.upper), []
        for end in ends:
            moved = np.abs(self._masked_with(clustered, method, record, end).centres - centres)
            told.append(np.divide(moved, scales, out=np.zeros_like(moved), where=scales > 0).sum(1))
        worst = np.where(told[0] > told[1], *ends)
        return self._masked_with(clustered, method, record, worst)

    def _masked_with(
        self, clustered: ClusteredFile, method: Method, record: int, values: Floats
    ) -> Masking:
        table = self.values.copy()
        table[record] = values
        own = AuditedFile("", self.file.names, Ranking.of(table), self.file.upper, 1.0)
        return ClusteredFile(own, clustered.k).shipped(method, self.epsilon)

    def _most_exposed(self, clustered: ClusteredFile, method: Method) -> int:
        losses = clustered.frozen_losses(method)[ANEW]
        return int(np.argmax(self.file.of_all_attributes(losses)))

    def _generator(self, attack: str, method: str, k: int) -> np.random.Generator:
        key = {"audit": attack, "data": self.file.dataset, "method": method, "k": k}
        return generator_for(self.root_seed, key | {"epsilon": self.epsilon})

    def _row(
        self,
        attack: str,
        neighbour: str,
        method: str,
        reading: str,
        unit: str,
        k: int,
        found: Accuracy,
    ) -> dict[str, Any]:
        low, high = found.interval()
        surely, _ = found.interval(1 - 2 * FALSE_ALARM)
        allowed = largest_accuracy(self.epsilon)
        return {
            "dataset": self.file.dataset,
            "attack": attack,
            "neighbour": neighbour,
            "method": method,
            "reading": reading,
            "unit": unit,
            "k": None if method == "dp" else k,
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
    name: str, data: NumericMicrodata, grid: AttackGrid, root_seed: int
) -> pd.DataFrame:
    """Compare what releases protect with what microaggregation alone protects.

    Returns
    -------
    DataFrame
        ``dataset``, ``measure``, ``method``, ``k``, ``epsilon``, ``value`` under the method,
        ``microaggregation`` (the same measure of the microaggregated file), ``less_protection``
        (whether the first is larger) and ``replicates`` (records looked for). Measures:

        - "loss between clusters with one mean": between (1, 2, 3) and (2, 2, 2), which
          microaggregation does not tell apart (no data set);
        - "values known for certain": share of all values;
        - "records linked": share of records whose released values are the nearest to their own.
    """
    rows = [*_twins(grid), *_certain(name, data, grid), *_linked(name, data, grid, root_seed)]
    table = pd.DataFrame(rows)
    less = table["value"] > table["microaggregation"]
    table.insert(list(table.columns).index("replicates"), "less_protection", less)
    return table.astype({"k": "Int64", "replicates": "Int64"})


def _twins(grid: AttackGrid) -> Iterator[dict[str, Any]]:
    for method in ATTACKED:
        for epsilon in grid.epsilons:
            told = told_beyond_means(method, *TWIN_CLUSTERS, TWIN_DOMAIN, epsilon)
            of = {"dataset": "none", "measure": "loss between clusters with one mean"}
            at = {"method": method, "k": len(TWIN_CLUSTERS[0]), "epsilon": epsilon}
            yield of | at | {"value": told, "microaggregation": 0.0}


def _certain(name: str, data: NumericMicrodata, grid: AttackGrid) -> Iterator[dict[str, Any]]:
    file = file_of(name, data, grid.domain_factor)
    for k in grid.k:
        found = [certain_values(moves.cut) for moves in ClusteredFile(file, k).moves("idp_cbls")]
        yield {
            "dataset": name,
            "measure": "values known for certain",
            "method": "idp_cbls",
            "k": k,
            "value": np.mean([each.exact_centroids for each in found]),
            "microaggregation": np.mean([each.microaggregated for each in found]),
        }


def _linked(
    name: str, data: NumericMicrodata, grid: AttackGrid, root_seed: int
) -> Iterator[dict[str, Any]]:
    file = file_of(name, data, grid.domain_factor)
    generator = generator_for(root_seed, {"audit": "linked", "data": name})
    targets = generator.permutation(len(data))[:LINKED_TARGETS]
    for k in grid.k:
        plain = linked_share(data.values, microaggregate(data.values, k), targets)
        for method in ("dp", *ATTACKED):
            for epsilon in grid.epsilons:
                clustered = ClusteredFile(file, 1 if method == "dp" else k)
                noise = SeededNoise(generator)
                released = clustered.shipped(method, epsilon).mask(noise)[0]
                yield {
                    "dataset": name,
                    "measure": "records linked",
                    "method": method,
                    "k": k,
                    "epsilon": epsilon,
                    "value": linked_share(data.values, released, targets),
                    "microaggregation": plain,
                    "replicates": targets.size,
                }


def attacked(given: Given) -> dict[str, pd.DataFrame]:
    """Attack releases of a data set, and compare what they protect."""
    ((name, data),) = given.data.items()
    grid = AttackGrid(**given.settings)
    return {
        f"{name}_attacks": attack_table(name, data, grid, given.seed),
        f"{name}_protection": protection_table(name, data, grid, given.seed),
    }
