"""The expectation-maximization of `deniable.estimation.likelihood`, compiled.

By itself, so that only who needs it imports numba, which takes as long as pandas.
"""

import numpy as np

from deniable.errors import from_extras

with from_extras():
    import numba

ROUNDING = 1e-14  # of a log-likelihood, relative
LEAST_SHARE = 0.01  # what a jump leaves at least of a proportion
LEAST_MASS = 2.0**-52  # of all categories together: rounding hides no more
FIRST_REACH = 4.0


@numba.njit(cache=True)  # pragma: no cover - compiled
def climb(  # type: ignore[no-untyped-def]
    observed, records, shapes, forth, back, tolerance, most
):
    """Return where the likelihood of one table is highest, the EM steps, and the gap."""
    cells = np.prod(shapes[:, 0])
    start = np.full(cells, 1.0 / cells)
    first, height, gap = _step(start, observed, records, shapes, forth, back)
    steps, reach = 1, FIRST_REACH
    while gap > tolerance and steps < most and gap < np.inf:
        second, middle, gap = _step(first, observed, records, shapes, forth, back)
        steps += 1
        if gap <= tolerance or steps >= most:
            return first, steps, gap
        length = _length(start, first, second, reach)
        jump = _jump(start, first, second, length)
        after, height, lacking = _step(jump, observed, records, shapes, forth, back)
        steps += 1
        if height >= middle - ROUNDING * abs(middle):
            if length == reach:
                reach *= FIRST_REACH
            start, first, gap = jump, after, lacking
            continue
        if steps >= most:
            return first, steps, gap
        reach = max(FIRST_REACH, length / 2)
        start = second
        first, height, gap = _step(start, observed, records, shapes, forth, back)
        steps += 1
    return start, steps, gap


@numba.njit(cache=True)  # pragma: no cover - compiled
def _step(point, observed, records, shapes, forth, back):  # type: ignore[no-untyped-def]
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


@numba.njit(cache=True)  # pragma: no cover - compiled
def _length(start, first, second, reach):  # type: ignore[no-untyped-def]
    """Return SQUAREM's step length |r| / |v|, at least 1 (which is two EM steps)."""
    r = first - start
    v = second - first - r
    bend = np.sum(v * v)
    if bend == 0.0:
        return reach
    return max(1.0, min(np.sqrt(np.sum(r * r) / bend), reach))


@numba.njit(cache=True)  # pragma: no cover - compiled
def _jump(start, first, second, length):  # type: ignore[no-untyped-def]
    """Extrapolate; keep a part of each proportion, for from 0 no EM step leads back."""
    r = first - start
    v = second - first - r
    least = np.maximum(LEAST_SHARE * second, LEAST_MASS / start.size)
    jump = np.maximum(start + 2.0 * length * r + length * length * v, least)
    return jump / jump.sum()
