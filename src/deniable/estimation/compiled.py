"""The searches of `deniable.estimation.likelihood`, compiled.

By themselves, so that only who searches imports numba, which takes as long as pandas.
"""

import numba
import numpy as np

ROUNDING = 1e-14  # of a log-likelihood, relative
LEAST_SHARE = 0.01  # what a jump leaves at least of a proportion
LEAST_MASS = 2.0**-52  # of all categories together: rounding hides no more
FIRST_REACH = 4.0
MOST_NEWTON_STEPS = 50
LEAST_LENGTH = 2.0**-20
LEAST_PROMISE = 1e-12
RIDGE = 1e-12


# -- Newton's method -------------------------------------------------------------------------------


@numba.njit(cache=True)  # pragma: no cover - compiled
def newton(point, observed, records, matrix, tolerance):  # type: ignore[no-untyped-def]
    """Return where the likelihood of one table is highest, Newton's steps, and the gap.

    What rises is the mean log-likelihood less the sum of the point, whose maximum has sum 1. Its
    second derivative is -A with A point = gradient, so that the quadratic at a point is that of
    `_best_of_quadratic` with 2 gradient - 1.
    """
    reported, height = _height(point, observed, matrix)
    gap = np.inf
    for steps in range(MOST_NEWTON_STEPS):
        ratio = np.zeros(observed.size)
        roots = np.zeros(observed.size)
        for v in range(observed.size):
            if observed[v] > 0:
                ratio[v] = observed[v] / reported[v]
                roots[v] = np.sqrt(observed[v]) / reported[v]
        gradient = matrix @ ratio
        gap = records * max(gradient.max() - 1.0, 0.0)
        if gap <= tolerance:
            return point, steps, gap
        spread = matrix * roots
        best = _best_of_quadratic(spread @ spread.T, 2.0 * gradient - 1.0, point)
        length = 1.0
        moved = best
        reported, higher = _height(moved, observed, matrix)
        while not higher >= height - ROUNDING * abs(height):
            length /= 2.0
            if length < LEAST_LENGTH:
                return point, steps, gap
            moved = point + length * (best - point)
            reported, higher = _height(moved, observed, matrix)
        total = moved.sum()
        point, reported = moved / total, reported / total
        height = higher + np.log(1.0 / total) + total - 1.0
    return point, MOST_NEWTON_STEPS, gap


@numba.njit(cache=True)  # pragma: no cover - compiled
def _height(point, observed, matrix):  # type: ignore[no-untyped-def]
    """Return the distribution of reports, and the mean log-likelihood less the point's sum."""
    reported = point @ matrix
    height = -point.sum()
    for v in range(observed.size):
        if observed[v] > 0:
            height += observed[v] * np.log(reported[v])
    return reported, height


@numba.njit(cache=True)  # pragma: no cover - compiled
def _best_of_quadratic(curvature, slope, start):  # type: ignore[no-untyped-def]
    """Return the x >= 0 that maximizes slope . x - x' curvature x / 2 (Lawson and Hanson, 1974).

    From a start >= 0: the best of the entries that are free, going back to where the first of them
    turns negative, which is then held at 0; and freeing the entry that promises most.
    """
    x = start.copy()
    free = x > 0
    for _ in range(3 * x.size):
        while True:
            at = np.flatnonzero(free)
            part = np.empty((at.size, at.size))
            for i in range(at.size):
                for j in range(at.size):
                    part[i, j] = curvature[at[i], at[j]]
                part[i, i] += RIDGE * (1.0 + part[i, i])  # categories that nobody reports
            best = np.linalg.solve(part, slope[at])
            length, first = 1.0, -1
            for i in range(at.size):
                if best[i] <= 0 and x[at[i]] < length * (x[at[i]] - best[i]):
                    length, first = x[at[i]] / (x[at[i]] - best[i]), at[i]
            if first < 0:
                break
            for i in range(at.size):
                x[at[i]] = max(x[at[i]] + length * (best[i] - x[at[i]]), 0.0)
            x[first] = 0.0
            free = free & (x > 0)
        x[at] = best
        promise = np.where(free, 0.0, slope - curvature @ x)
        if promise.max() <= LEAST_PROMISE:
            break
        free[promise.argmax()] = True
    return x


@numba.njit(cache=True)  # pragma: no cover - compiled
def climb(  # type: ignore[no-untyped-def]
    observed, records, sizes, forth, back, tolerance, most
):
    """Return where the likelihood of one table is highest, the EM steps, and the gap."""
    start = np.full(observed.size, 1.0 / observed.size)
    first, height, gap = _step(start, observed, records, sizes, forth, back)
    steps, reach = 1, FIRST_REACH
    while gap > tolerance and steps < most and gap < np.inf:
        second, middle, gap = _step(first, observed, records, sizes, forth, back)
        steps += 1
        if gap <= tolerance or steps >= most:
            return first, steps, gap
        length = _length(start, first, second, reach)
        jump = _jump(start, first, second, length)
        after, height, lacking = _step(jump, observed, records, sizes, forth, back)
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
        first, height, gap = _step(start, observed, records, sizes, forth, back)
        steps += 1
    return start, steps, gap


@numba.njit(cache=True)  # pragma: no cover - compiled
def _step(point, observed, records, sizes, forth, back):  # type: ignore[no-untyped-def]
    """Return one EM step from a point, the point's mean log-likelihood, and its gap."""
    ratio = _through(point, sizes, forth)
    height = 0.0
    for v in range(observed.size):
        if observed[v] == 0:
            ratio[v] = 0.0
        elif ratio[v] > 0:
            height += observed[v] * np.log(ratio[v])
            ratio[v] = observed[v] / ratio[v]
        else:
            return point, -np.inf, np.inf
    gradient = _through(ratio, sizes, back)
    moved = point * gradient
    gap = records * max(gradient.max() - 1.0, 0.0)
    return moved / moved.sum(), height, gap


@numba.njit(cache=True)  # pragma: no cover - compiled
def _through(values, sizes, entries):  # type: ignore[no-untyped-def]
    """Return x' (M1 x M2 x ...), axis by axis.

    Each step multiplies along the first axis and puts it last: after all of them the axes are in
    their order again.
    """
    begin = 0
    for k in sizes:
        rest = values.size // k
        moved = np.zeros(values.size)
        for v in range(k):
            for r in range(rest):
                value = values[v * rest + r]
                for w in range(k):
                    moved[r * k + w] += value * entries[begin + v * k + w]
        values = moved
        begin += k * k
    return values


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
