"""Make views, the combinations of attributes in one question to a client ([rrba], section 4).

A view is a set of combinations of k attributes without common attributes, so a client answers about
each attribute at most once. Every combination of k attributes is in exactly one view. The number of
views is the least possible: C(d, k) / floor(d / k), rounded up. Algorithm 1 makes d views of pairs,
although d - 1 suffice for an even d.
"""

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import scipy

from deniable.arrays import Counts, Flags
from deniable.errors import DeniableError

Combination = tuple[str, ...]
View = tuple[Combination, ...]

MAX_COMBINATIONS = 200_000


def fewest_views(attributes: int, size: int) -> int:
    """Return C(d, k) / floor(d / k), rounded up, for d `attributes`, k = `size`: a lower bound."""
    return -(-math.comb(attributes, size) // (attributes // size))


def make_views(names: Sequence[str], size: int) -> tuple[View, ...]:
    """Return views that contain every combination of `size` attributes exactly once.

    Pairs come from a round robin, larger combinations from Baranyai's construction (On the
    factorization of the complete uniform hypergraph, 1975). Both attain `fewest_views`. Attributes
    of a combination, and combinations of a view, are in the order of `names`. Raises
    `DeniableError` if a name occurs twice, `size` is not in 1 .. len(names), or combinations exceed
    200,000.

    Examples
    --------
    >>> for view in make_views("AREO", 2):
    ...     print(*("".join(combination) for combination in view))
    AO RE
    AE RO
    AR EO
    """
    d = len(names)
    if len(set(names)) < d:
        raise DeniableError(f"of the {d} attributes some are named twice; name each once")
    if not 1 <= size <= d:
        raise DeniableError(f"combinations of {size} of {d} attributes; k must be in 1 .. {d}")
    if math.comb(d, size) > MAX_COMBINATIONS:
        raise DeniableError(
            f"{d} attributes have {math.comb(d, size):,} combinations of {size}; allowed are "
            f"{MAX_COMBINATIONS:,}; name fewer attributes"
        )
    return tuple(
        tuple(tuple(names[position] for position in each) for each in sorted(view))
        for view in (_round_robin(d) if size == 2 else _baranyai(d, size))
    )


def _round_robin(attributes: int) -> list[list[tuple[int, ...]]]:
    """Return the pairs of each round of a tournament; for an odd number, one attribute rests."""
    going = attributes - 1 + attributes % 2
    views = []
    for turn in range(going):
        pairs: list[tuple[int, ...]] = [
            tuple(sorted(((turn - step) % going, (turn + step) % going)))
            for step in range(1, (going + 1) // 2)
        ]
        if attributes > going:
            pairs.append((turn, going))
        views.append(pairs)
    return views


def _baranyai(attributes: int, size: int) -> list[list[tuple[int, ...]]]:
    """Return Baranyai's partition of all combinations, adding one attribute at a time.

    Before attribute l each view has floor(d / k) sets (one view may have fewer) of the attributes
    below l. Some sets are empty. Over all views, each set S occurs C(d - l, k - |S|) times, once
    for each combination to which it must still grow. Attribute l then joins at most one set of each
    view, and the set S in C(d - l - 1, k - |S| - 1) places. Fractions (k - |S|) / (d - l) of each
    set are a fractional solution. So an integer solution exists, and a maximum flow finds it.
    """
    per_view = attributes // size
    if per_view == 1:
        return [[each] for each in combinations(range(attributes), size)]
    total = math.comb(attributes, size)
    views = fewest_views(attributes, size)
    capacity = np.full(views, per_view)
    capacity[-1] = total - per_view * (views - 1)
    # One column per set. The sets of a view beyond its capacity do not exist and never grow.
    members = np.zeros((views, per_view, size), dtype=np.int64)
    grown = np.zeros((views, per_view), dtype=np.int64)
    grown[np.arange(per_view) >= capacity[:, None]] = size
    for attribute in range(attributes):
        view, place = _extended(members, grown, attribute, attributes, size)
        members[view, place, grown[view, place]] = attribute
        grown[view, place] += 1
    return [
        [tuple(each) for each in sets[:held].tolist()]
        for sets, held in zip(members, capacity.tolist(), strict=True)
    ]


def _extended(
    members: Counts, grown: Counts, attribute: int, attributes: int, size: int
) -> tuple[Counts, Counts]:
    """Return the views and places of the sets that the `attribute` joins."""
    left = attributes - attribute
    missing = size - grown
    # A view that needs all remaining attributes must take this one.
    bound = missing.sum(axis=1) == left
    view, place = np.nonzero(missing > 0)
    # Equal sets of a view (empty ones) are one arc: any of them may grow.
    weights = (attributes + 1) ** np.arange(size)
    keys = ((members + 1) * (np.arange(size) < grown[..., None])) @ weights
    arcs = np.unique(np.column_stack((view, keys[view, place])), axis=0, return_index=True)[1]
    view, place = view[arcs], place[arcs]
    _, first, sets = np.unique(keys[view, place], return_index=True, return_inverse=True)
    demand = np.array([math.comb(left - 1, int(m) - 1) for m in missing[view, place][first]])
    taken = _flow(view, sets, bound, demand)
    return view[taken], place[taken]


def _flow(view: Counts, sets: Counts, bound: Flags, demand: Counts) -> Flags:
    """Mark the arcs from views to sets with flow: all of the demand, at most one arc per view.

    The source feeds `bound` views directly; the other views receive the rest.
    """
    views, nodes = bound.size, bound.size + demand.size
    source, share, sink = nodes, nodes + 1, nodes + 2
    starts = np.where(bound, source, share)
    free = int(demand.sum() - bound.sum())
    heads = np.concatenate(([source], starts, view, views + np.arange(demand.size)))
    tails = np.concatenate(([share], np.arange(views), views + sets, np.full(demand.size, sink)))
    capacities = np.concatenate(([free], np.ones(views + view.size, dtype=np.int64), demand))
    arcs = capacities.astype(np.int32), (heads, tails)
    graph = scipy.sparse.csr_array(arcs, shape=(nodes + 3, nodes + 3))
    flow = scipy.sparse.csgraph.maximum_flow(graph, source, sink)
    if flow.flow_value != demand.sum():  # impossible by Baranyai's theorem
        raise DeniableError("no views: this is an error in deniable.rrba.views; please report it")
    return np.asarray(flow.flow[view, views + sets]).reshape(-1) > 0
