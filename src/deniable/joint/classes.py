"""Latent classes: within a class, the units of a record are independent.

The model has weights w_k and distributions theta_kj. Pr(u) is the sum over k of w_k times the
product over units j of theta_kj(u_j). Responses depend on the original values alone, so Pr(y) has
the same form: each theta_kj goes through its channel. EM needs only the expected numbers of
randomized values in each class, not the original records. Its steps are extrapolated [squarem].
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats
from deniable.joint.evidence import Evidence, outer

Singles = npt.NDArray[np.float32]
FLOOR = 1e-12  # the smallest parameter after an extrapolation, so that EM can raise it again
LEAST_PROBABILITY = 1e-30  # of a randomized value in a class
PRIOR = 1.0
"""Records that the prior adds to each class, distributed as the margins of the whole file."""
SCATTER = 5.0  # records of the distributions from which classes are drawn at the start
LEAST_GAIN = (0.01, 1e-3)
"""A climb ends if a cycle of three steps gains less log-likelihood than the first number, and less
than the second one times the gain over independence."""
MAX_STEPS = 240


@dataclass(frozen=True, eq=False)
class LatentClasses:
    """`weights`, shape (classes,), and `conditionals` of each unit, shape (classes, cells)."""

    weights: Floats
    conditionals: tuple[Floats, ...]

    @classmethod
    def independent(cls, margins: Sequence[Floats]) -> "LatentClasses":
        """Return one class with the `margins` of the units: independence of all units."""
        return cls(np.ones(1), tuple(margin[None] for margin in margins))

    @classmethod
    def near(
        cls, margins: Sequence[Floats], classes: int, generator: np.random.Generator
    ) -> "LatentClasses":
        """Return random `classes` about the `margins`, drawn by the `generator`, as a start."""
        drawn = (generator.dirichlet(SCATTER * margin + 0.01, classes) for margin in margins)
        near = (0.9 * own + 0.1 * margin for own, margin in zip(drawn, margins, strict=True))
        return cls(np.full(classes, 1.0 / classes), tuple(near))

    @classmethod
    def mixture(cls, models: Sequence["LatentClasses"], shares: npt.ArrayLike) -> "LatentClasses":
        """Return the mixture of `models` with these `shares`, which sum to 1."""
        pairs = [
            (m, share) for m, share in zip(models, np.asarray(shares), strict=True) if share > 0
        ]
        weights = np.concatenate([share * model.weights for model, share in pairs])
        units = zip(*(model.conditionals for model, _ in pairs), strict=True)
        return cls(weights, tuple(np.concatenate(own) for own in units))

    def distribution(self, units: Sequence[int]) -> Floats:
        """Return the distribution of the joint cells of `units`, numbers of at least one unit.

        The last unit changes fastest. The time is the number of cells times the classes.
        """
        own, half = [self.conditionals[at] for at in units], len(units) // 2
        if not half:
            return np.asarray(self.weights @ own[0])
        left, right = outer(own[:half]), outer(own[half:])
        return np.asarray(((left * self.weights[:, None]).T @ right).reshape(-1))

    def log_densities(self, evidence: Evidence) -> Floats:
        """Return the logarithm of the probability of each record of the `evidence`."""
        shares, log_scale, _ = _joint_densities(self, evidence)
        return np.asarray(log_scale + np.log(shares.sum(axis=1, dtype=float)))


def fit_classes(
    start: LatentClasses, evidence: Evidence, *, steps: int = MAX_STEPS
) -> LatentClasses:
    """Return the most likely classes that EM reaches from a `start`, in at most `steps` steps.

    The likelihood of the `evidence` has a weak prior, `PRIOR`, towards the marginal distributions.
    """
    least, part = LEAST_GAIN
    floor = evidence.sum_of(LatentClasses.independent(evidence.margins).log_densities(evidence))
    model, reached, taken = start, -np.inf, 0
    while taken < steps:
        first, _ = _em_step(model, evidence)
        second, middle = _em_step(first, evidence)
        third, height = _em_step(_extrapolated(model, first, second), evidence)
        taken += 3
        model, now = (third, height) if height >= middle else (second, middle)
        if now - reached < least + part * max(now - floor, 0.0):
            break
        reached = now
    return model


def _extrapolated(
    start: LatentClasses, first: LatentClasses, second: LatentClasses
) -> LatentClasses:
    """Return the SQUAREM extrapolation of two EM steps."""
    models = start, first, second
    a, b, c = (np.concatenate([m.weights, *map(np.ravel, m.conditionals)]) for m in models)
    r, v = b - a, c - 2 * b + a
    length = max(float(np.sqrt((r @ r) / max(v @ v, 1e-300))), 1.0)
    jump = a + 2 * length * r + length**2 * v
    values = np.maximum(np.where(jump > 0, jump, c / 2), FLOOR)
    classes = place = start.weights.size
    found: list[Floats] = []
    for own in start.conditionals:
        part = values[place : place + own.size].reshape(own.shape)
        part = np.where(second.conditionals[len(found)] > 0, part, 0.0)
        found.append(part / part.sum(axis=1, keepdims=True))
        place += own.size
    return LatentClasses(values[:classes] / values[:classes].sum(), tuple(found))


def _joint_densities(
    model: LatentClasses, evidence: Evidence
) -> tuple[Singles, Floats, list[Floats]]:
    """Return w_k Pr(y | k), scaled within each record, the logarithms of the scales, and Pr(v | k).

    The first has the shape (records, classes); the last has one array per part, (classes, values).
    """
    cells = (outer([model.conditionals[at] for at in part.units]) for part in evidence.parts)
    through = [
        np.maximum(part.channel.reported(own), LEAST_PROBABILITY)
        for part, own in zip(evidence.parts, cells, strict=True)
    ]
    shares = np.empty((evidence.records, model.weights.size), np.float32)
    shares[:] = model.weights
    log_scale = np.zeros(evidence.records)
    for number, merged in enumerate(evidence.merged):
        table = outer([through[at] for at in merged.parts]).T
        largest = table.max(axis=1)
        scaled = (table / largest[:, None]).astype(np.float32)
        rows = slice(None) if merged.rows is None else merged.rows
        own = shares[rows]  # a view, unless `rows` are given
        own *= scaled[merged.codes]
        log_scale[rows] += np.log(largest)[merged.codes]
        if merged.rows is not None or number % 4 == 3:  # so that long products do not become 0
            most = own.max(axis=1)
            shares[rows] = own / most[:, None]
            log_scale[rows] += np.log(most)
    return shares, log_scale, through


def _em_step(model: LatentClasses, evidence: Evidence) -> tuple[LatentClasses, float]:
    """Return the next model, and the penalized log-likelihood of the given one."""
    margins, own = evidence.margins, evidence.weights
    shares, log_scale, through = _joint_densities(model, evidence)
    sums = shares @ np.ones(len(model.weights), np.float32)  # faster than `sum`
    height = evidence.sum_of(log_scale + np.log(sums.astype(float)))
    height += PRIOR * _log_prior(model, margins)
    shares *= ((1.0 if own is None else own.astype(np.float32)) / sums)[:, None]
    numbers = (np.ones(len(shares), np.float32) @ shares).astype(float) + PRIOR
    expected = [
        np.broadcast_to(PRIOR * margin, each.shape).copy()
        for margin, each in zip(margins, model.conditionals, strict=True)
    ]
    for merged in evidence.merged:
        within = shares if merged.rows is None else shares[merged.rows]
        table = (merged.indicators @ within).T.astype(float).reshape(-1, *merged.shape)
        for axis, at in enumerate(merged.parts, start=1):
            others = tuple(k for k in range(1, table.ndim) if k != axis)
            part, values = evidence.parts[at], table.sum(axis=others)
            conditionals = [model.conditionals[unit] for unit in part.units]
            cells = outer(conditionals) * part.channel.expected(values / through[at])
            add_margins(expected, part.units, cells)
    found = tuple(each / each.sum(axis=1, keepdims=True) for each in expected)
    return LatentClasses(numbers / numbers.sum(), found), height


def add_margins(expected: Sequence[Floats], units: Sequence[int], cells: Floats) -> None:
    """Add the joint `cells` of some `units`, summed for each unit, to its `expected` numbers.

    The shapes are (classes, joint cells) and, for each unit, (classes, cells).
    """
    table = cells.reshape(-1, *(expected[at].shape[1] for at in units))
    for axis, at in enumerate(units, start=1):
        others = tuple(other for other in range(1, table.ndim) if other != axis)
        expected[at] += table.sum(axis=others)


def _log_prior(model: LatentClasses, margins: Sequence[Floats]) -> float:
    pairs = zip(model.conditionals, margins, strict=True)
    logs = sum(float((m[m > 0] * np.log(c[:, m > 0])).sum()) for c, m in pairs)
    return float(np.log(model.weights).sum()) + logs
