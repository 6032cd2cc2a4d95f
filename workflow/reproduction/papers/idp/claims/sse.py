"""Tests of claims of [idp] on the mean SSE: section 4.1 (Figures 3 and 4), and 5.

It is known in closed form, so that verdicts have no sampling error. Several numbers and symbols of
the claims are lost in our text of the paper. A test names its interpretation, or tries each.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise, product

from deniable.idp import METHODS

from reproduction.papers.idp.claims.evidence import Tables, readings
from reproduction.study import (
    MARGINS,
    Comparison,
    Outcome,
    Pair,
    Readings,
    Test,
    below,
    equivalent,
    logarithms,
    range_of,
    ratios_of,
    require_any,
    within_tolerance,
)

LOCAL = ("dp_um", "idp_ls")
BEST_K = (5, 15)  # the best k of iDP-CBLS in section 4.1
ORDERS = 100.0  # several orders of magnitude are at least two: our interpretation
SIMILAR_SSE = 2.0
LESS_EPSILON = ((0.01, 1.0), (0.1, 1.0), (0.01, 0.1))
"""Interpretations of a smaller and a larger epsilon with lost symbols."""


def of_less_epsilon(decide: Callable[[float, float], Outcome]) -> Readings:
    """Call `decide` for each interpretation of a smaller and a larger epsilon."""
    return readings(
        {f"{low:g} and {high:g}": partial(decide, low, high) for low, high in LESS_EPSILON}
    )


def _falls_with_k(tables: Tables) -> Outcome:
    def over(*steps: tuple[int, int]) -> list[Pair]:
        every = [(method, *setting) for method in LOCAL for setting in tables.settings]
        return [(tables.sse_of(*at, b), tables.sse_of(*at, a)) for at in every for a, b in steps]

    pairs, (first, *_, last) = require_any(over(*pairwise(tables.k))), tables.k
    return below(pairs, f"k = {last} over k = {first}: {ratios_of(over((first, last)))}")


def _below_by_orders_of_magnitude(others: Sequence[str], tables: Tables) -> Outcome:
    """Test that iDP-CBLS has at most a hundredth of others' SSE, a margin of ours."""
    every = [(*setting, k) for setting in tables.settings for k in tables.k]
    best = [min(float(tables.sse_of(other, *at)["median"]) for other in others) for at in every]
    own = (float(tables.sse_of("idp_cbls", *at)["median"]) for at in every)
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


def _cluster_based_at_less_epsilon(tables: Tables) -> Readings:
    def decide(low: float, high: float) -> Outcome:
        pairs = [
            (tables.least(low, c, tables.k)[1], tables.sse_of(m, high, c, tables.k[-1]))
            for c, m in product(tables.errors.values_of("domain_factor"), LOCAL)
        ]
        found = within_tolerance(
            [(logarithms(a), logarithms(b)) for a, b in pairs],
            math.log(SIMILAR_SSE),
            f"idp_cbls over the others: {ratios_of(pairs)}",
        )
        return replace(found, our_margin=True)

    return of_less_epsilon(decide)


def _cluster_based_unaffected_by_domain(tables: Tables) -> Outcome:
    narrow, wide = tables.errors.ends("domain_factor")
    of = {
        e: [
            (tables.sse_of("idp_cbls", e, wide, k), tables.sse_of("idp_cbls", e, narrow, k))
            for k in tables.k
        ]
        for e in tables.errors.values_of("epsilon")
    }
    said = "; ".join(f"epsilon {e:g}: {ratios_of(pairs)}" for e, pairs in of.items())
    pairs = [pair for own in of.values() for pair in own]
    return equivalent(pairs, f"factor {wide:g} over {narrow:g}, {said}")


def _cluster_based_best_at_small_k(tables: Tables) -> Outcome:
    inside = [k for k in tables.k if BEST_K[0] <= k <= BEST_K[1]]
    outside = [k for k in tables.k if k not in inside]
    pairs = [(tables.least(*s, inside)[1], tables.least(*s, outside)[1]) for s in tables.settings]
    least = ", ".join(
        f"k = {tables.least(epsilon, factor, tables.k)[0]} (epsilon {epsilon:g}, factor {factor:g})"
        for epsilon, factor in tables.settings
    )
    return below(require_any(pairs), f"least at {least}")


def _cluster_based_rises_with_k(tables: Tables) -> Outcome:
    small, most = [k for k in tables.k if k <= BEST_K[1]], tables.k[-1]
    pairs = [
        (tables.least(*setting, small)[1], tables.sse_of("idp_cbls", *setting, most))
        for setting in tables.settings
    ]
    return below(
        require_any(pairs), f"best of k <= {BEST_K[1]} over k = {most}: {ratios_of(pairs)}"
    )


TESTS: Mapping[str, Test] = {
    "falls_with_k": _falls_with_k,
    "cluster_based_orders_of_magnitude": partial(_below_by_orders_of_magnitude, METHODS[:3]),
    "beats_dp_by_orders_of_magnitude": partial(_below_by_orders_of_magnitude, ["dp"]),
    "cluster_based_at_less_epsilon": _cluster_based_at_less_epsilon,
    "cluster_based_unaffected_by_domain": _cluster_based_unaffected_by_domain,
    "cluster_based_best_at_small_k": _cluster_based_best_at_small_k,
    "cluster_based_rises_with_k": _cluster_based_rises_with_k,
}
