"""The effect of invariant PRAM of single attributes on joint distributions ([pram], section 2).

Matrices R1 and R2 that are invariant for the two marginals of a joint distribution pi preserve both
marginals, but the joint distribution of randomized values is R1' pi R2. The study compares it with
one matrix that is invariant for the joint distribution, at the same ε for a change of both values.
It also compares it with an analyst who inverts the known R1 and R2.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from deniable.arrays import Counts, Floats
from deniable.channels import Channel, ProductChannel, two_step_with_epsilon
from deniable.errors import DeniableError
from deniable.estimation import clip_and_rescale, random_queries
from deniable.randomized_response import dependence_of_tables
from deniable.records import Microdata

from reproduction.study import Cell, Simulator

ESTIMATORS = ("separate", "separate_inverted", "joint")
MEASURES = (
    *("expected_distance", "distance", "margin_distance", "cramers_v", "expected_cramers_v"),
    *("query_bias", "query_error"),
)


@dataclass(frozen=True, eq=False)
class JointLoss(Simulator):
    """Simulator of joint distributions after invariant PRAM of one file with the records `data`.

    A count query covers a proportion `coverage` of the pair's cells. A setting has ``first``,
    ``second`` and ``epsilon`` (of the pair of values). All ε are conditional on the matrices, which
    disclose marginals or the joint distribution if published.
    """

    data: Microdata
    coverage: float = 0.1

    def outputs(self, cell: Cell) -> list[dict[str, Any]]:
        """Return the names of each output of a `cell`: estimator, measure.

        ``true`` has only ``cramers_v``. The estimators are the randomized values of ``separate``,
        the same inverted (unbiased, but possibly outside [0, 1]), and the randomized values of
        ``joint``. Measures:

        - ``expected_distance``: exact total variation distance between the expectation of the
          estimate and the original distribution;
        - ``distance``: the same for the estimate;
        - ``margin_distance``: the larger distance of both marginal distributions;
        - ``cramers_v``: of the estimate, clipped and rescaled if it is outside [0, 1];
        - ``expected_cramers_v``: of its expectation;
        - ``query_bias``: |expectation - truth| of a random count query, a proportion of records;
        - ``query_error``: the error of the replicate in the same query.
        """
        named = [{"estimator": "true", "measure": "cramers_v"}]
        return named + [{"estimator": e, "measure": m} for e in ESTIMATORS for m in MEASURES]

    def __call__(self, cell: Cell, generator: np.random.Generator, replicates: int) -> Floats:
        counts, separate, joint = self.mechanisms(cell)
        true, runs = counts / counts.sum(), (replicates, *counts.shape)
        queries = random_queries(true.size, self.coverage, replicates, generator)
        asked = queries.reshape(runs).astype(float)
        columns = [np.full(replicates, float(dependence_of_tables(true, "cramers_v")))]
        files = np.broadcast_to(counts.reshape(-1), (replicates, counts.size))
        drawn = separate.randomize_counts(files, generator)
        of_joint = joint.randomize_counts(files, generator) / counts.sum()
        found = drawn / counts.sum(), separate.estimate(drawn), of_joint
        biased = separate.reported(true.reshape(-1)).reshape(true.shape)
        for expected, estimates in zip((biased, true, true), found, strict=True):
            estimate = estimates.reshape(runs)
            errors = estimate - true
            of_margins = (np.abs(errors.sum(axis=axis)).sum(axis=-1) for axis in (1, 2))
            shares = clip_and_rescale(estimates).reshape(runs)
            columns += [
                np.full(replicates, _distance(expected - true)),
                _distance(errors),
                np.maximum(*of_margins) / 2,
                dependence_of_tables(shares, "cramers_v"),
                np.full(replicates, float(dependence_of_tables(expected, "cramers_v"))),
                np.abs(np.einsum("rij,ij->r", asked, expected - true)),
                np.abs(np.einsum("rij,rij->r", asked, errors)),
            ]
        return np.stack(columns, axis=1)

    def mechanisms(self, cell: Cell) -> tuple[Counts, ProductChannel, Channel]:
        """Return the true counts of a `cell`, shape (first, second), and two invariant channels.

        The first channel has a two-step matrix for each attribute, each with half of ε, the second
        one matrix for all cells. Empty categories are left out.
        """
        first, second, epsilon = cell["first"], cell["second"], cell["epsilon"]
        if first == second:
            raise DeniableError(f"a pair needs two attributes, not {first!r} twice")
        counts = self.data.counts((first, second))
        counts = counts[np.ix_(counts.any(axis=1), counts.any(axis=0))]
        shares = counts / counts.sum()
        factors = (two_step_with_epsilon(shares.sum(axis=axis), epsilon / 2) for axis in (1, 0))
        joint = two_step_with_epsilon(shares.reshape(-1), epsilon)
        return counts, ProductChannel(tuple(factors)), joint


def _distance(differences: Floats) -> Floats:
    return np.asarray(np.abs(differences).sum(axis=(-2, -1)) / 2)
