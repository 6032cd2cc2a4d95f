"""Fit hierarchical log-linear models of contingency tables by raking, over batches of tables.

A model is specified by its free marginal distributions. One-way marginals specify the independence
of three attributes, and two-way marginals "no three-way interaction". The fitted table is the
maximum-likelihood estimate under multinomial sampling.

**Two-step maximum likelihood** ([rrba], section 6, (7)) estimates tables from noisy ones. Step one
finds the table of counts closest to a noisy one: non-negative, with the stated total. Step two fits
a log-linear model to that table as if it had been observed.

Step one minimizes gamma |T - T'|_1 + (1 - gamma) |T - T'|_2^2. For every gamma < 1 its only
solution is the Euclidean projection on the simplex with that total, so gamma has no effect.
*Proof:* the projection adds one number to all cells and replaces negative results by 0. If the
number is positive or zero, no cell falls, and |T - T'|_1 = n - sum T', the least for a table of
total n. If it is negative, cells of T' below 0 rise to 0, and no other cell rises. So the sum of
the increases is the least of any non-negative table. As the total is given, so is the sum of the
decreases. Hence the projection minimizes both norms, and for the second it is the only minimum. For
gamma = 1 it is one of several solutions.
"""

import math
import string
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import scipy

from deniable.arrays import Floats
from deniable.errors import DeniableError, named_types
from deniable.estimation import euclidean_projection

Item = TypeVar("Item", int, str)
Margin = tuple[int, ...]

TOLERANCE = 1e-10
MAX_SWEEPS = 2000


@dataclass(frozen=True)
class LogLinearModel:
    """A hierarchical log-linear model: the tables without interactions beyond given marginals.

    Parameters
    ----------
    shape : tuple of int
        Number of categories of each attribute.
    margins : tuple of tuples of int
        Positions of the attributes of each free marginal.

    Examples
    --------
    >>> LogLinearModel.independence((2, 3)).degrees_of_freedom
    2
    >>> LogLinearModel((2, 2, 2), ((0, 1), (0, 2), (1, 2))).degrees_of_freedom
    1
    """

    shape: tuple[int, ...]
    margins: tuple[Margin, ...]

    def __post_init__(self) -> None:
        if not self.shape or min(self.shape) < 1:
            raise DeniableError(
                f"a table of shape {self.shape} has no cells; give each attribute a category"
            )
        for margin in self.margins:
            inside = all(0 <= axis < len(self.shape) for axis in margin)
            if not margin or not inside or len(set(margin)) < len(margin):
                raise DeniableError(
                    f"the marginal {margin} does not fit a table of {len(self.shape)} attributes; "
                    f"name different positions in 0 .. {len(self.shape) - 1}"
                )
        covered = {axis for margin in self.margins for axis in margin}
        if missing := set(range(len(self.shape))) - covered:
            raise DeniableError(
                f"no marginal of the model has the attribute {min(missing)}; "
                "leave at least its one-way marginal free"
            )

    @classmethod
    def independence(cls, shape: Sequence[int]) -> "LogLinearModel":
        """Return the model of mutual independence of all attributes of a table of this `shape`."""
        return cls(tuple(shape), tuple((axis,) for axis in range(len(shape))))

    @property
    def cells(self) -> int:
        """Number of cells of a table."""
        return math.prod(self.shape)

    @cached_property
    def interactions(self) -> tuple[Margin, ...]:
        """All sets of attributes within a marginal, by size: main effects, then interactions."""
        found = {each for margin in self.margins for each in subsets(sorted(margin))}
        return tuple(sorted(found, key=lambda each: (len(each), each)))

    @cached_property
    def degrees_of_freedom(self) -> int:
        """Number of parameters that the saturated model has and this model lacks."""
        own = sum(math.prod(self.shape[a] - 1 for a in each) for each in self.interactions)
        return self.cells - 1 - own

    @cached_property
    def design(self) -> Floats:
        """Orthonormal columns that, with a constant, span the logarithms of the model's tables.

        The shape is (cells, parameters).
        """
        spread = [size**-0.5 for size in self.shape]
        columns = [effect_columns(self.shape, each, spread) for each in self.interactions]
        return np.hstack([np.empty((self.cells, 0)), *columns])

    def margin(self, tables: npt.ArrayLike, axes: Margin) -> Floats:
        """Return a marginal of each of `tables`, over attributes in the order of `axes`, from 0.

        The shape (..., cells) becomes (..., cells of the marginal).
        """
        return _margin(self._batch(tables), axes).reshape(*np.shape(tables)[:-1], -1)

    def fit(
        self, tables: npt.ArrayLike, *, tolerance: float = TOLERANCE, sweeps: int = MAX_SWEEPS
    ) -> Floats:
        """Return the tables of the model with the marginals and totals of the given ones.

        Independence has a closed form. Other models are fitted by raking (iterative proportional
        fitting). It stops when each cell of a marginal has an error of at most `tolerance` times
        the total, or with a warning after `sweeps`. Raking is slow if zeros in a table lead to
        further fitted zeros: then the error falls as one over the sweeps. The `tables`, shape (...,
        cells), are finite and not negative: counts or proportions. A total of 0 gives zeros.

        Examples
        --------
        >>> LogLinearModel.independence((2, 2)).fit([3.0, 1.0, 1.0, 3.0])
        array([2., 2., 2., 2.])
        """
        values = self._batch(tables)
        if not np.all(np.isfinite(values)) or np.any(values < 0):
            raise DeniableError(
                "tables must be finite and not negative to fit a model; project them first with "
                "deniable.contingency.nearest_tables"
            )
        if all(len(margin) == 1 for margin in self.margins):
            fitted = _product_of_margins(values)
        else:
            fitted = _rake(values, self.margins, tolerance, sweeps)
        return np.asarray(fitted.reshape(np.shape(tables)))

    def _batch(self, tables: npt.ArrayLike) -> Floats:
        values = np.asarray(tables, dtype=float)
        if values.ndim == 0 or values.shape[-1] != self.cells:
            raise DeniableError(
                f"tables of shape {values.shape} do not fit a model of {self.cells} cells; the "
                "last axis must have one entry per cell"
            )
        return values.reshape(-1, *self.shape)


def subsets(items: Sequence[Item]) -> list[tuple[Item, ...]]:
    """Return the nonempty subsets of `items`, each in their order, smaller ones first."""
    return [subset for size in range(len(items)) for subset in combinations(items, size + 1)]


def effect_columns(shape: Sequence[int], axes: Sequence[int], spread: Sequence[float]) -> Floats:
    """Return Helmert contrasts of the `axes` of a table of this `shape`.

    They are orthonormal, and orthogonal to a constant. `spread` has a weight for each axis; the
    weights of the other axes multiply the contrasts.
    """
    column: Floats = np.ones((1, 1))
    for axis, (size, weight) in enumerate(zip(shape, spread, strict=True)):
        factor = scipy.linalg.helmert(size).T if axis in axes else np.full((size, 1), weight)
        column = np.asarray(np.kron(column, np.ascontiguousarray(factor)), dtype=float)
    return column


def _margin(values: Floats, axes: Margin) -> Floats:
    letters = string.ascii_letters[1 : values.ndim]
    kept = "".join(letters[axis] for axis in axes)
    return np.asarray(np.einsum(f"a{letters}->a{kept}", values))


def _product_of_margins(values: Floats) -> Floats:
    tables, *shape = values.shape
    total = values.reshape(tables, -1).sum(axis=1)
    scale = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)
    fitted = total.reshape(-1, *[1] * len(shape))
    for axis in range(len(shape)):
        share = _margin(values, (axis,)) * scale[:, None]
        open_axes = [-1 if a == axis else 1 for a in range(len(shape))]
        fitted = fitted * share.reshape(tables, *open_axes)
    return np.asarray(fitted)


def _rake(values: Floats, margins: tuple[Margin, ...], tolerance: float, sweeps: int) -> Floats:
    tables, *shape = values.shape
    axes = [tuple(sorted(margin)) for margin in margins]
    targets = [_margin(values, margin) for margin in axes]
    totals = values.reshape(tables, -1).sum(axis=1)
    # Start with all ones; the first sweep sets the cells of empty marginals to 0.
    fitted = np.ones_like(values)
    # Tables that are still raked; converged tables do not change.
    running = np.arange(tables)
    for _ in range(sweeps):
        current, worst = fitted[running], np.zeros(running.size)
        for margin, target in zip(axes, targets, strict=True):
            found, wanted = _margin(current, margin), target[running]
            worst = np.maximum(worst, np.abs(found - wanted).reshape(running.size, -1).max(axis=1))
            ratio = np.divide(wanted, found, out=np.zeros_like(wanted), where=found > 0)
            open_axes = [size if a in margin else 1 for a, size in enumerate(shape)]
            current = current * ratio.reshape(-1, *open_axes)
        fitted[running] = current
        missing = worst > tolerance * totals[running]
        running, worst = running[missing], worst[missing]
        if not running.size:
            return fitted
    left = float((worst / totals[running]).max())
    warnings.warn(
        f"raking stopped after {sweeps} sweeps: {running.size} of {tables} tables have errors of "
        f"up to {left:.2g} of the total; allow more sweeps, or a larger tolerance",
        RuntimeWarning,
        stacklevel=3,
    )
    return fitted


@named_types
def two_step_estimate(
    noisy: npt.ArrayLike, totals: npt.ArrayLike, model: LogLinearModel
) -> tuple[Floats, Floats]:
    """Return the nearest tables and the model's expected counts ([rrba], section 6), (..., cells).

    Parameters
    ----------
    noisy : finite, shape (..., cells)
        The noisy counts.
    totals : positive, shape (...) or a single number
        The number of records of each table.
    model : LogLinearModel
        The model of step two.

    Examples
    --------
    >>> model = LogLinearModel.independence((2, 2))
    >>> nearest, fitted = two_step_estimate([6.0, -2.0, 2.0, 2.0], 8, model)
    >>> nearest.round(2).tolist(), fitted.round(2).tolist()
    ([5.33, 0.0, 1.33, 1.33], [4.44, 0.89, 2.22, 0.44])
    """
    tables = nearest_tables(noisy, totals)
    return tables, model.fit(tables)


def nearest_tables(noisy: npt.ArrayLike, totals: npt.ArrayLike) -> Floats:
    """Return the non-negative tables of given totals closest to noisy ones ([rrba], (7)).

    For `noisy` and `totals` see `two_step_estimate`.

    Examples
    --------
    >>> nearest_tables([6.0, -2.0, 4.0], 8)
    array([5., 0., 3.])
    """
    values = np.asarray(noisy, dtype=float)
    if values.ndim == 0 or not values.shape[-1]:
        raise DeniableError("a noisy table needs at least one cell on the last axis")
    n = np.broadcast_to(positive_totals(totals), values.shape[:-1])
    # Add the same number to all cells. Without negative results this is the projection.
    shifted = values + ((n - values.sum(axis=-1)) / values.shape[-1])[..., None]
    short = ~(shifted.min(axis=-1) >= 0)  # also true for NaN
    if np.any(short):
        total = n[short][..., None]
        shifted[short] = total * euclidean_projection(shifted[short] / total)
    return np.asarray(shifted)


def positive_totals(totals: npt.ArrayLike) -> Floats:
    """Return `totals` as floats; raise `DeniableError` unless they are positive and finite."""
    n = np.asarray(totals, dtype=float)
    if not np.all(np.isfinite(n)) or np.any(n <= 0):
        raise DeniableError("the totals of tables must be finite and positive; drop empty tables")
    return n
