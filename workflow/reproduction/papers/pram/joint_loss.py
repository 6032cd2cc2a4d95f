"""The effect of invariant PRAM of single attributes on joint distributions ([pram], section 2).

Matrices R1 and R2 that are invariant for the two marginals of a joint distribution pi preserve both
marginals, but the joint distribution of randomized values is R1' pi R2. The study compares it with
one matrix that is invariant for the joint distribution, at the same ε for a change of both values.
It also compares it with an analyst who inverts the known R1 and R2.
"""

from dataclasses import dataclass

import numpy as np

from deniable.arrays import Counts, Floats
from deniable.channels import Channel, ProductChannel, two_step_with_epsilon
from deniable.errors import DeniableError
from deniable.estimation import clip_and_rescale, random_queries
from deniable.randomized_response import dependence_of_tables
from deniable.records import Microdata

from reproduction.study import Cell, Simulated, Simulator, measured

ESTIMATORS = ("separate", "separate_inverted", "joint")


@dataclass(frozen=True, eq=False)
class JointLoss(Simulator):
    """Simulator of joint distributions after invariant PRAM of one file with the records `data`.

    A count query covers a proportion `coverage` of the pair's cells. A setting has ``first``,
    ``second`` and ``epsilon`` (of the pair of values). All ε are conditional on the matrices, which
    disclose marginals or the joint distribution if published.

    ``true`` has only ``cramers_v``. The estimators are the randomized values of ``separate``, the
    same inverted (unbiased, but possibly outside [0, 1]), and the randomized values of ``joint``.
    Measures:

    - ``expected_distance``: exact total variation distance between the expectation of the estimate
      and the original distribution;
    - ``distance``: the same for the estimate;
    - ``margin_distance``: the larger distance of both marginal distributions;
    - ``cramers_v``: of the estimate, clipped and rescaled if it is outside [0, 1];
    - ``expected_cramers_v``: of its expectation;
    - ``query_bias``: |expectation - truth| of a random count query, a proportion of records;
    - ``query_error``: the error of the replicate in the same query.
    """

    data: Microdata
    coverage: float = 0.1

    def simulate(self, cell: Cell, generator: np.random.Generator, replicates: int) -> Simulated:
        counts, separate, joint = self.mechanisms(cell)
        true, runs = counts / counts.sum(), (replicates, *counts.shape)
        queries = random_queries(true.size, self.coverage, replicates, generator)
        asked = queries.reshape(runs).astype(float)
        yield {"estimator": "true", "measure": "cramers_v"}, dependence_of_tables(true, "cramers_v")
        files = np.broadcast_to(counts.reshape(-1), (replicates, counts.size))
        drawn = separate.randomize_counts(files, generator)
        of_joint = joint.randomize_counts(files, generator) / counts.sum()
        found = drawn / counts.sum(), separate.estimate(drawn), of_joint
        biased = separate.reported(true.reshape(-1)).reshape(true.shape)
        every = zip(ESTIMATORS, (biased, true, true), found, strict=True)
        for estimator, expected, estimates in every:
            estimate = estimates.reshape(runs)
            errors = estimate - true
            of_margins = (np.abs(errors.sum(axis=axis)).sum(axis=-1) for axis in (1, 2))
            shares = clip_and_rescale(estimates).reshape(runs)
            measures = {
                "expected_distance": _distance(expected - true),
                "distance": _distance(errors),
                "margin_distance": np.maximum(*of_margins) / 2,
                "cramers_v": dependence_of_tables(shares, "cramers_v"),
                "expected_cramers_v": dependence_of_tables(expected, "cramers_v"),
                "query_bias": np.abs(np.einsum("rij,ij->r", asked, expected - true)),
                "query_error": np.abs(np.einsum("rij,rij->r", asked, errors)),
            }
            yield from measured(measures, estimator=estimator)

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
