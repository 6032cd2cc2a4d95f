"""Claims of [idp], section 4.1, on the mean SSE (Figures 3 and 4).

It is known in closed form: chance has no part in a verdict. Several numbers and symbols of the
claims are lost in the text that we have; a test that needs one names the reading, or tries each.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise, product

from deniable.idp import METHODS

from reproduction.papers.idp.claims.evidence import Readings, Tables, ends, readings
from reproduction.study import (
    MARGINS,
    Claims,
    Comparison,
    Outcome,
    Pair,
    Row,
    below,
    equivalent,
    logarithms,
    range_of,
    ratio,
    ratios_of,
    require_any,
    within_tolerance,
)

CLAIMS = Claims()
_of_sse = partial(CLAIMS.claim, section="4.1, Figures 3 and 4")
_of_two = partial(_of_sse, kind="equality")

LOCAL = ("dp_um", "idp_ls")
BEST_K = (5, 15)  # what section 4.1 gives as the best k of iDP-CBLS
ORDERS = 100.0  # several orders of magnitude are at least two: our reading
SIMILAR_SSE = 2.0
LESS_EPSILON = ((0.01, 1.0), (0.1, 1.0), (0.01, 0.1))
"""How a smaller and a larger epsilon whose symbols are lost may be read."""


def of_less_epsilon(decide: Callable[[float, float], Outcome]) -> Readings:
    """Return what `decide` finds of a smaller and a larger epsilon, however these are read."""
    return readings(
        {f"{low:g} and {high:g}": partial(decide, low, high) for low, high in LESS_EPSILON}
    )


@_of_sse(
    "Plain Laplace noise (DP) has the highest SSE.",
    "each other method below dp, each epsilon, factor, k",
)
def _dp_highest(tables: Tables) -> Outcome:
    pairs = [pair for method in METHODS[1:] for pair in tables.pairs(method, "dp")]
    return below(pairs, f"others over dp: {ratios_of(pairs)}")


@_of_two(
    "The SSE of DP barely decreases with larger epsilon; its data are nearly random.",
    "dp at the largest and the smallest epsilon within a factor of 1.2",
)
def _dp_barely_falls(tables: Tables) -> Outcome:
    low, high = ends(tables.epsilons, "epsilon")
    pairs = [(tables.sse_of("dp", high, c), tables.sse_of("dp", low, c)) for c in tables.factors]
    return equivalent(
        require_any(pairs), f"dp at epsilon {high:g} over {low:g}: {ratios_of(pairs)}"
    )


@_of_two(
    "DP-UM and iDP-LS yield similar results.",
    "idp_ls and dp_um within a factor of 1.2, each epsilon, factor, k",
)
def _local_and_global_alike(tables: Tables) -> Outcome:
    pairs = tables.pairs("idp_ls", "dp_um")
    return equivalent(pairs, f"idp_ls over dp_um: {ratios_of(pairs)}")


@_of_sse("iDP-LS achieves a lower SSE than DP-UM.", "idp_ls below dp_um, each epsilon, factor, k")
def _local_below_global(tables: Tables) -> Outcome:
    pairs = tables.pairs("idp_ls", "dp_um")
    return below(pairs, f"idp_ls over dp_um: {ratios_of(pairs)}")


@_of_sse(
    "The SSE of DP-UM and iDP-LS decreases as k increases.",
    "dp_um and idp_ls: each k below the one before",
    kind="order",
)
def _falls_with_k(tables: Tables) -> Outcome:
    def over(*steps: tuple[int, int]) -> list[Pair]:
        every = [(method, *setting) for method in LOCAL for setting in tables.settings]
        return [(tables.sse_of(*at, b), tables.sse_of(*at, a)) for at in every for a, b in steps]

    pairs, (first, *_, last) = require_any(over(*pairwise(tables.k))), tables.k
    return below(pairs, f"k = {last} over k = {first}: {ratios_of(over((first, last)))}")


def _gap(tables: Tables, epsilon: float, factor: float, k: int) -> Row:
    """Return the SSE of iDP-LS over that of DP-UM."""
    return ratio(*(tables.sse_of(method, epsilon, factor, k) for method in ("idp_ls", "dp_um")))


@_of_sse(
    "DP-UM and iDP-LS differ more for higher epsilon (the symbol is lost).",
    "idp_ls / dp_um at the largest epsilon below that at the smallest, each factor, k",
)
def _gap_grows_with_epsilon(tables: Tables) -> Outcome:
    low, high = ends(tables.epsilons, "epsilon")
    every = product(tables.factors, tables.k)
    pairs = require_any([(_gap(tables, high, *at), _gap(tables, low, *at)) for at in every])
    highs, lows = (range_of(pair[i]["median"] for pair in pairs) for i in (0, 1))
    return below(pairs, f"idp_ls over dp_um: {highs} at epsilon {high:g}, {lows} at {low:g}")


@_of_two(
    "The difference stays proportional when the domains vary.",
    "idp_ls / dp_um at the two factors within a factor of 1.2, each epsilon, k",
)
def _gap_stays_proportional(tables: Tables) -> Outcome:
    narrow, wide = ends(tables.factors, "domain factor")
    every = product(tables.epsilons, tables.k)
    pairs = require_any([(_gap(tables, e, wide, k), _gap(tables, e, narrow, k)) for e, k in every])
    figure = f"factor {wide:g} against {narrow:g}: apart by {ratios_of(pairs)}"
    return equivalent(pairs, f"idp_ls over dp_um, {figure}")


@_of_sse(
    "The SSE of DP, DP-UM and iDP-LS decreases as the domains get smaller.",
    "the smaller factor below the larger, each epsilon, and k where there are clusters",
)
def _smaller_domain_smaller_sse(tables: Tables) -> Outcome:
    narrow, wide = ends(tables.factors, "domain factor")
    every = [("dp", e, 0) for e in tables.epsilons]  # once, whatever k
    every += product(LOCAL, tables.epsilons, tables.k)
    pairs = [(tables.sse_of(m, e, narrow, k), tables.sse_of(m, e, wide, k)) for m, e, k in every]
    return below(require_any(pairs), f"factor {narrow:g} over {wide:g}: {ratios_of(pairs)}")


def below_by_orders_of_magnitude(tables: Tables, others: Sequence[str]) -> Outcome:
    """Test that iDP-CBLS has at most a hundredth of others' SSE, a margin of ours, in each cell.

    The cells are those of `tables`, `others` the methods.
    """
    best = [
        min(float(tables.sse_of(other, *at)["median"]) for other in others) for at in tables.every()
    ]
    own = (float(tables.sse_of("idp_cbls", *at)["median"]) for at in tables.every())
    times = [other / each for other, each in zip(best, own, strict=True)]
    reached = ", ".join(
        f"{least:g} times in {sum(each >= least for each in times)}"
        for least in (10.0, *(factor * ORDERS for factor in MARGINS))
    )
    return Outcome(
        tuple(Comparison(each - ORDERS, margin=-ORDERS) for each in times),
        f"{' or '.join(others)} over idp_cbls: {range_of(times)}; "
        f"at least {reached} of {len(times)} cells",
        our_margin=True,
    )


@_of_sse(
    "iDP-CBLS improves on the other methods by several orders of magnitude.",
    "idp_cbls at most a hundredth of each other method, each epsilon, factor, k",
)
def _cluster_based_orders_of_magnitude(tables: Tables) -> Outcome:
    return below_by_orders_of_magnitude(tables, METHODS[:3])


@_of_two(
    "The SSE of iDP-CBLS at a smaller epsilon (lost) is similar to that of DP-UM and iDP-LS at a "
    "larger one (lost) with large k.",
    "idp_cbls at the one, best k, and the others at the other, largest k, within a factor of 2",
)
def _cluster_based_at_less_epsilon(tables: Tables) -> Readings:
    def decide(low: float, high: float) -> Outcome:
        pairs = [
            (tables.least(low, c, tables.k)[1], tables.sse_of(m, high, c, tables.k[-1]))
            for c, m in product(tables.factors, LOCAL)
        ]
        found = within_tolerance(
            [(logarithms(a), logarithms(b)) for a, b in pairs],
            math.log(SIMILAR_SSE),
            f"idp_cbls over the others: {ratios_of(pairs)}",
        )
        return replace(found, our_margin=True)

    return of_less_epsilon(decide)


@_of_two(
    "iDP-CBLS is not affected by large domains.",
    "idp_cbls at the two factors within a factor of 1.2, each epsilon, k",
)
def _cluster_based_unaffected_by_domain(tables: Tables) -> Outcome:
    narrow, wide = ends(tables.factors, "domain factor")
    of = {
        e: [
            (tables.sse_of("idp_cbls", e, wide, k), tables.sse_of("idp_cbls", e, narrow, k))
            for k in tables.k
        ]
        for e in tables.epsilons
    }
    said = "; ".join(f"epsilon {e:g}: {ratios_of(pairs)}" for e, pairs in of.items())
    pairs = [pair for own in of.values() for pair in own]
    return equivalent(require_any(pairs), f"factor {wide:g} over {narrow:g}, {said}")


@_of_sse(
    "iDP-CBLS is optimal at very small k, 5 to 15.",
    "the best of k = 5 .. 15 below the best of the others, each epsilon, factor",
)
def _cluster_based_best_at_small_k(tables: Tables) -> Outcome:
    inside = [k for k in tables.k if BEST_K[0] <= k <= BEST_K[1]]
    outside = [k for k in tables.k if k not in inside]
    pairs = [(tables.least(*s, inside)[1], tables.least(*s, outside)[1]) for s in tables.settings]
    least = ", ".join(
        f"k = {tables.least(epsilon, factor, tables.k)[0]} (epsilon {epsilon:g}, factor {factor:g})"
        for epsilon, factor in tables.settings
    )
    return below(require_any(pairs), f"least at {least}")


@_of_sse(
    "Larger k produce a small increase of the SSE of iDP-CBLS.",
    "the best of k <= 15 below the largest k, each epsilon, factor",
)
def _cluster_based_rises_with_k(tables: Tables) -> Outcome:
    small, most = [k for k in tables.k if k <= BEST_K[1]], tables.k[-1]
    pairs = [
        (tables.least(*setting, small)[1], tables.sse_of("idp_cbls", *setting, most))
        for setting in tables.settings
    ]
    return below(
        require_any(pairs), f"best of k <= {BEST_K[1]} over k = {most}: {ratios_of(pairs)}"
    )
