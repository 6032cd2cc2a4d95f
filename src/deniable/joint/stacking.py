"""The number of latent classes, chosen by the responses alone: models are stacked.

Records are divided at random into parts. For each part and each number of classes, a model is
fitted to all other records; the probabilities of the part's responses in these models are held out.
The stacked distribution is the mixture over the numbers of classes whose shares maximize the
held-out likelihood [stacking], with the mean of the models of one number over the parts. One class,
independence, is among them. The mean over parts also makes the distribution smoother (bagging).
"""

from dataclasses import dataclass

import numpy as np

from deniable.arrays import Floats, Positions
from deniable.joint.classes import LatentClasses, fit_classes
from deniable.joint.evidence import Evidence

FOLDS = 4
MAX_CLASSES = 32
STACKING_STEPS = 300
CLEAR = 1.0
"""Standard errors by which the mixture gains over independence; otherwise it is independence."""


@dataclass(frozen=True, eq=False)
class Stacked:
    """A `model`: a mixture of models of several numbers of classes, and why they were chosen."""

    model: LatentClasses
    classes: tuple[int, ...]  # numbers of classes that were tried
    shares: Floats  # of each number in the mixture
    gains: Floats
    """Held-out log-likelihood of each number, minus that of independence, in nats."""
    errors: Floats
    """Standard errors of the gains."""
    fold: Positions  # the part of each record
    without: tuple[LatentClasses, ...]  # for each part, the mixture from all other records


def stack_classes(
    evidence: Evidence,
    generator: np.random.Generator,
    *,
    folds: int = FOLDS,
    most: int = MAX_CLASSES,
) -> Stacked:
    """Return the stacked model of the `evidence`; the `generator` draws the parts and the starts.

    There are as many parts as `folds`. Numbers of classes are 1, 2, 4, ... up to `most`, and end
    after two numbers that do not raise the held-out likelihood by more than its standard error.
    """
    fold = generator.permutation(evidence.records) % folds
    training = [evidence.part_of(np.flatnonzero(fold != k)) for k in range(folds)]
    held_out = [evidence.part_of(np.flatnonzero(fold == k)) for k in range(folds)]
    own = evidence.each_weight
    models: list[list[LatentClasses]] = []
    columns: list[Floats] = []
    sizes, behind, best = [1], 0, np.full(evidence.records, -1e9)
    while True:
        fitted = [_fitted(part, sizes[-1], generator) for part in training]
        logs = np.empty(evidence.records)
        for k, (model, part) in enumerate(zip(fitted, held_out, strict=True)):
            logs[fold == k] = model.log_densities(part)
        models.append(fitted)
        columns.append(logs)
        gain = own * (logs - best)
        behind = 0 if gain.sum() > np.sqrt(gain @ gain) else behind + 1
        best = logs if gain.sum() > 0 else best
        if behind == 2 or 2 * sizes[-1] > most or len(evidence.units) == 1:
            break
        sizes.append(2 * sizes[-1])
    table = np.column_stack(columns)
    shares, gains = _stacking_shares(table, own), table - table[:, :1]
    gain = own * np.log(np.exp(gains) @ shares)
    if gain.sum() < CLEAR * np.sqrt(gain @ gain):
        shares = np.eye(len(sizes))[0]
    errors = np.sqrt(own**2 @ (gains - gains.mean(axis=0)) ** 2)
    without = tuple(LatentClasses.mixture(each, shares) for each in zip(*models, strict=True))
    mixed = LatentClasses.mixture(without, np.full(folds, 1.0 / folds))
    return Stacked(mixed, tuple(sizes), shares, own @ gains, errors, fold, without)


def _fitted(evidence: Evidence, classes: int, generator: np.random.Generator) -> LatentClasses:
    if classes == 1 and evidence.complete and len(evidence.parts) == len(evidence.units):
        return LatentClasses.independent(evidence.margins)  # already the most likely ones
    return fit_classes(LatentClasses.near(evidence.margins, classes, generator), evidence)


def _stacking_shares(logs: Floats, weights: Floats) -> Floats:
    """Return the proportions of models that maximize the likelihood of their mixture, by EM.

    `logs` are held-out log-densities, shape (records, models).
    """
    densities = np.exp(logs - logs.max(axis=1, keepdims=True))
    shares = np.full(logs.shape[1], 1.0 / logs.shape[1])
    for _ in range(STACKING_STEPS):
        parts = densities * shares
        shares = weights @ (parts / parts.sum(axis=1, keepdims=True)) / weights.sum()
    return np.asarray(shares)
