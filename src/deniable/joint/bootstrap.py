"""Intervals that are valid if the model holds, and a test of its fit, by a parametric bootstrap.

Records are drawn from the estimated distribution, randomized through the same channels, and the
whole estimate is repeated, with its choice of classes and rounds. The difference between repeated
and first estimate has the distribution of the error, if the joint distribution is of this kind. The
mean of the difference, the bias, is removed from the estimate. There is a test of the held-out
misfit: it is compared with the misfits of the repetitions.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from deniable.arrays import Floats
from deniable.errors import DeniableError
from deniable.estimation import student
from deniable.joint.distribution import JointDistribution
from deniable.joint.estimating import JointEstimate, estimate_joint
from deniable.responses import Answers

Quantity = Callable[[JointDistribution], Floats]


def repeated(
    estimate: JointEstimate,
    answers: Sequence[Answers],
    replicates: int,
    seed: int,
    weights: Floats | None = None,
) -> Iterator[JointEstimate]:
    """Yield the estimates of `replicates` new releases of records from an `estimate`.

    `answers` and `weights` are those of the estimate, and `seed` decides all draws. Raises
    `DeniableError` if records have answers through different channels for another reason than
    chance, as in strata.
    """
    partial = any(part.codes.min(initial=0) < 0 for part in answers)
    if partial and any(part.channel.epsilon == np.inf for part in answers):
        raise DeniableError(
            "columns are released unchanged, and decide the channels of a record, so releases "
            "cannot be repeated; use the intervals that are valid whatever the joint distribution"
        )
    generator = np.random.default_rng([seed, 1])
    for number in range(replicates):
        records = estimate.distribution.sample(answers[0].codes.size, generator, whole=False)
        drawn = []
        for part in answers:
            columns = [records.column(name) for name in part.cells.names]
            reports = part.channel.randomize(part.cells.ravel(columns), generator)
            drawn.append(Answers(part.cells, part.channel, np.where(part.codes < 0, -1, reports)))
        yield estimate_joint(drawn, estimate.distribution.domain, weights, seed=seed + number + 1)


def model_limits(
    estimate: JointEstimate,
    repetitions: Sequence[JointEstimate],
    quantity: Quantity,
    confidence: float,
) -> tuple[Floats, Floats]:
    """Return the limits of a `quantity` of an `estimate` that are valid if the model holds.

    The `quantity` has values in [0, 1]. The `repetitions`, at least 2, are those of `repeated`. The
    limits have this `confidence`, each on its own.
    """
    first = quantity(estimate.distribution)
    errors = np.array([quantity(each.distribution) for each in repetitions]) - first
    number = len(errors)
    reach = student(np.array(number - 1.0), confidence) * errors.std(axis=0, ddof=1)
    reach, middle = reach * np.sqrt(1 + 1 / number), first - errors.mean(axis=0)
    low, high = (np.clip(middle + sign * reach, 0.0, 1.0) for sign in (-1, 1))
    return np.minimum(low, first), np.maximum(high, first)


def p_value_of_fit(estimate: JointEstimate, repetitions: Sequence[JointEstimate]) -> float:
    """Return the p-value of an `estimate`: the rank of its misfit among those of `repetitions`.

    It is NaN if there is no misfit.
    """
    larger = sum(each.misfit >= estimate.misfit for each in repetitions)
    return np.nan if np.isnan(estimate.misfit) else (1 + larger) / (1 + len(repetitions))
