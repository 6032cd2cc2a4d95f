"""The mean SSE of masked records by k: Figures 3 and 4 of [idp], with competitors.

Besides the four methods of the text there are:

- ``dp_median``: the median of the class for every record, with central ε-DP
  (`deniable.idp.true_dp`);
- ``dp_synthetic``: values drawn from noisy histograms of the class;
- ``no_data``: 0 for every value, with an ε of 0;
- ``least_dp``: the bound `least_dp_sse`. All releases here draw attributes independently. Such a
  release is not ε-differentially private for a record if its SSE is below the bound.
"""

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import pandas as pd
import scipy

from deniable import idp
from deniable.arrays import Floats
from deniable.estimation import CONFIDENCE
from deniable.records import NumericMicrodata
from deniable.sampling import SeededNoise

from reproduction.study import Cell, Simulated, Simulator

DRAWS_AT_ONCE = 1 << 20  # 8 MB of noise


@dataclass(frozen=True, eq=False)
class IdpSse(Simulator):
    """Simulator of the mean SSE on `data` with classes, for all smallest cluster sizes `k`.

    Methods without clusters have the same SSE at each k, from the same draws.
    """

    data: NumericMicrodata
    k: tuple[int, ...]

    def simulate(self, cell: Cell, generator: np.random.Generator, replicates: int) -> Simulated:
        method, epsilon = cell["method"], float(cell["epsilon"])
        values, labels, noise = self.data.values, self.data.labels, SeededNoise(generator)
        upper = idp.domain_bounds(values, float(cell["domain_factor"]))
        records = values, labels, len(self.data.classes), upper
        match method:
            case "dp_median":
                medians = idp.class_medians(*records, epsilon, generator, replicates)
                columns = [np.array([idp.mean_sse(values, own.T[labels]) for own in medians])]
            case "dp_synthetic":
                bins = idp.bins_of_domain(upper, values)
                made = partial(idp.noisy_histograms, *records, bins=bins, epsilon=epsilon)
                drawn = (made(noise=noise).synthesize(labels, generator) for _ in range(replicates))
                columns = [np.array([idp.mean_sse(values, each) for each in drawn])]
            case "no_data":
                columns = [np.full(replicates, idp.mean_sse(values, np.zeros_like(values)))]
            case "least_dp":
                columns = [np.full(replicates, least_dp_sse(self.data, epsilon))]
            case _:
                sizes = self.k[:1] if method == "dp" else self.k
                maskings = (idp.masking(method, self.ranking, k, upper, epsilon) for k in sizes)
                columns = [self._runs(found, noise, replicates) for found in maskings]
        every = np.broadcast_to(columns, (len(self.k), replicates))
        for k, errors in zip(self.k, every, strict=True):
            yield {"k": k}, errors

    @cached_property
    def ranking(self) -> idp.Ranking:
        return idp.Ranking.of(self.data.values)

    @cached_property
    def variances(self) -> Floats:
        return idp.sample_variances(self.data.values)

    def _runs(self, found: idp.Masking, noise: SeededNoise, replicates: int) -> Floats:
        at_once = max(DRAWS_AT_ONCE // found.centres.size, 1)
        parts = (min(at_once, replicates - start) for start in range(0, replicates, at_once))
        drawn = (found.noisy_centroids(noise, runs) for runs in parts)
        return np.concatenate([idp.masking_sse(found, each, self.variances) for each in drawn])


def least_dp_sse(data: NumericMicrodata, epsilon: float) -> float:
    """Return the least mean SSE of releases of `data` with independent attributes and central ε-DP.

    ε is `epsilon`. There are two conditions: each attribute is released independently, from its own
    values and public classes, and the release ignores the order of the records. The SSE can be
    smaller without them: for nine equal binary columns that one randomized response releases, and
    for a file that was guessed beforehand.

    *Proof.* Assign the values of an attribute to the records of each (public) class at random. An
    exchange of the values of two records is two changes of a record. So a release is at most
    exp(2 epsilon_j) times as likely under one assignment as under the other. Given the release,
    each value of a record keeps at least exp(-2 epsilon_j) times its probability, and so does its
    squared distance from any guess. The expected distance was at least the variance within the
    class. A method that ignores order and other attributes has the same expected SSE for every
    assignment. Independent releases together use epsilon = sum of epsilon_j. The bound is for the
    best allocation, with V_j the variance within classes in units of s_j^2: the least mean over j
    of V_j exp(-2 epsilon_j).
    """
    classes = (data.values[data.labels == code] for code in np.unique(data.labels))
    within = sum(len(part) * part.var(axis=0) for part in classes)
    variances = np.sort(np.asarray(within) / len(data) / idp.sample_variances(data.values))[::-1]
    # The privacy budget lowers the largest terms to one level and does not change the others.
    logs = np.log(variances)
    levels = (np.cumsum(logs) - 2 * epsilon) / np.arange(1, logs.size + 1)
    lowered = int(np.sum(logs > levels))
    left = np.concatenate([np.full(lowered, levels[lowered - 1]), logs[lowered:]])
    return float(np.exp(left).mean())


def expected_table(dataset: str, data: NumericMicrodata, simulated: pd.DataFrame) -> pd.DataFrame:
    """Return the expected mean SSE of `data`, and the `simulated` one (idp_fig3 or idp_fig4).

    There is one row per setting of the methods of the text; for ``dp`` k is 0. The columns are
    `dataset`, ``method``, ``epsilon``, ``domain_factor``, ``k``, ``expected_sse``, the simulated
    ``mean_sse`` with interval and replicates, and ``standardized``: its distance from the
    expectation in standard errors, as a normal score of Student's distribution (0 without error).
    Settings are independent. Errors are skewed, so the sum of squared scores is chi-squared only
    with many replicates; `reproduction.papers.idp.sections.simulation_test` does not need many.
    """
    own = simulated[simulated["method"].isin(idp.METHODS)].copy()
    own.insert(0, "dataset", dataset)
    study, names = IdpSse(data, ()), ("method", "epsilon", "domain_factor", "k")
    expected = []
    for method, epsilon, factor, k in zip(*(own[name] for name in names), strict=True):
        upper = idp.domain_bounds(data.values, factor)
        found = idp.masking(method, study.ranking, int(k), upper, epsilon)
        expected.append(idp.expected_sse(found, study.variances))
    own.insert(list(own.columns).index("mean_sse"), "expected_sse", expected)
    own["k"] = own["k"].where(own["method"] != "dp", 0)
    freedom, apart = own["replicates"] - 1, own["mean_sse"] - own["expected_sse"]
    reach = scipy.special.stdtrit(freedom, (1 + CONFIDENCE) / 2)
    errors = (own["ci_high"] - own["ci_low"]) / 2 / reach
    tails = scipy.special.stdtr(freedom, -apart.abs() / errors)
    known = errors.between(0, np.inf, inclusive="neither")
    scores = np.where(known, -np.sign(apart) * scipy.special.ndtri(tails), 0.0)
    own.insert(list(own.columns).index("replicates") + 1, "standardized", scores)
    return own.drop_duplicates([*names], ignore_index=True)
