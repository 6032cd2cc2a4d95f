"""The privacy that is claimed against the privacy that is there.

Nothing here asks a channel for its own epsilon: matrices are rebuilt in whole numbers from the
papers' definitions, ratios are taken column by column, and the sampler that ships is held against
the matrix that it claims.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import special

from deniable.channel.ratios import log_rounded_up
from deniable.domain import Codes
from deniable.errors import DeniableError
from deniable.readings import ClusterMechanism, Reading

Matrix = npt.NDArray[np.object_]
"""Whole-number weights as Python integers, each row proportional to its probabilities: exact, and
faster than fractions."""

Unit = Literal["attribute", "cluster", "record", "one attribute in its cluster"]

LARGEST_AUDITED_MATRIX = 400
CLAIM_TOLERANCE = 1e-12  # claims are formulas evaluated to nearest


@dataclass(frozen=True)
class Finding:
    """A claim of privacy and what is true of it.

    Attributes
    ----------
    claimed : float
        Epsilon by the paper's formula.
    exact : float
        Exact epsilon, rounded up.
    """

    claimed: float
    exact: float

    @property
    def holds(self) -> bool:
        """Whether the exact epsilon is not above the claim (up to the claim's own rounding)."""
        return self.exact <= self.claimed * (1 + CLAIM_TOLERANCE) + CLAIM_TOLERANCE


def rational_odds(size: int, p: Fraction, reading: Reading) -> Fraction:
    """Return diagonal / elsewhere of an attribute's RR matrix, exactly (text 003, 6.3.1)."""
    match reading:
        case "printed":
            return p * size / (1 - p)
        case "keep":
            return 1 + p * size / (1 - p)
        case "diagonal":
            return p * (size - 1) / (1 - p)
    raise DeniableError(f"unknown reading {reading!r}")


def constant_matrix(size: int, odds: Fraction) -> Matrix:
    """Return the weights of the matrix whose diagonal is `odds` times its other entries."""
    weights = np.full((size, size), odds.denominator, dtype=object)
    np.fill_diagonal(weights, odds.numerator)
    return weights


def claimed_odds(sizes: Sequence[int], p: Fraction, reading: Reading) -> Fraction:
    """Return exp(sum of the attributes' claimed epsilons), exactly."""
    ratios = [rational_odds(size, p, reading) for size in sizes]
    return math.prod((max(r, 1 / r) for r in ratios), start=Fraction(1))


def exact_epsilon(matrix: Matrix, classes: Sequence[Sequence[int]] | None = None) -> float:
    """Return the exact epsilon of a matrix of whole-number weights: the worst ratio in a column.

    Parameters
    ----------
    matrix : object array of Python integers, rows of equal sum
        Each row proportional to its probabilities.
    classes : sequences of row numbers, optional
        True values that privacy must not tell apart from others of their class; by default all
        are one class.

    Raises
    ------
    DeniableError
        If a weight is negative or the rows differ in their sum: they are then no distributions.
    """
    sums = set(matrix.sum(axis=1))
    if len(sums) != 1 or matrix.min() < 0:
        raise DeniableError("the matrix to audit has negative weights or rows of unequal sum")
    worst = Fraction(1)
    for rows in classes or [range(len(matrix))]:
        part = matrix[list(rows)]
        for largest, smallest in zip(part.max(axis=0), part.min(axis=0), strict=True):
            if smallest == 0 < largest:
                return math.inf
            if largest * worst.denominator > smallest * worst.numerator:
                worst = Fraction(largest, smallest)
    return log_rounded_up(worst)


def audit_attribute(size: int, p: str, reading: Reading) -> Finding:
    """Audit the RR matrix of one attribute (6.3.1). `p` is decimal text, taken exactly."""
    odds = rational_odds(size, Fraction(p), reading)
    claimed = abs(math.log(odds)) if odds else math.inf
    return Finding(claimed, exact_epsilon(constant_matrix(size, odds)))


def audit_cluster(
    sizes: Sequence[int],
    p: str,
    reading: Reading,
    mechanism: ClusterMechanism,
    changed: int | None = None,
) -> Finding:
    """Audit a cluster's matrix (6.3.2), for a change of all its attributes or of only one.

    Parameters
    ----------
    sizes : numbers of categories of the cluster's attributes
    p : decimal text
    reading, mechanism : as in `deniable.multirr.cluster_channel`
    changed : int, optional
        Position of the one attribute that changes; the claim is then that attribute's epsilon, the
        "equal risk" of RR-Clusters and RR-Independent taken attribute by attribute.
    """
    exact_p = Fraction(p)
    cells = list(product(*(range(size) for size in sizes)))
    if len(cells) > LARGEST_AUDITED_MATRIX:
        raise DeniableError(
            f"a cluster of {len(cells)} cells is over the {LARGEST_AUDITED_MATRIX} audited in "
            "rational numbers; audit its attributes"
        )
    if mechanism == "joint" and len(sizes) > 1:
        matrix = constant_matrix(len(cells), claimed_odds(sizes, exact_p, reading))
    else:
        matrix = np.ones((1, 1), dtype=object)
        for size in sizes:
            matrix = np.kron(matrix, constant_matrix(size, rational_odds(size, exact_p, reading)))
    claimed_sizes = sizes if changed is None else [sizes[changed]]
    claimed = math.log(claimed_odds(claimed_sizes, exact_p, reading))
    if changed is None:
        return Finding(claimed, exact_epsilon(matrix))

    # Cells that agree on all other attributes differ in the changed one alone.
    classes: dict[tuple[int, ...], list[int]] = {}
    for number, cell in enumerate(cells):
        classes.setdefault(cell[:changed] + cell[changed + 1 :], []).append(number)
    return Finding(claimed, exact_epsilon(matrix, list(classes.values())))


@dataclass(frozen=True)
class SamplerTest:
    """A goodness-of-fit test of a sampler against the matrix that it claims.

    Attributes
    ----------
    draws : int
    statistic, degrees_of_freedom, p_value : float
        Pearson's chi-square over all rows, cells expected below 5 pooled row by row.
    impossible : int
        Draws of reports that have probability 0. Any is a fault.
    """

    draws: int
    statistic: float
    degrees_of_freedom: int
    p_value: float
    impossible: int


def audit_sampler(
    randomize: Callable[[Codes], Codes], matrix: npt.ArrayLike, draws_a_row: int
) -> SamplerTest:
    """Draw from a sampler at every true category and hold the reports against its matrix.

    Parameters
    ----------
    randomize : callable
        Codes in, reported codes out, as the release uses it.
    matrix : row-stochastic
    draws_a_row : int, >= 1
    """
    P = np.asarray(matrix, dtype=float)
    size = len(P)
    reports = randomize(np.repeat(np.arange(size), draws_a_row)).reshape(size, draws_a_row)
    statistic, freedom, impossible = 0.0, 0, 0
    for row, drawn in zip(P, reports, strict=True):
        observed = np.bincount(drawn, minlength=size).astype(float)
        impossible += int(observed[row == 0].sum())
        expected = draws_a_row * row
        observed, expected = _pooled(observed, expected)
        statistic += float(((observed - expected) ** 2 / expected).sum())
        freedom += expected.size - 1
    p_value = float(special.chdtrc(freedom, statistic)) if freedom else 1.0
    return SamplerTest(size * draws_a_row, statistic, freedom, p_value, impossible)


def _pooled(
    observed: np.ndarray, expected: np.ndarray, least: float = 5.0
) -> tuple[np.ndarray, np.ndarray]:
    rare = expected < least
    if not rare.any():
        return observed, expected
    observed = np.append(observed[~rare], observed[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    keep = expected > 0
    return observed[keep], expected[keep]
