"""Claims of [idp], section 4.1, on the mean SSE (Figures 3 and 4)."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from deniable.idp import METHODS
from deniable.papers.idp.claims.tables import Tables, Tests, times_row
from deniable.study import (
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

CLUSTERED = METHODS[1:]
BEST_K = (5, 15)
"""What section 4.1 gives as the best k of iDP-CBLS."""
ORDERS = 100.0
"""Several orders of magnitude are at least two."""
SIMILAR_SSE = 2.0


def about_sse(tables: Tables) -> Tests:
    """Yield the claims of section 4.1 on DP, DP-UM and iDP-LS."""
    errors, settings, sizes = tables.errors, tables.settings, tables.k
    epsilons, factors = (sorted({pair[i] for pair in settings}) for i in (0, 1))

    def over(pair: Callable[[float, float, int], Pair]) -> list[Pair]:
        return list(some([pair(*setting, k) for setting in settings for k in sizes]))

    def of(method: str, e: float, c: float, k: int) -> Pair:
        return errors[method, e, c, k], errors["dp", e, c, k]

    def highest() -> Outcome:
        pairs = [pair for method in CLUSTERED for pair in over(partial(of, method))]
        return below(pairs, f"others over dp: {ratios_of(pairs)}")

    def barely() -> Outcome:
        pairs = some([(errors["dp", max(epsilons), c, sizes[0]],
                        errors["dp", min(epsilons), c, sizes[0]]) for c in factors])  # fmt: skip
        return alike(
            pairs, f"dp at epsilon {max(epsilons):g} over {min(epsilons):g}: {ratios_of(pairs)}"
        )

    def local(test: Callable[[Sequence[Pair], str], Outcome]) -> Outcome:
        pairs = over(lambda e, c, k: (errors["idp_ls", e, c, k], errors["dp_um", e, c, k]))
        return test(pairs, f"idp_ls over dp_um: {ratios_of(pairs)}")

    def falls() -> Outcome:
        steps = list(zip(sizes[1:], sizes, strict=False))
        pairs = [(errors[m, *s, b], errors[m, *s, a]) for m in ("dp_um", "idp_ls")
                 for s in settings for b, a in steps]  # fmt: skip
        ends = [(errors[m, *s, sizes[-1]], errors[m, *s, sizes[0]]) for m in ("dp_um", "idp_ls")
                for s in settings]  # fmt: skip
        return below(some(pairs), f"k = {sizes[-1]} over k = {sizes[0]}: {ratios_of(ends)}")

    def gap(e: float, c: float, k: int) -> Row:
        return ratio(errors["idp_ls", e, c, k], errors["dp_um", e, c, k])

    def grows() -> Outcome:
        pairs = [(gap(max(epsilons), c, k), gap(min(epsilons), c, k))
                 for c in factors for k in sizes]  # fmt: skip
        return below(
            some(pairs),
            f"idp_ls over dp_um: {range_of(p[0]['median'] for p in pairs)} at epsilon "
            f"{max(epsilons):g}, {range_of(p[1]['median'] for p in pairs)} at {min(epsilons):g}",
        )

    def proportional() -> Outcome:
        pairs = [(gap(e, max(factors), k), gap(e, min(factors), k))
                 for e in epsilons for k in sizes]  # fmt: skip
        return alike(
            some(pairs),
            f"idp_ls over dp_um, factor {max(factors):g} against {min(factors):g}: apart by "
            f"{ratios_of(pairs)}",
        )

    def narrower() -> Outcome:
        pairs = [(errors[m, e, min(factors), k], errors[m, e, max(factors), k])
                 for m in METHODS[:3] for e in epsilons for k in sizes]  # fmt: skip
        return below(
            some(pairs), f"factor {min(factors):g} over {max(factors):g}: {ratios_of(pairs)}"
        )

    yield "dp_highest", highest
    yield "dp_barely_falls", barely
    yield "local_and_global_alike", partial(local, alike)
    yield "local_below_global", partial(local, below)
    yield "falls_with_k", falls
    yield "gap_grows_with_epsilon", grows
    yield "gap_stays_proportional", proportional
    yield "smaller_domain_smaller_sse", narrower


def about_cluster_based_sse(tables: Tables) -> Tests:
    """Yield the claims of section 4.1 on iDP-CBLS."""
    errors, settings, sizes = tables.errors, tables.settings, tables.k
    factors = sorted({factor for _, factor in settings})

    def best(epsilon: float, factor: float, among: Iterable[int]) -> Row:
        return min(
            (errors["idp_cbls", epsilon, factor, k] for k in among), key=lambda row: row["median"]
        )

    def orders() -> Outcome:
        pairs = [(errors["idp_cbls", *s, k], errors["idp_ls", *s, k])
                 for s in settings for k in sizes]  # fmt: skip
        figure = "; ".join(
            f"epsilon {e:g}: "
            + range_of(b["median"] / a["median"] for (a, b), (s, _) in zip(
                pairs, [(s, k) for s in settings for k in sizes], strict=True) if s[0] == e)
            for e in sorted({e for e, _ in settings})
        )  # fmt: skip
        return below(
            [(times_row(a, ORDERS), b) for a, b in some(pairs)],
            f"idp_ls over idp_cbls, {figure}",
        )

    def stronger(epsilon: float) -> Outcome:
        pairs = [(best(epsilon, c, sizes), errors[m, 1.0, c, max(sizes)])
                 for c in factors for m in ("dp_um", "idp_ls")]  # fmt: skip
        return near(
            [(logarithms(a), logarithms(b)) for a, b in pairs],
            math.log(SIMILAR_SSE),
            f"idp_cbls over the others at 1: {ratios_of(pairs)}",
            picked_from=len(sizes),
        )

    def unaffected() -> Outcome:
        wide, narrow = max(factors), min(factors)
        if wide == narrow:
            raise LookupError("a single domain factor")
        pairs = {
            (e, k): (errors["idp_cbls", e, wide, k], errors["idp_cbls", e, narrow, k])
            for e in sorted({e for e, _ in settings})
            for k in sizes
        }
        figure = "; ".join(
            f"epsilon {e:g}: {ratios_of(pair for (of, _), pair in pairs.items() if of == e)}"
            for e in sorted({e for e, _ in pairs})
        )
        return alike(list(pairs.values()), f"factor {wide:g} over {narrow:g}, {figure}")

    def small_k() -> Outcome:
        inside = [k for k in sizes if BEST_K[0] <= k <= BEST_K[1]]
        outside = [k for k in sizes if k not in inside]
        if not inside or not outside:
            raise LookupError("k on one side only")
        pairs = [(best(*s, inside), best(*s, outside)) for s in settings]
        at = [
            f"k = {_least(errors, s, sizes)} (epsilon {s[0]:g}, factor {s[1]:g})" for s in settings
        ]
        return below(pairs, "least at " + ", ".join(at))

    def rises() -> Outcome:
        small = [k for k in sizes if k <= BEST_K[1]]
        pairs = [(best(*s, small), errors["idp_cbls", *s, max(sizes)]) for s in settings]
        return below(
            some(pairs),
            f"best of k <= {BEST_K[1]} over k = {max(sizes)}: {ratios_of(pairs)}",
        )

    yield "cluster_based_orders_of_magnitude", orders
    yield "cluster_based_hundredth_epsilon", partial(stronger, 0.01)
    yield "cluster_based_tenth_epsilon", partial(stronger, 0.1)
    yield "cluster_based_unaffected_by_domain", unaffected
    yield "cluster_based_best_at_small_k", small_k
    yield "cluster_based_rises_with_k", rises


def _least(
    errors: Mapping[tuple[str, float, float, int], Row],
    setting: tuple[float, float],
    sizes: Iterable[int],
) -> int:
    """Return the k at which iDP-CBLS has the least mean SSE."""
    return min(sizes, key=lambda k: float(errors["idp_cbls", *setting, k]["median"]))
