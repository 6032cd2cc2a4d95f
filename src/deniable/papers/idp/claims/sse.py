"""Claims of [idp], section 4.1, on the mean SSE (Figures 3 and 4), and what all claims rest on.

Several numbers and symbols of the claims are lost in the text that we have; where a test needs one,
it names the reading.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise, product

import pandas as pd

from deniable.idp import METHODS
from deniable.records import NumericMicrodata
from deniable.study import (
    Claims,
    Outcome,
    Pair,
    Row,
    alike,
    below,
    logarithms,
    near,
    range_of,
    ratio,
    ratios_of,
    some,
)

CLAIMS = Claims()
_of_sse = partial(CLAIMS.claim, section="4.1, Figures 3 and 4")

LOCAL = ("dp_um", "idp_ls")
BEST_K = (5, 15)
"""What section 4.1 gives as the best k of iDP-CBLS."""
ORDERS = 100.0
"""Several orders of magnitude are at least two."""
SIMILAR_SSE = 2.0
KEYS = ("method", "epsilon", "domain_factor", "k")
Key = tuple[str, float, float, int]
"""Method, epsilon, domain factor, k."""
Rows = dict[Key, Row]


@dataclass(frozen=True, eq=False)
class Tables:
    """What the claims on a data set, "census" or "wine", are held against.

    A row to compare is a mapping with ``median`` (the estimate, here a mean), ``ci_low`` and
    ``ci_high``: what the tests of `deniable.study.comparisons` take. ``sse`` is idp_fig3 or
    idp_fig4: method, epsilon, domain_factor, k, mean_sse, ci_low, ci_high; ``forests`` is idp_fig5
    or idp_fig6: the same with class and f_measure, and 0 for what does not apply.
    """

    dataset: str
    data: NumericMicrodata
    sse: pd.DataFrame
    forests: pd.DataFrame

    @cached_property
    def errors(self) -> Rows:
        """The mean SSE."""
        return _rows(self.sse, "mean_sse")

    @cached_property
    def measures(self) -> Rows:
        """The mean of the F-measures over the classes.

        Errors of the two classes add: their F-measures come from the same forests.
        """
        values = ["f_measure", "ci_low", "ci_high"]
        means = self.forests.groupby(list(KEYS))[values].mean().reset_index()
        return _rows(means, "f_measure")

    def of_class(self, name: str) -> Rows:
        """Return the F-measures of one class."""
        return _rows(self.forests[self.forests["class"] == name], "f_measure")

    @cached_property
    def settings(self) -> list[tuple[float, float]]:
        """The epsilons and domain factors of the SSE, in order."""
        return sorted({(epsilon, factor) for _, epsilon, factor, _ in self.errors})

    @property
    def epsilons(self) -> list[float]:
        """The epsilons of the SSE, in order."""
        return sorted({epsilon for epsilon, _ in self.settings})

    @property
    def factors(self) -> list[float]:
        """The domain factors of the SSE, in order."""
        return sorted({factor for _, factor in self.settings})

    @property
    def k(self) -> list[int]:
        """The k of the SSE, in order."""
        return sorted({k for *_, k in self.errors})

    @property
    def ends(self) -> tuple[float, float]:
        """The narrowest and the widest domain factor of the SSE."""
        if len(self.factors) < 2:
            raise LookupError("a single domain factor")
        return self.factors[0], self.factors[-1]

    def every(self) -> list[tuple[float, float, int]]:
        """Return each setting at each k."""
        return [(*setting, k) for setting in self.settings for k in self.k]

    def pairs(self, first: str, second: str) -> Sequence[Pair]:
        """Return the mean SSE of two methods in each setting, at each k."""
        return some([(self.errors[first, *at], self.errors[second, *at]) for at in self.every()])

    def least(self, epsilon: float, factor: float, among: Iterable[int]) -> tuple[int, Row]:
        """Return the k at which iDP-CBLS has the least mean SSE, and that."""
        of = [(k, self.errors["idp_cbls", epsilon, factor, k]) for k in among]
        if not of:
            raise LookupError("no k to choose from")
        return min(of, key=lambda found: float(found[1]["median"]))

    @property
    def forest_k(self) -> list[int]:
        """The k of forests on iDP-CBLS records, in order."""
        return sorted({k for *_, k in self._forests()})

    @property
    def forest_factors(self) -> list[float]:
        """The domain factors of forests on iDP-CBLS records, in order."""
        return sorted({factor for _, _, factor, _ in self._forests()})

    def _forests(self) -> list[Key]:
        if not (found := [key for key in self.measures if key[0] == "idp_cbls"]):
            raise LookupError("no forests on iDP-CBLS records")
        return found

    def bound(self) -> Row:
        """Return the mean F of forests on the original records."""
        return self.measures["original", 0.0, 0.0, 0]

    def best(self, methods: Sequence[str], epsilon: float, factor: float) -> Row:
        """Return the largest mean F of some methods, over k where they have one."""
        at = [(method, epsilon, factor, k) for method in methods for k in (0, *self.forest_k)]
        if not (found := [self.measures[key] for key in at if key in self.measures]):
            raise LookupError("the tables lack these methods")
        return max(found, key=lambda row: float(row["median"]))


def _rows(table: pd.DataFrame, value: str) -> Rows:
    columns = [*KEYS, value, "ci_low", "ci_high"]
    return {
        (method, epsilon, factor, int(k)): {"median": found, "ci_low": low, "ci_high": high}
        for method, epsilon, factor, k, found, low, high in zip(
            *(table[name].tolist() for name in columns), strict=True
        )
    }


def times_row(row: Row, factor: float) -> Row:
    """Return a row multiplied by a factor."""
    return {name: factor * value for name, value in row.items()}


def shifted(row: Row, by: float) -> Row:
    """Return a row shifted by a number."""
    return {name: value + by for name, value in row.items()}


# -- Figures 3 and 4: plain noise, and sensitivities of attributes ---------------------------------


@_of_sse(
    "Plain Laplace noise (DP) has the highest SSE.",
    "each other method below dp, each epsilon, factor, k",
)
def _dp_highest(tables: Tables) -> Outcome:
    pairs = [pair for method in METHODS[1:] for pair in tables.pairs(method, "dp")]
    return below(pairs, f"others over dp: {ratios_of(pairs)}")


@_of_sse(
    "The SSE of DP barely decreases with larger epsilon; its data are nearly random.",
    "dp at the largest and the smallest epsilon within a factor of 1.2",
)
def _dp_barely_falls(tables: Tables) -> Outcome:
    errors, low, high, k = tables.errors, tables.epsilons[0], tables.epsilons[-1], tables.k[0]
    pairs = some([(errors["dp", high, c, k], errors["dp", low, c, k]) for c in tables.factors])
    return alike(pairs, f"dp at epsilon {high:g} over {low:g}: {ratios_of(pairs)}")


@_of_sse(
    "DP-UM and iDP-LS yield similar results.",
    "idp_ls and dp_um within a factor of 1.2, each epsilon, factor, k",
)
def _local_and_global_alike(tables: Tables) -> Outcome:
    pairs = tables.pairs("idp_ls", "dp_um")
    return alike(pairs, f"idp_ls over dp_um: {ratios_of(pairs)}")


@_of_sse("iDP-LS achieves a lower SSE than DP-UM.", "idp_ls below dp_um, each epsilon, factor, k")
def _local_below_global(tables: Tables) -> Outcome:
    pairs = tables.pairs("idp_ls", "dp_um")
    return below(pairs, f"idp_ls over dp_um: {ratios_of(pairs)}")


@_of_sse(
    "The SSE of DP-UM and iDP-LS decreases as k increases.",
    "dp_um and idp_ls: each k below the one before",
)
def _falls_with_k(tables: Tables) -> Outcome:
    def over(*steps: tuple[int, int]) -> list[Pair]:
        every = [(method, *setting) for method in LOCAL for setting in tables.settings]
        return [(tables.errors[*at, b], tables.errors[*at, a]) for at in every for a, b in steps]

    first, last = tables.k[0], tables.k[-1]
    figure = f"k = {last} over k = {first}: {ratios_of(over((first, last)))}"
    return below(some(over(*pairwise(tables.k))), figure)


def _gap(tables: Tables, epsilon: float, factor: float, k: int) -> Row:
    """Return the SSE of iDP-LS over that of DP-UM."""
    return ratio(*(tables.errors[method, epsilon, factor, k] for method in ("idp_ls", "dp_um")))


@_of_sse(
    "DP-UM and iDP-LS differ more for higher epsilon (the symbol is lost).",
    "idp_ls / dp_um at the largest epsilon below that at the smallest, each factor, k",
)
def _gap_grows_with_epsilon(tables: Tables) -> Outcome:
    low, high = tables.epsilons[0], tables.epsilons[-1]
    every = product(tables.factors, tables.k)
    pairs = some([(_gap(tables, high, *at), _gap(tables, low, *at)) for at in every])
    highs, lows = (range_of(pair[i]["median"] for pair in pairs) for i in (0, 1))
    return below(pairs, f"idp_ls over dp_um: {highs} at epsilon {high:g}, {lows} at {low:g}")


@_of_sse(
    "The difference stays proportional when the domains vary.",
    "idp_ls / dp_um at the two factors within a factor of 1.2, each epsilon, k",
)
def _gap_stays_proportional(tables: Tables) -> Outcome:
    narrow, wide = tables.factors[0], tables.factors[-1]
    every = product(tables.epsilons, tables.k)
    pairs = some([(_gap(tables, e, wide, k), _gap(tables, e, narrow, k)) for e, k in every])
    figure = f"factor {wide:g} against {narrow:g}: apart by {ratios_of(pairs)}"
    return alike(pairs, f"idp_ls over dp_um, {figure}")


@_of_sse(
    "The SSE of DP, DP-UM and iDP-LS decreases as the domains get smaller.",
    "the smaller factor below the larger, each epsilon, k",
)
def _smaller_domain_smaller_sse(tables: Tables) -> Outcome:
    errors, narrow, wide = tables.errors, tables.factors[0], tables.factors[-1]
    every = product(METHODS[:3], tables.epsilons, tables.k)
    pairs = some([(errors[m, e, narrow, k], errors[m, e, wide, k]) for m, e, k in every])
    return below(pairs, f"factor {narrow:g} over {wide:g}: {ratios_of(pairs)}")


# -- Figures 3 and 4: sensitivities of clusters ----------------------------------------------------


@_of_sse(
    "iDP-CBLS improves on the other methods by several orders of magnitude.",
    "idp_cbls below a hundredth of idp_ls, each epsilon, factor, k",
)
def _cluster_based_orders_of_magnitude(tables: Tables) -> Outcome:
    pairs = tables.pairs("idp_cbls", "idp_ls")
    figure = _by_epsilon(tables, [(b, a) for a, b in pairs], [e for e, *_ in tables.every()])
    return below([(times_row(a, ORDERS), b) for a, b in pairs], f"idp_ls over idp_cbls, {figure}")


def _by_epsilon(tables: Tables, pairs: Sequence[Pair], epsilons: Sequence[float]) -> str:
    """Return the ratios of pairs, each of which has its epsilon."""
    of: dict[float, list[Pair]] = {e: [] for e in tables.epsilons}
    for epsilon, pair in zip(epsilons, pairs, strict=True):
        of[epsilon].append(pair)
    return "; ".join(f"epsilon {e:g}: {ratios_of(each)}" for e, each in of.items())


@_of_sse(
    "{said}",
    "idp_cbls at {at}, best k, and the others at 1, largest k, within a factor of 2",
    name="cluster_based_{part}_epsilon",
    cases=(
        {
            "part": "hundredth",
            "at": ".01",
            "said": "The SSE of iDP-CBLS at a smaller epsilon (lost; read as .01) is similar to "
            "that of DP-UM and iDP-LS at a larger one (read as 1) with large k.",
        },
        {"part": "tenth", "at": ".1", "said": "The same, read as .1 and 1."},
    ),
)
def _cluster_based_at_less_epsilon(tables: Tables, at: str, **_: str) -> Outcome:
    every, errors = product(tables.factors, LOCAL), tables.errors
    pairs = [
        (tables.least(float(at), c, tables.k)[1], errors[m, 1.0, c, tables.k[-1]]) for c, m in every
    ]
    return near(
        [(logarithms(a), logarithms(b)) for a, b in pairs],
        math.log(SIMILAR_SSE),
        f"idp_cbls over the others at 1: {ratios_of(pairs)}",
        picked_from=len(tables.k),
    )


@_of_sse(
    "iDP-CBLS is not affected by large domains.",
    "idp_cbls at the two factors within a factor of 1.2, each epsilon, k",
)
def _cluster_based_unaffected_by_domain(tables: Tables) -> Outcome:
    errors, (narrow, wide) = tables.errors, tables.ends
    every = [("idp_cbls", *at) for at in product(tables.epsilons, tables.k)]
    pairs = [(errors[m, e, wide, k], errors[m, e, narrow, k]) for m, e, k in every]
    figure = _by_epsilon(tables, pairs, [e for _, e, _ in every])
    return alike(pairs, f"factor {wide:g} over {narrow:g}, {figure}")


@_of_sse(
    "iDP-CBLS is optimal at very small k, 5 to 15.",
    "the best of k = 5 .. 15 below the best of the others, each epsilon, factor",
)
def _cluster_based_best_at_small_k(tables: Tables) -> Outcome:
    inside = [k for k in tables.k if BEST_K[0] <= k <= BEST_K[1]]
    outside = [k for k in tables.k if k not in inside]
    if not inside or not outside:
        raise LookupError("k on one side only")
    pairs = [(tables.least(*s, inside)[1], tables.least(*s, outside)[1]) for s in tables.settings]
    least = ", ".join(
        f"k = {tables.least(epsilon, factor, tables.k)[0]} (epsilon {epsilon:g}, factor {factor:g})"
        for epsilon, factor in tables.settings
    )
    return below(pairs, f"least at {least}")


@_of_sse(
    "Larger k produce a small increase of the SSE of iDP-CBLS.",
    "the best of k <= 15 below the largest k, each epsilon, factor",
)
def _cluster_based_rises_with_k(tables: Tables) -> Outcome:
    small, most = [k for k in tables.k if k <= BEST_K[1]], tables.k[-1]
    pairs = [
        (tables.least(*setting, small)[1], tables.errors["idp_cbls", *setting, most])
        for setting in tables.settings
    ]
    return below(pairs, f"best of k <= {BEST_K[1]} over k = {most}: {ratios_of(pairs)}")
