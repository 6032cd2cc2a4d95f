"""Sum the weights of randomized records."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deniable.arrays import Codes, Floats
from deniable.errors import DataError
from deniable.records import refuse_foreign_codes


@dataclass(frozen=True, eq=False)
class WeightedCounts:
    """Sums over the records of a sample, by design stratum and randomized value.

    `weights` and `squares` are sums of the weights and of their squares, shape (..., strata,
    reports); `records` are numbers of records, shape (..., strata). Leading axes are separate
    samples.

    Examples
    --------
    >>> counts = WeightedCounts.of_records(np.array([0, 1, 1]), [2.0, 1.0, 3.0], size=2)
    >>> counts.weights, counts.squares, counts.records
    (array([[2., 4.]]), array([[ 4., 10.]]), array([3]))
    """

    weights: Floats
    squares: Floats
    records: npt.NDArray[np.int64]

    def __post_init__(self) -> None:
        if self.weights.shape != self.squares.shape or self.weights.ndim < 2:
            raise DataError(
                f"sums of weights of shape {self.weights.shape} and of squares of shape "
                f"{self.squares.shape}; give both as (..., strata, reports)"
            )
        if self.records.shape != self.weights.shape[:-1]:
            raise DataError(
                f"numbers of records of shape {self.records.shape} for sums of shape "
                f"{self.weights.shape}; give one a stratum"
            )

    @classmethod
    def of_records(
        cls, codes: Codes, weights: npt.ArrayLike, size: int, strata: npt.ArrayLike | None = None
    ) -> "WeightedCounts":
        """Sum over records in one pass.

        The `codes`, shape (records,), are randomized values in 0 .. `size` - 1; `size` is a
        channel's `reports`. The `weights` are finite and not negative. `strata` are any labels.
        """
        reported, chosen = np.asarray(codes), np.asarray(weights, dtype=float)
        if reported.ndim != 1 or chosen.shape != reported.shape:
            raise DataError(
                f"codes of shape {reported.shape} and weights of shape {chosen.shape}; give one "
                "weight a record"
            )
        refuse_foreign_codes(reported, size, "the reported categories")
        bad = np.flatnonzero(~(np.isfinite(chosen) & (chosen >= 0)))
        if bad.size:
            raise DataError(
                f"record {bad[0] + 1} has the weight {chosen[bad[0]]}; weights must be finite and "
                "not negative"
            )
        reported = reported.astype(np.int64)
        number, stratum = numbered(strata, reported.size, "strata")
        cells = stratum * size + reported
        shape = (number, size)
        sums, squares = (
            np.bincount(cells, each, number * size).reshape(shape).astype(float)
            for each in (chosen, chosen**2)
        )
        return cls(sums, squares, np.bincount(stratum, minlength=number).astype(np.int64))

    @property
    def effective(self) -> Floats:
        """Counts of randomized values, were weights equal, of equal precision (Kish, 1965).

        They add all strata, have the shape (..., reports), and are proportional to the weights.
        """
        sums, squares = self.weights.sum(axis=-2), self.squares.sum(axis=(-2, -1), keepdims=True)
        return np.asarray(sums * (sums.sum(axis=-1, keepdims=True) / squares[..., 0]))


def numbered(
    labels: npt.ArrayLike | None, records: int, what: str
) -> tuple[int, npt.NDArray[np.int64]]:
    """Return the number of different `labels`, and a number of 0 .. for each of the `records`.

    Without labels all records have the same. `what` names the labels in an error.
    """
    if labels is None:
        return 1, np.zeros(records, dtype=np.int64)
    values = np.asarray(labels)
    if values.shape != (records,):
        raise DataError(f"{what} of shape {values.shape} for {records} records; give one a record")
    known, numbers = np.unique(values, return_inverse=True)
    return known.size, numbers
