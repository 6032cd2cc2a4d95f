"""A step of the expectation-maximization of `deniable.estimation.likelihood`, compiled.

By itself, so that only who needs it imports numba, which takes as long as pandas.
"""

import numpy as np

from deniable.errors import from_extras

with from_extras():
    import numba


@numba.njit(cache=True)  # pragma: no cover - compiled
def step(point, observed, records, shapes, forth, back):  # type: ignore[no-untyped-def]
    """Return one EM step from a point, the point's mean log-likelihood, and its gap."""
    ratio = _through(point, shapes, 0, forth)
    height = 0.0
    for v in range(observed.size):
        if observed[v] == 0:
            ratio[v] = 0.0
        elif ratio[v] > 0:
            height += observed[v] * np.log(ratio[v])
            ratio[v] = observed[v] / ratio[v]
        else:
            return point, -np.inf, np.inf
    gradient = _through(ratio, shapes, 1, back)
    moved = point * gradient
    gap = records * max(gradient.max() - 1.0, 0.0)
    return moved / moved.sum(), height, gap


@numba.njit(cache=True)  # pragma: no cover - compiled
def _through(values, shapes, rows, entries):  # type: ignore[no-untyped-def]
    """Return x' (M1 x M2 x ...), axis by axis; `rows` is where shapes have the matrices' rows.

    Each step multiplies along the first axis and puts it last: after all of them the axes are in
    their order again.
    """
    begin = 0
    for shape in shapes:
        j, k = shape[rows], shape[1 - rows]
        own = entries[begin : begin + j * k]
        square = j == k
        values = _through_square(values, k, own) if square else _through_other(values, j, k, own)
        begin += j * k
    return values


@numba.njit(cache=True)  # pragma: no cover - compiled
def _through_square(values, k, entries):  # type: ignore[no-untyped-def]
    """Return what `_through_other` does: told that j is k, the compiled loop is a third faster."""
    rest = values.size // k
    moved = np.zeros(values.size)
    for v in range(k):
        for r in range(rest):
            value = values[v * rest + r]
            for w in range(k):
                moved[r * k + w] += value * entries[v * k + w]
    return moved


@numba.njit(cache=True)  # pragma: no cover - compiled
def _through_other(values, j, k, entries):  # type: ignore[no-untyped-def]
    """Return the product along the first axis, which is put last, with a matrix of j by k."""
    rest = values.size // j
    moved = np.zeros(rest * k)
    for v in range(j):
        for r in range(rest):
            value = values[v * rest + r]
            for w in range(k):
                moved[r * k + w] += value * entries[v * k + w]
    return moved
