"""Clusters of attributes to be randomized jointly ([multirr], Algorithm 1)."""

from collections.abc import Iterable, Mapping
from itertools import combinations
from math import prod

import pandas as pd

from deniable.records import Domain

Clusters = tuple[tuple[str, ...], ...]


def cluster_attributes(
    domain: Domain, dependences: pd.DataFrame, largest_cells: int, least_dependence: float
) -> Clusters:
    """Merge attributes that depend on each other while their joint cells stay few.

    Starts from single attributes; goes through the pairs of clusters by descending dependence (the
    largest among their pairs of attributes) and merges the first pair whose joint cells are at most
    `largest_cells`; starts over after each merge; stops at dependences below `least_dependence`.

    Parameters
    ----------
    domain : Domain
    dependences : DataFrame
        As `deniable.randomized_response.dependence.dependences` returns it.
    largest_cells : int
        T_v, the most combinations of categories in a cluster.
    least_dependence : float
        T_d, in [0, 1]; no clusters form above the largest dependence.

    Returns
    -------
    tuple of tuples of attribute names
        In the domain's order, inside clusters and of clusters by their first attribute. Equal
        dependences are taken in the domain's order, so that the result is always the same.
    """
    strength = {
        frozenset((row["attribute_1"], row["attribute_2"])): float(row["dependence"])
        for row in dependences.to_dict("records")
    }
    sizes = dict(zip(domain.names, domain.shape, strict=True))
    clusters: list[tuple[str, ...]] = [(name,) for name in domain.names]
    while pair := _next_merge(clusters, strength, sizes, largest_cells, least_dependence):
        first, second = pair
        merged = tuple(sorted(clusters[first] + clusters[second], key=domain.position))
        clusters = [c for i, c in enumerate(clusters) if i not in pair] + [merged]
        clusters.sort(key=lambda cluster: domain.position(cluster[0]))
    return tuple(clusters)


def _next_merge(
    clusters: list[tuple[str, ...]],
    strength: Mapping[frozenset[str], float],
    sizes: Mapping[str, int],
    largest_cells: int,
    least_dependence: float,
) -> tuple[int, int] | None:
    def dependence(pair: tuple[int, int]) -> float:
        return max(
            strength[frozenset((a, b))] for a in clusters[pair[0]] for b in clusters[pair[1]]
        )

    pairs = sorted(combinations(range(len(clusters)), 2), key=lambda pair: -dependence(pair))
    for pair in pairs:
        if dependence(pair) < least_dependence:
            return None
        if _cells(clusters[pair[0]] + clusters[pair[1]], sizes) <= largest_cells:
            return pair
    return None


def _cells(names: Iterable[str], sizes: Mapping[str, int]) -> int:
    return prod(sizes[name] for name in names)
