"""Take one step of the expectation-maximization of `deniable.estimation.likelihood`, compiled.

It is a module of its own because numba takes as long to import as pandas.
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
    """Return x' (M1 x M2 x ...), axis by axis; `rows` is the position of the row number in a shape.

    Each step multiplies along the first axis and puts it last, so the axes end in their order.
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
    """Return the result of `_through_other` for j = k: compiled code is then a third faster."""
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
    """Multiply along the first axis by a matrix of j by k, and put this axis last."""
    rest = values.size // j
    moved = np.zeros(rest * k)
    for v in range(j):
        for r in range(rest):
            value = values[v * rest + r]
            for w in range(k):
                moved[r * k + w] += value * entries[v * k + w]
    return moved
