"""Add up the epsilons of all releases of a population: of rows, and of shuffled files."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import chain

from deniable.channels import Number, rounded_up
from deniable.release.counting.entries import Entry


def total_of(epsilons: Iterable[Number]) -> Number:
    """Return the exact sum of `epsilons`; math.inf if one of them is infinite."""
    found = list(epsilons)
    return math.inf if math.inf in found else sum((Fraction(each) for each in found), Fraction())


def composed_epsilon(entries: Iterable[Entry]) -> Number:
    """Return the exact epsilon of all `entries` of a population; math.inf if one is infinite.

    Epsilons add up (sequential composition). But a respondent belongs to only one part of a
    partition, so the parts of one partition count by their maximum (parallel composition).
    """
    return _composed((each, each.epsilon) for each in entries)


def shuffled_total(entries: Sequence[Entry]) -> tuple[Number, Number]:
    """Return (epsilon, delta) of all `entries` for somebody who has published folders alone.

    Releases with independent keys add up. Releases with rows that can be matched are one record:
    their local epsilons are added first, and the sum is amplified for the smallest file. A release
    without the figure counts with its local epsilon and delta 0, and so do matched ones if their
    sum is not amplified. Parts of a partition count as in `composed_epsilon`.
    """
    groups: list[list[Entry]] = []
    for entry in entries:
        joined = [each for each in groups if any(_same_rows(entry, other) for other in each)]
        groups = [each for each in groups if each not in joined]
        groups.append([*chain.from_iterable(joined), entry])
    found = []
    for group in groups:
        same = len({(each.partition, each.part) for each in group}) == 1
        leading = group[0] if same else replace(group[0], part=None)
        found.append((leading, *_of_group(group)))
    epsilon = _composed((entry, epsilon) for entry, epsilon, _ in found)
    return epsilon, _composed((entry, delta) for entry, _, delta in found)


def _same_rows(entry: Entry, earlier: Entry) -> bool:
    own, other = entry.row_order, earlier.row_order
    same = own is not None and other is not None and own.order == other.order
    return same or (own is not None and earlier.release in own.matched)


def _of_group(group: Sequence[Entry]) -> tuple[Number, Number]:
    """Return (epsilon, delta) of releases with rows that can be matched."""
    orders = [each.row_order for each in group if each.row_order]
    local = [each.epsilon for each in orders if each.epsilon is not None]
    if len(local) == len(group):
        from deniable.privacy import shuffled_guarantee  # noqa: PLC0415 - slow to import

        rows, unit = min(each.answering for each in group), max(each.unit for each in orders)
        found = shuffled_guarantee(rounded_up(sum(local, Fraction())), rows, unit)
        if found is not None:
            return found[0], Fraction(found[1])
    return total_of(each.epsilon for each in group), Fraction()


def _composed(values: Iterable[tuple[Entry, Number]]) -> Number:
    """Return the sum of a value of each entry; parts of a partition count by their maximum."""
    alone: list[Number] = []
    partitions: dict[tuple[int, str, str], dict[int, list[Number]]] = {}
    for entry, value in values:
        if entry.part is None or entry.partition is None:
            alone.append(value)
        else:
            parts = partitions.setdefault(entry.partition, {})
            parts.setdefault(entry.part.take, []).append(value)
    largest = (max(map(total_of, parts.values())) for parts in partitions.values())
    return total_of([*alone, *largest])
