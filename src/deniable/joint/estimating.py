"""Estimate one consistent joint distribution from randomized records."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deniable.arrays import Floats
from deniable.errors import DeniableError
from deniable.joint.correction import corrected
from deniable.joint.distribution import JointDistribution
from deniable.joint.evidence import Evidence
from deniable.joint.stacking import MAX_CLASSES, Stacked, stack_classes
from deniable.records import Domain
from deniable.responses import Answers


@dataclass(frozen=True, eq=False)
class JointEstimate:
    """An estimated joint `distribution`, with the choices that led to it.

    The `stacked` latent classes have the held-out likelihoods. `rounds` is the number of rounds of
    the correction by pairs, 0 without a correction. `misfit` is Pearson's statistic of held-out
    pairs over its degrees of freedom; about 1 if the model fits, NaN without complete records.
    """

    distribution: JointDistribution
    stacked: Stacked
    rounds: int
    misfit: float


def estimate_joint(
    answers: Sequence[Answers],
    domain: Domain,
    weights: Floats | None = None,
    *,
    seed: int = 0,
    most: int = MAX_CLASSES,
) -> JointEstimate:
    """Return the joint distribution of the columns of a `domain`, from randomized `answers` alone.

    The channels may be of any kind, and of single columns or clusters; a record may have answers
    about some columns only. Latent classes are fitted by the likelihood through the channels, and
    stacked (`deniable.joint.stacking`); then pairs correct them (`deniable.joint.correction`).

    Parameters
    ----------
    answers : sequence of Answers
        The randomized values of all records, as `deniable.responses.Responses.answers` returns.
    domain : Domain
        The columns in their order; each has an answer.
    weights : shape (records,), optional
        Positive weights of the records.
    seed : int
        From 0; decides the parts of the records and the starts of the climbs.
    most : int
        The largest number of latent classes, at least 1, which is independence of all columns.

    Raises
    ------
    DeniableError
        If there are fewer than 2 records, or a cluster has too many cells.
    """
    if not answers or answers[0].codes.size < 2:
        raise DeniableError("a joint distribution needs randomized records; give at least 2")
    evidence = Evidence.of(answers, weights)
    stacked = stack_classes(evidence, np.random.default_rng(seed), most=most)
    model, rounds, misfit = corrected(stacked, evidence)
    return JointEstimate(JointDistribution(domain, evidence.units, model), stacked, rounds, misfit)
