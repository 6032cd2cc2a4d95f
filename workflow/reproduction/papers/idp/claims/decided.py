"""Tests of the claims of [idp] that need more than a comparison of cells.

`resources/claims/idp.csv` has the sentences, and the comparisons in words. The mean SSE is known in
closed form, so verdicts on it have no sampling error. "F" is the mean of the F-measures of the two
classes. Several numbers and symbols of the claims are missing in our text of the paper. A test
states its interpretation, or tries several. If the largest of several F is compared, p-values are
multiplied by their number. Settings with two domain factors share the seed of the forest, which
makes tests between them conservative.

**Equivalence margins.** "Around" 20, 10 and 5 % are round numbers 5 points apart, so the
equivalence margin is half of that. "Only" 3 and 10 % and "identical" are whole per cent, ± half a
point; with a margin of 3 points for 3 %, "identical" would also pass. If the text has no number,
the margin is our choice, and the verdict states whether it depends on the margin.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, pairwise, product

import numpy as np
import pandas as pd

from deniable import idp
from deniable.arrays import Floats
from deniable.idp.audit import FIXED

from reproduction.papers.idp.claims.evidence import Tables
from reproduction.papers.idp.names import READINGS
from reproduction.study import (
    MARGINS,
    UNKNOWN,
    Comparison,
    Outcome,
    Pair,
    Readings,
    Test,
    below,
    counted,
    equivalent,
    exact_row,
    found_by,
    range_of,
    ratio,
    ratios_of,
    require_any,
    within_tolerance,
)

TIMES = {10: ((0.01, 0.1), (0.1, 1.0)), 100: ((0.01, 1.0),)}
"""The ε of iDP-CBLS and of DP data, by their ratio."""
LOCAL = ("dp_um", "idp_ls")
BEST_K = (5, 15)  # the best k of iDP-CBLS in section 4.1
ORDERS = 100.0  # several orders of magnitude are at least two: our interpretation
SIMILAR_SSE, SIMILAR_F = 2.0, 0.05
LESS_EPSILON = ((0.01, 1.0), (0.1, 1.0), (0.01, 0.1))
"""Interpretations of a smaller and a larger ε, where symbols are missing."""
TRUE_DP = ("dp_synthetic", "dp_naive_bayes", "dp_rule")
AROUND, WHOLE_PERCENT = 0.025, 0.005
"""Half the spacing of published numbers: 5 points for "around 20 %", 1 point for "3 %"."""


def _by_reading(tests: Mapping[str, Callable[[Tables], Outcome]]) -> Test:
    """Return a test that calls all `tests`, by interpretation; outcomes have the figures of all."""

    def readings(tables: Tables) -> Readings:
        found = {name: found_by(partial(test, tables)) for name, test in tests.items()}
        said = "; ".join(f"{name}: {outcome.figure}" for name, outcome in found.items())
        return [(name, partial(replace, outcome, figure=said)) for name, outcome in found.items()]

    return readings


def _of_less_epsilon(test: Callable[[float, float, Tables], Outcome]) -> Test:
    """Return a test that calls `test` for each interpretation of a smaller and a larger ε."""
    return _by_reading({f"{a:g} and {b:g}": partial(test, a, b) for a, b in LESS_EPSILON})


def _no_smaller_error(tables: Tables) -> Outcome:
    values = tables.data.values
    alone = {k: float(idp.mean_sse(values, idp.microaggregate(values, k))) for k in tables.k}
    ratios = [row["median"] / alone[k] for (*_, k), row in tables.errors.items() if k]
    figure = f"that of microaggregation alone times {range_of(ratios)}"
    return counted((each >= 1 - 1e-9 for each in ratios), figure)


def _no_value_closer(tables: Tables) -> Outcome:
    ranking = idp.Ranking.of(tables.data.values)
    upper = idp.domain_bounds(tables.data.values, tables.errors.values_of("domain_factor")[0])
    every = product(tables.errors.values_of("epsilon"), tables.k)
    closer = {(epsilon, k): _closer(ranking, upper, k, epsilon) for epsilon, k in every}
    (epsilon, k), most = max(closer.items(), key=lambda item: item[1])
    return counted(
        (number == 0 for number in closer.values()),
        f"up to {most} of {ranking.values.size:,} values are closer (epsilon {epsilon:g}, k = {k})",
    )


def _closer(ranking: idp.Ranking, upper: Floats, k: int, epsilon: float) -> int:
    """Return the number of values that iDP-CBLS is expected to leave closer than the centroid."""
    found = idp.masking("idp_cbls", ranking, k, upper, epsilon)
    clusters, attributes = found.clusters, np.arange(ranking.attributes)[:, None]
    nth = np.arange(clusters.sizes.max())[:, None, None]  # values of a cluster, in order
    there = nth < clusters.sizes
    values = ranking.values[attributes, clusters.starts + np.where(there, nth, 0)]
    alone = (clusters.centroids - values) ** 2
    closer = idp.expected_squares(found, values) < alone * (1 - 1e-9)
    return int(np.sum(closer & there))


def _hides_in_a_group(tables: Tables) -> Outcome:
    ranking, shares = idp.Ranking.of(tables.data.values), {}
    for k in tables.k:
        memberships = ranking.clusters(k).memberships.T
        _, which, sizes = np.unique(memberships, axis=0, return_inverse=True, return_counts=True)
        shares[k] = float(np.mean(sizes[which] >= k))
    most = max(shares, key=lambda k: shares[k])
    return counted(
        (share == 1 for share in shares.values()),
        "records whose released values are those of k - 1 others in all attributes: at most "
        f"{shares[most]:.2%} (k = {most})",
    )


def _as_claimed(name: str, table: pd.DataFrame) -> Outcome:
    reading, clusters = READINGS[name]
    own = table["method"].isin(idp.METHODS[2:]) & (table["domain"] == "public")
    part = table[own & (table["reading"] == reading) & (table["clusters"] == clusters)]
    part = require_any(part, "an audit of it")
    comparisons = (UNKNOWN if pd.isna(h) else Comparison(1.0 if h else -1.0) for h in part["holds"])
    largest = part.groupby("unit", sort=False)["times_claimed"].max()
    said = ", ".join(f"{unit} {times:.3g}" for unit, times in largest.items())
    return Outcome(tuple(comparisons), f"epsilon over the claimed: {said}")


def _rivals_plain_noise(tables: Tables) -> Outcome:
    factors = tables.errors.values_of("domain_factor")
    of = {
        times: [
            (tables.sse_of("idp_cbls", low, c, k), tables.sse_of("dp", high, c))
            for (low, high), c, k in product(epsilons, factors, tables.k)
        ]
        for times, epsilons in TIMES.items()
    }
    said = (f"idp_cbls over dp at {times} epsilon: {ratios_of(of[times])}" for times in of)
    return below([pair for pairs in of.values() for pair in pairs], "; ".join(said))


def _falls_with_k(tables: Tables) -> Outcome:
    def over(*steps: tuple[int, int]) -> list[Pair]:
        every = [(method, *setting) for method in LOCAL for setting in tables.settings]
        return [(tables.sse_of(*at, b), tables.sse_of(*at, a)) for at in every for a, b in steps]

    pairs, (first, *_, last) = require_any(over(*pairwise(tables.k))), tables.k
    return below(pairs, f"k = {last} over k = {first}: {ratios_of(over((first, last)))}")


def _below_by_orders_of_magnitude(others: Sequence[str], tables: Tables) -> Outcome:
    """Test that the SSE of iDP-CBLS is at most a hundredth of others' SSE (our choice)."""
    every = [(*setting, k) for setting in tables.settings for k in tables.k]
    best = [min(float(tables.sse_of(other, *at)["median"]) for other in others) for at in every]
    own = (float(tables.sse_of("idp_cbls", *at)["median"]) for at in every)
    times = [other / each for other, each in zip(best, own, strict=True)]
    limits = (10.0, *(factor * ORDERS for factor in MARGINS))
    reached = ", ".join(f"{n:g} times in {sum(each >= n for each in times)}" for n in limits)
    return Outcome(
        tuple(Comparison(each - ORDERS, margin=-ORDERS) for each in times),
        f"{' or '.join(others)} over idp_cbls: {range_of(times)}; "
        f"at least {reached} of {len(times)} cells",
        our_margin=True,
    )


def _cluster_based_at_less_epsilon(low: float, high: float, tables: Tables) -> Outcome:
    k, every = tables.k, product(tables.errors.values_of("domain_factor"), LOCAL)
    pairs = [(tables.least(low, c, k)[1], tables.sse_of(m, high, c, k[-1])) for c, m in every]
    return equivalent(pairs, f"idp_cbls over the others: {ratios_of(pairs)}", SIMILAR_SSE)


def _cluster_based_best_at_small_k(tables: Tables) -> Outcome:
    inside = [k for k in tables.k if BEST_K[0] <= k <= BEST_K[1]]
    outside = [k for k in tables.k if k not in inside]
    pairs = [(tables.least(*s, inside)[1], tables.least(*s, outside)[1]) for s in tables.settings]
    best = ((*setting, tables.least(*setting, tables.k)[0]) for setting in tables.settings)
    least = ", ".join(f"k = {k} (epsilon {e:g}, factor {factor:g})" for e, factor, k in best)
    return below(require_any(pairs), f"least at {least}")


def _cluster_based_rises_with_k(tables: Tables) -> Outcome:
    small, end = [k for k in tables.k if k <= BEST_K[1]], tables.k[-1]
    own = partial(tables.sse_of, "idp_cbls")
    pairs = [(tables.least(*at, small)[1], own(*at, end)) for at in tables.settings]
    return below(require_any(pairs), f"best of k <= {BEST_K[1]} over k = {end}: {ratios_of(pairs)}")


def _shortfalls(method: str, stated: Mapping[float, int], margin: float, tables: Tables) -> Outcome:
    """Test the `stated` per cent by which the best F of a method is below the bound, by ε."""
    bound = tables.measures["original", 0.0, 0.0, 0]
    factor = tables.cluster_based.values_of("domain_factor")[0]
    found = {epsilon: ratio(tables.best([method], epsilon, factor), bound) for epsilon in stated}
    both = ((e, percent, 1 - found[e]["median"]) for e, percent in stated.items())
    said = (f"{gap:.1%} below the bound at epsilon {e:g} ({n} % in the text)" for e, n, gap in both)
    pairs = [(found[epsilon], exact_row(1 - percent / 100)) for epsilon, percent in stated.items()]
    picked = len(tables.cluster_based.values_of("k"))
    return within_tolerance(pairs, margin, ", ".join(said), picked, larger_is_better=True)


def _forests_at_less_epsilon(low: float, high: float, tables: Tables) -> Outcome:
    sizes, factors = (tables.cluster_based.values_of(name) for name in ("k", "domain_factor"))
    pairs = [(tables.best(["idp_cbls"], low, c), tables.best(["idp_ls"], high, c)) for c in factors]
    found = within_tolerance(pairs, SIMILAR_F, _side_by_side(pairs), len(sizes))
    return replace(found, our_margin=True)


def _forests_improve_on_the_bound(tables: Tables) -> Outcome:
    bound, said, comparisons = tables.measures["original", 0.0, 0.0, 0], [], []
    every = [tables.cluster_based.values_of(name) for name in ("domain_factor", "k")]
    for epsilon in (0.1, 1.0):
        pairs = [(bound, tables.measures["idp_cbls", epsilon, *at]) for at in product(*every)]
        surest = min(below(pairs, "").comparisons, key=lambda each: each.p_value(1))
        comparisons.append(replace(surest, picked_from=len(pairs)))
        most = max(float(own["median"]) for _, own in pairs)
        said.append(f"epsilon {epsilon:g}: largest of {len(pairs)} {most:.3f}")
    return Outcome(tuple(comparisons), f"{'; '.join(said)}; bound {bound['median']:.3f}")


def _times_more_records(tables: Tables) -> Outcome:
    rarer, commoner = sorted(np.bincount(tables.data.labels).tolist())
    figure = f"{commoner:,} over {rarer:,} records: {commoner / rarer:.2f} times"
    return counted([abs(commoner / rarer - 3.5) <= 0.05], figure)


def _side_by_side(pairs: Sequence[Pair]) -> str:
    return "; ".join(f"{a['median']:.3f} against {b['median']:.3f}" for a, b in pairs)


def _above_true_dp(spent: Sequence[tuple[float, float]], margin: float, tables: Tables) -> Outcome:
    """Test that the best F of iDP-CBLS exceeds that with central ε-DP by more than a `margin`.

    The pairs `spent` are the ε of both.
    """
    every = product(spent, tables.cluster_based.values_of("domain_factor"))
    pairs = [(tables.best(["idp_cbls"], a, c), tables.best(TRUE_DP, b, c)) for (a, b), c in every]
    picked = max(len(tables.cluster_based.values_of("k")), len(TRUE_DP))
    apart = below([(true, own) for own, true in pairs], "").comparisons
    moved = partial(replace, margin=-margin, picked_from=picked)
    comparisons = (moved(each, difference=each.difference - margin) for each in apart)
    return Outcome(tuple(comparisons), _side_by_side(pairs), our_margin=True)


TESTS: Mapping[str, Test] = {
    "no_less_than_microaggregation": _by_reading(
        {"mean SSE": _no_smaller_error, "value by value": _no_value_closer}
    ),
    "hides_in_a_group": _hides_in_a_group,
    # The proofs assume a fixed partition and fixed noise. No release meets this condition, so it is
    # not an interpretation here.
    "individual_privacy": _by_reading(
        {name: partial(_as_claimed, name) for name, (_, of) in READINGS.items() if of != FIXED}
    ),
    "rivals_dp_at_more_epsilon": _by_reading(
        {
            "plain noise": _rivals_plain_noise,
            "central DP": partial(_above_true_dp, [*chain(*TIMES.values())], -SIMILAR_F),
        }
    ),
    "falls_with_k": _falls_with_k,
    "cluster_based_orders_of_magnitude": partial(_below_by_orders_of_magnitude, idp.METHODS[:3]),
    "beats_dp_by_orders_of_magnitude": partial(_below_by_orders_of_magnitude, ["dp"]),
    "cluster_based_at_less_epsilon": _of_less_epsilon(_cluster_based_at_less_epsilon),
    "cluster_based_best_at_small_k": _cluster_based_best_at_small_k,
    "cluster_based_rises_with_k": _cluster_based_rises_with_k,
    "forests_of_local_below_the_bound": partial(
        _shortfalls, "idp_ls", {0.01: 20, 0.1: 10, 1.0: 5}, AROUND
    ),
    "forests_of_cluster_based_below_the_bound": partial(
        _shortfalls, "idp_cbls", {1.0: 0, 0.1: 3, 0.01: 10}, WHOLE_PERCENT
    ),
    "forests_of_cluster_based_at_less_epsilon": _of_less_epsilon(_forests_at_less_epsilon),
    "forests_improve_on_the_bound": _forests_improve_on_the_bound,
    "times_more_records": _times_more_records,
    "better_than_true_dp_at_small_epsilon": partial(
        _above_true_dp, [(0.01, 0.01), (0.1, 0.1)], SIMILAR_F
    ),
    "better_than_true_dp_at_larger_epsilon": partial(_above_true_dp, [(1.0, 1.0)], SIMILAR_F),
}
