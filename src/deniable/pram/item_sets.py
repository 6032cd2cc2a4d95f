"""Estimate supports of item sets from transactions, with a channel per item ([pram], section 4).

Records of M binary items have 2^M categories, too many to invert a matrix over them. With one
channel per item the matrix is a product. The marginal distribution over some items then passes
through the product of their channels alone. So the support of a set of s items is estimated from
its 2^s randomized patterns. Contributions of randomization to the variance multiply over items.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy

from deniable.arrays import Codes, Counts, Floats, at_least
from deniable.channels import ProductChannel, Target
from deniable.errors import (
    ChannelError,
    DataError,
    DeniableError,
    SingularChannelError,
    named_types,
)
from deniable.estimation import confidence_intervals, refuse_bad_confidence

Item = int | str  # an item's name, or its number from 0
MAX_SET = 20
MAX_SUBSETS = 4  # with more items, patterns are not counted by subsets of the items
MAX_CANDIDATES = 200_000
MAX_BATCH = 1 << 20  # largest number of patterns estimated together
TARGETS: tuple[Target, ...] = ("file", "population")


class Transactions:
    """Randomized records of binary items, and the channel of each item.

    The `channel` has one factor per item, over two categories: 0 absent, 1 present. `columns` has
    the randomized values of each item, shape (records,); they are read one by one and stored as
    bits. `names` are the names of items. Raises `ChannelError` if a channel is not over two
    categories. Raises `DataError` if columns, channels and names differ in number, columns differ
    in length, or a value is not 0 or 1.

    Examples
    --------
    >>> from deniable.channels import KeepOrReplace
    >>> coins = ProductChannel((KeepOrReplace.uniform(2, keep=0.5),) * 3)
    >>> reports = np.array([[1, 1, 0], [1, 0, 0], [1, 1, 1], [0, 1, 1]])
    >>> Transactions(coins, reports.T, ("bread", "butter", "jam")).patterns((0, 1))
    array([0, 1, 1, 2])
    """

    def __init__(
        self, channel: ProductChannel, columns: Iterable[Codes], names: Sequence[str]
    ) -> None:
        self.channel, self.names = channel, tuple(names)
        lengths, held = set[tuple[int, ...]](), list[npt.NDArray[np.uint8]]()
        for number, column in enumerate(columns):
            if column.dtype.kind not in "bui" or np.any((column != 0) & (column != 1)):
                name = str((*self.names, *"?")[min(number, len(self.names))])
                raise DataError(
                    f"item {name!r} has values other than 0 (absent) and 1 (present); recode them"
                )
            lengths.add(column.shape)
            held.append(np.packbits(column.astype(bool, copy=False)))
        found = len(held), len(channel.factors), len(set(self.names))
        if len(set(found)) > 1 or len(lengths) > 1:
            raise DataError(
                f"{found[0]} columns, {found[1]} channels and {found[2]} different names of items; "
                "give one of each per item, and columns of equal length"
            )
        for name, factor in zip(self.names, channel.factors, strict=True):
            if (factor.size, factor.reports) != (2, 2):
                raise ChannelError(
                    f"item {name!r}: its channel has {factor.size} categories and {factor.reports} "
                    "randomized values; give a 2 by 2 channel, over absent and present"
                )
        ((self._records,),), self._bits = lengths, held

    def __len__(self) -> int:
        return self._records

    def positions(self, items: Sequence[Item]) -> tuple[int, ...]:
        """Return the columns of some `items`, given by name or by number from 0.

        Raises `DataError` if an item is unknown or repeated, or there are none or over 20 items.
        Raises `SingularChannelError` if the channel of an item is singular.
        """
        found = []
        for item in items:
            position = self.names.index(item) if item in self.names else item
            if isinstance(position, str) or not 0 <= position < len(self.names):
                raise DataError(
                    f"there is no item {item!r}; items are {', '.join(self.names[:5])}, ..., or "
                    f"their numbers, 0 to {len(self.names) - 1}"
                )
            if self.channel.factors[position].singular:
                raise SingularChannelError(
                    f"the channel of item {self.names[position]!r} is singular: its randomized "
                    "values contain no information; leave the item out"
                )
            found.append(int(position))
        if not found or len(set(found)) < len(found):
            raise DataError(f"the item set {list(items)} is empty or names an item twice")
        if len(found) > MAX_SET:
            raise DataError(
                f"a set of {len(found)} items has 2^{len(found)} patterns; give at most "
                f"{MAX_SET} items (far fewer already have a useless standard error)"
            )
        return tuple(found)

    def patterns(self, positions: Sequence[int]) -> Counts:
        """Return the counts of the randomized patterns of items at s `positions`, shape (2^s,).

        The last item varies fastest.
        """
        cells, bits = 2 ** len(positions), [self._bits[position] for position in positions]
        if len(bits) > MAX_SUBSETS:
            codes = np.zeros(len(self), dtype=np.min_scalar_type(cells - 1))
            for own in bits:
                codes <<= 1
                codes |= np.unpackbits(own, count=len(self))
            return np.bincount(codes, minlength=cells).astype(np.int64)
        subsets: list[npt.NDArray[np.uint8] | None] = [None]  # records with all items of a subset
        for own in bits:
            subsets = [w for s in subsets for w in (s, own if s is None else s & own)]
        held = (len(self) if each is None else np.bitwise_count(each).sum() for each in subsets)
        counts = np.array([*held], dtype=np.int64).reshape((2,) * len(bits))
        for axis in range(len(bits)):
            along = np.moveaxis(counts, axis, 0)
            along[0] -= along[1]
        return counts.reshape(-1)

    def label(self, positions: Sequence[int]) -> str:
        """Return the names of items at `positions`, joined by " & "."""
        return " & ".join(self.names[place] for place in positions)


@named_types
def item_set_supports(
    transactions: Transactions, item_sets: Sequence[Sequence[Item]], *, confidence: float = 0.95
) -> pd.DataFrame:
    """Estimate the supports of item sets: the proportions of records with all items of a set.

    `transactions` are the randomized records. Items of `item_sets` are names or numbers. The
    `confidence` is for each interval separately. If you select sets by high estimates, their
    intervals are too high: use `frequent_item_sets`.

    Returns
    -------
    DataFrame
        One row per set: ``items`` (joined by " & "), ``size``, ``reported`` (proportion of
        randomized records with all items), ``support`` (unbiased: may leave [0, 1]), and
        ``standard_error_*``, ``ci_low_*``, ``ci_high_*`` (score intervals) for the targets "file"
        and "population".
    """
    refuse_bad_confidence(confidence)
    places = [transactions.positions(items) for items in item_sets]
    columns: dict[str, list[object] | Floats] = {
        "items": list(map(transactions.label, places)),
        "size": [len(place) for place in places],
    }
    columns["reported"], by_target = _estimates(transactions, places, confidence)
    for target, (estimate, *limits) in by_target.items():
        columns.setdefault("support", estimate)  # the same for both targets
        names = (f"standard_error_{target}", f"ci_low_{target}", f"ci_high_{target}")
        columns |= zip(names, limits, strict=True)
    return pd.DataFrame(columns)


@named_types
def rule_confidences(
    transactions: Transactions,
    rules: Sequence[tuple[Sequence[Item], Sequence[Item]]],
    *,
    confidence: float = 0.95,
    target: Target = "population",
) -> pd.DataFrame:
    """Estimate the confidence of association rules A -> B, support(A and B) / support(A).

    `transactions` are the randomized records, and `rules` are pairs (A, B) of item sets without
    common items. Errors and intervals of a `confidence`, in (0, 1), are for the `target`
    "population" or "file". A Fieller interval contains the ratios r with support(A and B) - r
    support(A) within z standard errors of 0. It is the whole line if support(A) is not significant.
    The ratio of two unbiased estimates has a bias of about the squared relative error of
    support(A). The interval neglects this bias.

    Returns
    -------
    DataFrame
        ``rule``, ``confidence``, ``standard_error`` (linearized), ``ci_low``, ``ci_high``,
        ``support`` (of A and B) and ``condition`` (the support of A).
    """
    refuse_bad_confidence(confidence)
    z = float(scipy.special.ndtri((1 + confidence) / 2))
    rows = []
    for condition, consequence in rules:
        places = transactions.positions([*condition, *consequence])
        if not condition or not consequence:
            raise DataError(f"the rule {condition} -> {consequence} needs items on both sides")
        ones = np.zeros((2, 2 ** len(places)))
        ones[0, -1] = 1.0
        ones[1, -(2 ** len(consequence)) :] = 1.0
        channel, counts = transactions.channel.margin(places), transactions.patterns(places)
        both, base = ones @ channel.estimate(counts)
        error, low, high = _ratio(both, base, channel.estimated_covariance(counts, target, ones), z)
        sides = places[: len(condition)], places[len(condition) :]
        rule = {"rule": " -> ".join(map(transactions.label, sides))}
        found = {"confidence": both / base if base else math.nan, "standard_error": error}
        limits = {"ci_low": low, "ci_high": high}
        rows.append(rule | found | limits | {"support": both, "condition": base})
    return pd.DataFrame(rows)


@named_types
def frequent_item_sets(
    transactions: Transactions,
    minimum_support: float,
    *,
    largest: int = 3,
    error_rate: float = 0.05,
    target: Target = "population",
) -> pd.DataFrame:
    """Search for frequent item sets, level by level, with bounds instead of estimates.

    A set and its supersets are dropped only if the upper bound of the set's support is below the
    minimum, because a superset has at most the same support. A set is "frequent" only if its lower
    bound reaches the minimum. Other sets are "undecided" and are also extended.

    The largest of many estimates is too high. So bounds are one-sided and simultaneous (Bonferroni)
    over all possible sets of a size, with an equal part of the error rate for each size. With
    confidence 1 - `error_rate` no set is wrongly called frequent, and with the same confidence no
    frequent set is dropped. Both rely on the normal approximation, far out in its tail.

    Raises `DeniableError` if an option is out of its range, or a level has over 200,000 candidates.

    Parameters
    ----------
    transactions : Transactions
        The randomized records, with their channel.
    minimum_support : float, in (0, 1]
        The least support of a frequent set.
    largest : int, in 1 .. 20
        The largest size of a set.
    error_rate : float, in (0, 0.5)
        The probability of an error of each kind, at most.
    target : "population" or "file"
        The target of bounds.

    Returns
    -------
    DataFrame
        One row per set that is not dropped: ``items``, ``size``, ``reported``, ``support``,
        ``standard_error``, ``lower``, ``upper``, ``verdict`` ("frequent" or "undecided") and
        ``tested`` (number of tested sets of this size).
    """
    for what, value, right, allowed in (
        ("the minimum support", minimum_support, 0 < minimum_support <= 1, "in (0, 1]"),
        ("the largest size", largest, 1 <= largest <= MAX_SET, f"in 1 .. {MAX_SET}"),
        ("the error rate", error_rate, 0 < error_rate < 0.5, "in (0, 0.5)"),
    ):
        if not right:
            raise DeniableError(f"{what} is {value!r}; it must be {allowed}")
    items = len(transactions.names)
    candidates: list[tuple[int, ...]] = [(item,) for item in range(items)]
    tables: list[pd.DataFrame] = []
    for size in range(1, min(largest, items) + 1):
        if not candidates:
            break
        alpha = error_rate / (largest * math.comb(items, size))
        places = [transactions.positions(candidate) for candidate in candidates]
        reported, by_target = _estimates(transactions, places, 1 - 2 * alpha, (target,))
        estimate, error, low, high = by_target[target]
        columns = {
            "items": [transactions.label(place) for place in places],
            "size": size,
            "reported": reported,
            "support": estimate,
            "standard_error": error,
            "lower": low,
            "upper": high,
            "verdict": np.where(at_least(low, minimum_support), "frequent", "undecided"),
            "tested": len(candidates),
        }
        kept = at_least(high, minimum_support)
        tables.append(pd.DataFrame(columns)[kept])
        candidates = _joined([place for place, keep in zip(places, kept, strict=True) if keep])
    return pd.concat(tables, ignore_index=True)


def _joined(kept: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return the sets of one more item with all subsets in `kept` (Agrawal and Srikant, 1994)."""
    known, by_start = set(kept), defaultdict(list)
    for place in kept:
        by_start[place[:-1]].append(place[-1])
    joined = []
    for start, ends in by_start.items():
        for pair in combinations(sorted(ends), 2):
            larger = (*start, *pair)
            if all(larger[:i] + larger[i + 1 :] in known for i in range(len(larger))):
                joined.append(larger)
            if len(joined) > MAX_CANDIDATES:
                raise DeniableError(
                    f"over {MAX_CANDIDATES:,} sets of {len(larger)} items cannot be ruled out, "
                    "because the randomized values are too noisy; raise the minimum support, or "
                    "lower the largest size"
                )
    return joined


def _estimates(
    transactions: Transactions,
    places: Sequence[tuple[int, ...]],
    confidence: float,
    targets: Sequence[Target] = TARGETS,
) -> tuple[Floats, dict[Target, Floats]]:
    """Return the randomized proportion of each item set, and its estimates by target.

    Rows of estimates are the estimate, its standard error and the limits of its interval. Item sets
    with the same channels are estimated together.
    """
    reported = np.empty(len(places))
    parts = {target: np.empty((4, len(places))) for target in targets}
    for group in _groups(transactions, places):
        channel = transactions.channel.margin(places[group[0]])
        counts = np.stack([transactions.patterns(places[number]) for number in group])
        reported[group] = counts[:, -1] / len(transactions)
        wanted = np.zeros((1, channel.size))
        wanted[0, -1] = 1.0
        for target in targets:
            found = confidence_intervals(
                counts, channel, confidence=confidence, target=target, functionals=wanted
            )
            rows = (found.estimate, found.standard_error, found.low, found.high)
            parts[target][:, group] = np.stack(rows)[..., 0]
    return reported, parts


def _groups(transactions: Transactions, places: Sequence[tuple[int, ...]]) -> Iterator[list[int]]:
    """Yield lists of the numbers of item sets with the same channels."""
    matrices = [factor.matrix().tobytes() for factor in transactions.channel.factors]
    groups: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for number, place in enumerate(places):
        groups[tuple(matrices[position] for position in place)].append(number)
    for group in groups.values():
        step = max(MAX_BATCH >> len(places[group[0]]), 1)
        for start in range(0, len(group), step):
            yield group[start : start + step]


def _ratio(over: float, under: float, covariance: Floats, z: float) -> tuple[float, float, float]:
    """Return the linearized standard error and the limits of over / under."""
    (v, c), (_, w) = covariance
    if under == 0:
        return math.nan, -math.inf, math.inf
    ratio = over / under
    error = math.sqrt(max(v - 2 * ratio * c + ratio**2 * w, 0.0)) / abs(under)
    # a r^2 - 2 b r + c <= 0
    a, b = under**2 - z**2 * w, over * under - z**2 * c
    discriminant = b**2 - a * (over**2 - z**2 * v)
    if a <= 0 or discriminant < 0:
        return error, -math.inf, math.inf
    root = math.sqrt(discriminant)
    return error, (b - root) / a, (b + root) / a
