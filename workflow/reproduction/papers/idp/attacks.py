"""Attacks on one release of the methods of [idp], and a test that noise never protects less."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import scipy

from deniable.arrays import Floats, Positions, quotients
from deniable.idp import Masking, Method, Ranking, Variant, audit, masking, microaggregate
from deniable.sampling import SeededNoise, generator_for

from reproduction.papers.idp.names import RANDOM_CHANGE, WHOLE_RECORD

ATTACKED: tuple[Method, ...] = ("dp_um", "idp_ls", "idp_cbls")
LINKED_TARGETS = 1000
RANDOM_CHANGES = 200
FALSE_ALARM = 1e-4  # probability that an attack refutes a true claim
TWIN_CLUSTERS = ((1.0, 2.0, 3.0), (2.0, 2.0, 2.0))
TWIN_DOMAIN = 4.5  # 1.5 times the largest value


def attack_table(
    file: audit.AuditedFile, seed: int, k: Sequence[int], epsilons: Sequence[float], runs: int
) -> pd.DataFrame:
    """Attack releases of a `file` and of a neighbour, `runs` times for each setting.

    The records are masked in clusters of at least each `k`, at each of the claimed `epsilons`. The
    root seed is `seed`.

    ``attack`` is "partition" or "likelihood", ``neighbour`` is the change, and ``unit`` is the
    released part. ``claimed_epsilon`` belongs to a record, although the partition attack changes a
    single attribute. ``accuracy`` has a 95 % interval from ``replicates`` releases. ``allowed`` is
    the largest accuracy that the claimed ε allows. The lower end of the interval proves
    ``epsilon_at_least``. ``holds`` is False if a 99.98 % interval is above ``allowed``, and empty
    otherwise, because attacks cannot prove a claim.
    """
    rows = []
    for epsilon in epsilons:
        allowed = float(scipy.special.expit(epsilon))
        for *about, found in _Attacks(file, epsilon, runs, seed).rows(k):
            low, high = found.interval()
            holds = False if found.interval(1 - 2 * FALSE_ALARM)[0] > allowed else None
            of = (found.value, low, high, found.tried, allowed, found.epsilon(), holds)
            rows.append((file.dataset, *about, epsilon, *of))
    names = ["dataset", "attack", "neighbour", "method", "reading", "unit", "k", "claimed_epsilon"]
    names += ["accuracy", "ci_low", "ci_high", "replicates", "allowed", "epsilon_at_least", "holds"]
    return pd.DataFrame(rows, columns=names).astype({"holds": "boolean", "k": "Int64"})


@dataclass(frozen=True, eq=False)
class _Attacks:
    file: audit.AuditedFile
    epsilon: float
    runs: int
    seed: int

    def rows(self, ks: Sequence[int]) -> Iterator[tuple[Any, ...]]:
        laplace = (WHOLE_RECORD, "dp", audit.FIXED_SCALE, "record", None)
        yield "likelihood", *laplace, self._on_laplace()
        column = self.file.values[:, 0]
        for k in ks:
            clustered = audit.ClusteredFile(self.file, k)
            for method in ATTACKED:
                of = (method, audit.RECOMPUTED_SCALE, "record", k)
                changed = column.copy()
                changed[column.argmin()] = self.file.upper[0]
                one, other = (self._first(method, k, each) for each in (column, changed))
                generator = self._generator("partition", method, k)
                found = audit.partition_attack(one, other, generator, self.runs)
                yield "partition", "smallest value to U, first attribute", *of, found
                yield "partition", RANDOM_CHANGE, *of, self._on_random_changes(method, k)
                for reading, found in self._likelihood(clustered, method):
                    yield "likelihood", WHOLE_RECORD, method, reading, "attribute", k, found

    def _on_laplace(self) -> audit.Accuracy:
        """Attack plain Laplace noise with the record farthest from an end of its domains."""
        upper, share = self.file.upper, self.epsilon / self.file.upper.size
        reach = np.maximum(self.file.values, upper - self.file.values) / upper
        record = self.file.values[int(np.argmax(reach.sum(axis=1)))]
        changed = np.where(record > upper - record, 0.0, upper)
        one, other = (
            audit.NoisyCentroids(each, upper / share, upper) for each in (record, changed)
        )
        return audit.likelihood_attack(one, other, self._generator("laplace", "dp", 1), self.runs)

    def _on_random_changes(self, method: Variant, k: int) -> audit.Accuracy:
        """Attack repeatedly with a random record that gets the value of another random record."""
        generator = self._generator("random change", method, k)
        column, right = self.file.values[:, 0], 0
        tried = min(self.runs, RANDOM_CHANGES)
        actual = self._first(method, k, column)
        for _ in range(tried):
            record, other = generator.choice(column.size, size=2, replace=False)
            changed = column.copy()
            changed[record] = column[other]
            neighbour = self._first(method, k, changed)
            right += audit.partition_attack(actual, neighbour, generator, 1).right
        return audit.Accuracy(right, tried)

    def _first(
        self, method: Variant, k: int, column: Floats
    ) -> tuple[audit.NoisyCentroids, Positions]:
        """Return the centroids of a `column`, the first one, and the cluster of each record."""
        upper, share = self.file.upper[:1], self.epsilon / self.file.upper.size
        found = masking(method, Ranking.of(column[:, None]), k, upper, share)
        ends = np.broadcast_to(upper, found.clusters.number)
        model = audit.NoisyCentroids(found.centres[0], found.scales[0], ends)
        return model, found.clusters.memberships[0]

    def _likelihood(
        self, formed: audit.ClusteredFile, method: Method
    ) -> Iterator[tuple[str, audit.Accuracy]]:
        shipped = formed.shipped(method, self.epsilon)
        changed = self._worst_neighbour(formed, shipped)
        # Neither interpretation includes rounding errors of centroids.
        apart = ~np.isclose(shipped.centres, changed.centres, rtol=1e-9, atol=0.0)
        for reading, scales in (
            (audit.FIXED_SCALE, shipped.scales),
            (audit.RECOMPUTED_SCALE, changed.scales),
        ):
            differs = apart | (shipped.scales != scales)
            upper = np.broadcast_to(self.file.upper[:, None], differs.shape)[differs]
            actual = audit.NoisyCentroids(shipped.centres[differs], shipped.scales[differs], upper)
            other = audit.NoisyCentroids(changed.centres[differs], scales[differs], upper)
            generator = self._generator(f"likelihood {reading}", method, formed.k)
            yield reading, audit.likelihood_attack(actual, other, generator, self.runs)

    def _worst_neighbour(self, clustered: audit.ClusteredFile, shipped: Masking) -> Masking:
        """Return the masking if the record with the largest loss moves to the worse domain ends."""
        frozen = clustered.frozen_losses(shipped.method)[audit.RECLUSTERED]
        record = int(np.argmax(self.file.of_all_attributes(frozen)))
        table, upper = self.file.values.copy(), self.file.upper

        def masked_with(values: Floats) -> Masking:
            table[record] = values
            return masking(shipped.method, Ranking.of(table), clustered.k, upper, self.epsilon)

        ends = np.zeros(upper.size), upper
        moved = (np.abs(masked_with(end).centres - shipped.centres) for end in ends)
        low, high = (quotients(each, shipped.scales).sum(axis=1) for each in moved)
        return masked_with(np.where(low > high, *ends))

    def _generator(self, attack: str, method: str, k: int) -> np.random.Generator:
        key = {"audit": attack, "data": self.file.dataset, "method": method, "k": k}
        return generator_for(self.seed, key | {"epsilon": self.epsilon})


def protection_table(
    file: audit.AuditedFile, seed: int, k: Sequence[int], epsilons: Sequence[float]
) -> pd.DataFrame:
    """Test section 1, "never less protection than the underlying microaggregation".

    `file`, `seed`, `k` and `epsilons` are as in `attack_table`.

    ``value`` is a ``measure`` under the method, and ``microaggregation`` is the same measure for
    the microaggregated file. ``less_protection`` is True if the first is larger. ``replicates`` is
    the number of records that the intruder searches for, and ``score`` is the score for each half.
    Measures are:

    - "loss between clusters with one mean": the privacy loss between (1, 2, 3) and (2, 2, 2), which
      are the same after microaggregation (without a data set);
    - "values known for certain": the proportion of all values;
    - "records linked": the proportion of records that the intruder of
      `deniable.idp.audit.link_records` links correctly, a lower bound;
    - "records linked by the nearest": the same with squared distances.
    """
    names = ["dataset", "measure", "method", "k", "epsilon", "value", "microaggregation"]
    rows: list[tuple[Any, ...]] = []
    for method, epsilon in product(ATTACKED, epsilons):
        loss = audit.privacy_loss_at_equal_centroids(method, *TWIN_CLUSTERS, TWIN_DOMAIN, epsilon)
        of = ("none", "loss between clusters with one mean", method, len(TWIN_CLUSTERS[0]))
        rows.append((*of, epsilon, loss, 0.0, None, None))
    for size in k:
        moves = audit.ClusteredFile(file, size).moves("idp_cbls")
        means, exact = np.mean([audit.certain_values(each.cut) for each in moves], axis=0)
        of = (file.dataset, "values known for certain", "idp_cbls", size)
        rows.append((*of, np.nan, exact, means, None, None))
    rows += _linked(file, seed, k, epsilons)
    table = pd.DataFrame(rows, columns=[*names, "replicates", "score"])
    table.insert(len(names), "less_protection", table["value"] > table["microaggregation"])
    return table.astype({"k": "Int64", "replicates": "Int64"})


def _linked(
    file: audit.AuditedFile, seed: int, ks: Sequence[int], epsilons: Sequence[float]
) -> Iterator[tuple[Any, ...]]:
    generator = generator_for(seed, {"audit": "linked", "data": file.dataset})
    values, noise = file.values, SeededNoise(generator)
    targets = generator.permutation(len(values))[:LINKED_TARGETS]

    def found(method: Method, k: int, epsilon: float) -> audit.Linkage:
        masked = masking(method, file.ranking, k, file.upper, epsilon)
        return audit.link_records(values, masked.mask(noise)[0], targets, generator)

    plain_noise = {epsilon: found("dp", ks[0], epsilon) for epsilon in epsilons}  # without clusters
    for k in ks:
        alone = audit.link_records(values, microaggregate(values, k), targets, generator)
        for method, epsilon in product(("dp", *ATTACKED), epsilons):
            own = plain_noise[epsilon] if method == "dp" else found(method, k, epsilon)
            of, size, scores = (method, k, epsilon), targets.size, ", ".join(own.scores)
            linked = (own.share, alone.share, size, scores)
            yield file.dataset, "records linked", *of, *linked
            nearest = (own.nearest, alone.nearest, size, None)
            yield file.dataset, "records linked by the nearest", *of, *nearest
