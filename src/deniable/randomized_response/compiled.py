"""Compiled passes over records for `deniable.randomized_response.adjustment`.

It is a separate module because numba takes as long to import as pandas.
"""

import numpy as np

from deniable.errors import from_extras

with from_extras():
    import numba

LANES = 4
BELOW_USE = 1e-150  # smaller sums count as 0, because dividing by them would overflow


@numba.njit(cache=True)  # pragma: no cover - compiled
def _apply_and_sum(weights, own, factor, following, size):  # type: ignore[no-untyped-def]
    """Multiply each weight by its category's factor; return the sums of weights by `following`.

    Neighbouring records add to separate rows of `sums`, so that additions for one category need not
    wait for each other (almost three times as fast).
    """
    sums = np.zeros((LANES, size))
    whole = weights.size // LANES * LANES
    for first in range(0, whole, LANES):
        for lane in range(LANES):
            record = first + lane
            weight = weights[record] * factor[own[record]]
            weights[record] = weight
            sums[lane, following[record]] += weight
    for record in range(whole, weights.size):
        weights[record] *= factor[own[record]]
        sums[0, following[record]] += weights[record]
    return sums.sum(axis=0)


@numba.njit(cache=True)  # pragma: no cover - compiled
def rake(codes, targets, tolerance, most_sweeps):  # type: ignore[no-untyped-def]
    attributes, records = codes.shape
    size = targets.shape[1]
    weights = np.full(records, 1.0 / records)
    unchanged = np.ones(size)
    sums = _apply_and_sum(weights, codes[0], unchanged, codes[0], size)
    gap = np.inf
    for sweep in range(1, most_sweeps + 1):
        moved = 0.0
        for attribute in range(attributes):
            factor = np.zeros(size)
            for category in range(size):
                target = targets[attribute, category]
                moved = max(moved, abs(sums[category] - target))
                if sums[category] > BELOW_USE:
                    factor[category] = target / sums[category]
            following = codes[(attribute + 1) % attributes]
            sums = _apply_and_sum(weights, codes[attribute], factor, following, size)
        # If every marginal met its target just before its last adjustment, all nearly meet their
        # targets now. Only then does the exact gap justify further passes.
        if moved <= tolerance or sweep == most_sweeps:
            gap = 0.0
            for attribute in range(attributes):
                column = codes[attribute]
                found = _apply_and_sum(weights, column, unchanged, column, size)
                gap = max(gap, np.max(np.abs(found - targets[attribute])))
            if gap <= tolerance:
                return weights, sweep, gap
    return weights, most_sweeps, gap
