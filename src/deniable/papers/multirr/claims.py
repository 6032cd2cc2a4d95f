"""What [multirr] claims in words (section 6.5), held against the tables of this run."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from math import comb

import pandas as pd

from deniable.study import (
    CLAIM_COLUMNS,
    Claim,
    Decide,
    Given,
    Outcome,
    Pair,
    Row,
    alike,
    below,
    by,
    claim_row,
    decided,
    in_order_of_text,
    listed,
    near,
    range_of,
    ratio,
    some,
)

OTHERS = ("rr_clusters", "rr_independent_adjustment", "rr_clusters_adjustment")
METHODS = ("rr_independent", *OTHERS)
STRONG, WEAK = (0.1, 0.3), (0.5, 0.7)
SMALLER, LARGEST = (50, 100), 300
"""The p and T_v of the text: a claim that names them is not held against others."""


@dataclass(frozen=True)
class Tables:
    """The tables that the claims are held against, medians in a column ``median``.

    Rows of another matrix than the printed one are passed over.

    Attributes
    ----------
    gains : DataFrame
        multirr_gains: Figure 2 under each projection.
    methods : DataFrame
        multirr_projections: Figure 3 under each projection, at the paper's best thresholds.
    thresholds : DataFrame
        Tables 1 and 2 and multirr_sensitivity.
    attributes : DataFrame
        multirr_attributes.
    clusters : DataFrame
        multirr_clusters.
    """

    gains: pd.DataFrame
    methods: pd.DataFrame
    thresholds: pd.DataFrame
    attributes: pd.DataFrame
    clusters: pd.DataFrame


def claims(tables: Tables) -> pd.DataFrame:
    """Hold every claim of section 6.5 against the tables.

    Returns
    -------
    DataFrame
        A row a claim, cluster mechanism and projection, as far as they make a difference:
        `CLAIM_COLUMNS`. Claims about cells that the tables lack are left out.
    """
    rows = [
        claim_row(claim, (mechanism, projection), outcome, str(table["data_source"].iloc[0]))
        for table, about in (
            (tables.gains, _about_figure_2),
            (tables.thresholds, _about_tables),
            (tables.methods, _about_figure_3),
            (tables.attributes, _about_attributes),
        )
        for mechanism, projection, part in _parts(table)
        for claim, outcome in decided(about(part))
    ]
    source = str(tables.clusters["data_source"].iloc[0])
    rows += [
        claim_row(claim, ("any", "any"), outcome, source)
        for claim, outcome in decided(_about_clusters(tables.clusters))
    ]
    return in_order_of_text(rows, CLAIM_COLUMNS, (claim.id for claim in CLAIMS))


def _parts(table: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    printed = table[table["matrix"] == "printed"] if "matrix" in table else table
    if "mechanism" not in printed:
        printed = printed.assign(mechanism="any")
    for (mechanism, projection), part in printed.groupby(["mechanism", "projection"], sort=False):
        yield str(mechanism), str(projection), part


def _share(first: Row, second: Row) -> float:
    return ratio(first, second)["median"]


# -- Figure 2 --------------------------------------------------------------------------------------

GAIN = Claim(
    "gain_of_estimation",
    "6.5, Figure 2",
    "Estimation cuts the absolute and the relative error of the raw randomized data clearly.",
    "p = .7: rr_independent below randomized at every sigma, both measures",
)
PEAK = Claim(
    "peak_at_half",
    "6.5, Figure 2",
    "The absolute error peaks at sigma = .5.",
    "p = .7: median absolute error of rr_independent at .5 not below that at any other sigma",
)
MIRROR = Claim(
    "mirrored_around_half",
    "6.5, Figure 2",
    "The absolute error at sigma = .6 is that at sigma = .4.",
    "p = .7: medians at sigma and 1 - sigma within a factor of 1.2, both estimators",
)
FALLING = Claim(
    "falls_with_coverage",
    "6.5, Figure 2",
    "The relative error falls as sigma grows.",
    "p = .7: rr_independent at each sigma below the one before",
)


def _about_figure_2(table: pd.DataFrame) -> Iterator[tuple[Claim, Decide]]:
    at_p = table[table["p"] == 0.7]

    def medians(estimator: str, measure: str) -> dict[float, Row]:
        return by(at_p[(at_p["estimator"] == estimator) & (at_p["measure"] == measure)], "sigma")

    absolute = medians("rr_independent", "absolute_error")
    relative = medians("rr_independent", "relative_error")
    raw = medians("randomized", "absolute_error")

    def gain() -> Outcome:
        raw_relative = medians("randomized", "relative_error")
        pairs = some(
            [(row, raw[sigma]) for sigma, row in absolute.items()]
            + [(row, raw_relative[sigma]) for sigma, row in relative.items()]
        )
        cuts = [_share(theirs, ours) for ours, theirs in pairs]
        return below(pairs, f"error cut by a factor of {range_of(cuts, '.2g')}")

    def peak() -> Outcome:
        half = absolute[0.5]
        top = max(absolute, key=lambda sigma: absolute[sigma]["median"])
        return below(
            some([(row, half) for sigma, row in absolute.items() if sigma != 0.5]),
            f"highest at sigma = {top:g}: {absolute[top]['median']:.0f} records, "
            f"{half['median']:.0f} at .5",
        )

    def mirror() -> Outcome:
        mirrored = [
            (rows[sigma], rows[round(1 - sigma, 9)])
            for rows in (absolute, raw)
            for sigma in rows
            if sigma < 0.5 and round(1 - sigma, 9) in rows
        ]
        return alike(
            some(mirrored),
            f"{absolute[0.4]['median']:.0f} records at .4, {absolute[0.6]['median']:.0f} at .6",
        )

    def falling() -> Outcome:
        pairs = some([(relative[b], relative[a]) for a, b in pairwise(sorted(relative))])
        first, last = min(relative), max(relative)
        return below(
            pairs,
            f"{relative[first]['median']:.3f} at {first:g}, {relative[last]['median']:.3f} at "
            f"{last:g}",
        )

    yield GAIN, gain
    yield PEAK, peak
    yield MIRROR, mirror
    yield FALLING, falling


# -- Tables 1 and 2 --------------------------------------------------------------------------------

GROWS = Claim(
    "grows_with_t_v",
    "6.5, Table 1",
    "As a rule the relative error grows with T_v.",
    "Adult: T_v = 50 below 300, for each p",
)
SHRINKS = Claim(
    "falls_with_records",
    "6.5, Table 2",
    "With six times the records the relative error is smaller at every setting.",
    "Adult6 below Adult, for each p and T_v",
)
SMALL_GAIN = Claim(
    "small_gain_at_weak_randomization",
    "6.5, Table 2",
    "At p = .7 six times the records bring little, and most at T_v = 300.",
    "p = .7: Adult6 / Adult at T_v = 300 below that at 50 and 100 (ratios of medians)",
)
LARGEST_BEST = Claim(
    "largest_clusters_best_with_records",
    "6.5, Table 2",
    "On Adult6 at p = .7 the lowest relative error is that of T_v = 300.",
    "Adult6, p = .7: T_v = 300 below 50 and 100",
)
NOT_BEST = Claim(
    "largest_clusters_not_best_at_strong_randomization",
    "6.5, Table 2",
    "On Adult6 at p = .1, .3 and .5 the highest T_v does not have the lowest relative error.",
    "Adult6, p = .1, .3, .5: the better of T_v = 50 and 100 below 300",
)
MORE_GAIN = Claim(
    "gain_larger_for_small_clusters",
    "6.5, Table 2",
    "At p = .1, .3 and .5 six times the records bring more at T_v = 50 and 100 than at 300.",
    "p = .1, .3, .5: Adult6 / Adult at T_v = 50 and 100 below that at 300 (ratios of medians)",
)


def _about_tables(table: pd.DataFrame) -> Iterator[tuple[Claim, Decide]]:
    cells = {
        (row["dataset"], row["p"], row["t_v"]): row
        for row in table[table["t_d"] == table["t_d"].min()].to_dict("records")
    }
    settings = sorted({(p, t_v) for _, p, t_v in cells})
    strong, weak = (*STRONG, WEAK[0]), WEAK[-1]

    def shrink(p: float, t_v: int) -> dict[str, float]:
        return ratio(cells["adult6", p, t_v], cells["adult", p, t_v])

    def grows() -> Outcome:
        pairs = {
            p: (cells["adult", p, SMALLER[0]], cells["adult", p, LARGEST])
            for p in sorted({p for p, _ in settings})
        }
        shares = {f"p = {p:g}": _share(second, first) for p, (first, second) in pairs.items()}
        figure = f"T_v = {LARGEST} / {SMALLER[0]}: {listed(shares)}"
        return replace(below(some([*pairs.values()]), figure), as_a_rule=True)

    def shrinks() -> Outcome:
        pairs = some([(cells["adult6", *each], cells["adult", *each]) for each in settings])
        shares = [_share(*pair) for pair in pairs]
        return below(pairs, f"ratios Adult6 / Adult from {range_of(shares, '.2f')}")

    def small_gain() -> Outcome:
        return below(
            [(shrink(weak, LARGEST), shrink(weak, t_v)) for t_v in SMALLER],
            listed({f"T_v = {t_v}": shrink(weak, t_v)["median"] for t_v in (*SMALLER, LARGEST)}),
        )

    def largest_best() -> Outcome:
        found = {t_v: cells["adult6", weak, t_v] for t_v in (*SMALLER, LARGEST)}
        return below(
            [(found[LARGEST], found[t_v]) for t_v in SMALLER],
            listed({f"T_v = {t_v}": row["median"] for t_v, row in found.items()}),
        )

    def not_best() -> Outcome:
        pairs = {
            p: (
                min((cells["adult6", p, t_v] for t_v in SMALLER), key=lambda row: row["median"]),
                cells["adult6", p, LARGEST],
            )
            for p in strong
        }
        shares = {f"p = {p:g}": _share(*pair) for p, pair in pairs.items()}
        return below([*pairs.values()], listed(shares) + " (better of 50 and 100 / 300)")

    def more_gain() -> Outcome:
        return below(
            [(shrink(p, t_v), shrink(p, LARGEST)) for p in strong for t_v in SMALLER],
            listed({f"p = {p:g}, T_v = {t_v}": shrink(p, t_v)["median"] for p in strong
                    for t_v in (SMALLER[0], LARGEST)}),
        )  # fmt: skip

    yield GROWS, grows
    yield SHRINKS, shrinks
    yield SMALL_GAIN, small_gain
    yield LARGEST_BEST, largest_best
    yield NOT_BEST, not_best
    yield MORE_GAIN, more_gain


NO_TREND = Claim(
    "least_dependence_matters",
    "6.5, Table 1",
    "For small p a larger T_d is better, for larger p a smaller one.",
    "Algorithm 1 forms different clusters at different T_d, for some T_v",
)


def _about_clusters(clusters: pd.DataFrame) -> Iterator[tuple[Claim, Decide]]:
    def no_trend() -> Outcome:
        named = clusters.groupby(["t_v", "t_d"])["cluster"].agg("; ".join)
        different = {
            str(t_v): part.nunique() for t_v, part in named.groupby("t_v") if len(part) > 1
        }
        if not different:
            raise LookupError("no T_v has two T_d to compare")
        support = sum(number > 1 for number in different.values())
        # Without any difference in the clusters there is none in the error: decided without chance.
        return Outcome(
            len(different),
            support,
            0 if support else len(different),
            "clusterings over all T_d: "
            + listed({f"T_v = {t_v}": float(number) for t_v, number in different.items()}),
        )

    yield NO_TREND, no_trend


# -- Figure 3 --------------------------------------------------------------------------------------

BEST_AT = {
    p: Claim(
        f"independent_best_at_p{p:g}",
        "6.5, Figure 3",
        f"At p = {p:g} RR-Independent has the best accuracy; the others are counter-productive.",
        f"p = {p:g}: rr_independent below each other method at each sigma",
    )
    for p in (0.1, 0.3)
}
ALIKE = Claim(
    "alike_at_large_coverage",
    "6.5, Figure 3",
    "The same, in proportion to the errors.",
    "p = .5, .7, sigma >= .3: largest and smallest median of the four within a factor of 1.2",
)
NEAR = Claim(
    "near_at_large_coverage",
    "6.5, Figure 3",
    "At p = .5 and .7 and sigma >= .3 all methods are alike, with very small errors.",
    "p = .5, .7, sigma >= .3: largest and smallest median at most 5 percentage points apart",
)
CLUSTERS_WIN = Claim(
    "clusters_win_at_small_coverage",
    "6.5, Figure 3",
    "At p = .5 and .7 and sigma < .3 RR-Clusters is much more accurate than RR-Independent.",
    "p = .5, .7, sigma = .1, .2: rr_clusters below rr_independent",
)
ADJUSTMENT_HELPS = Claim(
    "adjustment_helps_at_small_coverage",
    "6.5, Figure 3",
    "There RR-Adjustment improves both clearly.",
    "p = .5, .7, sigma = .1, .2: each method below itself without adjustment",
)
LITTLE = Claim(
    "little_at_strong_randomization",
    "6.5, Figure 3",
    "For strong randomization RR-Clusters is no better than RR-Independent, and RR-Adjustment "
    "brings little.",
    "p = .1, sigma = .1: each other method within a factor of 1.2 of rr_independent",
)
REWARDING = Claim(
    "clustering_pays_more_at_weak_randomization",
    "6.5, Table 1",
    "Clustering is the more rewarding the larger p is.",
    "sigma = .1: rr_clusters / rr_independent at p = .5 and .7 below that at .1 and .3",
)


def _about_figure_3(table: pd.DataFrame) -> Iterator[tuple[Claim, Decide]]:
    cells = {
        (row["p"], row["sigma"], row["method"]): row
        for row in table[table["best"] != "ours"].to_dict("records")
    }
    sigmas = sorted({sigma for _, sigma, _ in cells})
    narrow = (0.1, 0.2)

    def at_narrowest(p: float) -> dict[str, Row]:
        return {method: cells[p, narrow[0], method] for method in METHODS}

    def best_at(p: float) -> Outcome:
        pairs = [
            (cells[p, sigma, "rr_independent"], cells[p, sigma, other])
            for sigma in sigmas
            for other in OTHERS
        ]
        return below(some(pairs), "sigma = .1: " + _medians(at_narrowest(p)))

    def extremes() -> tuple[Sequence[Pair], str]:
        wide = [sigma for sigma in sigmas if sigma >= 0.3]
        pairs = some(
            [_extremes([cells[p, sigma, m] for m in METHODS]) for p in WEAK for sigma in wide]
        )
        return pairs, (
            f"apart by up to a factor of {max(_share(*pair) for pair in pairs):.2g}, by up to "
            f"{max(high['median'] - low['median'] for high, low in pairs):.3f}; largest median "
            f"{max(high['median'] for high, _ in pairs):.3f}"
        )

    def near_each_other() -> Outcome:
        pairs, figure = extremes()
        return near(pairs, 0.05, figure, picked_from=comb(len(METHODS), 2))

    def alike_each_other() -> Outcome:
        pairs, figure = extremes()
        return alike(pairs, figure, picked_from=comb(len(METHODS), 2))

    def improvement(comparisons: Sequence[tuple[str, str]]) -> Outcome:
        pairs = [
            (cells[p, sigma, better], cells[p, sigma, worse])
            for p in WEAK
            for sigma in narrow
            for better, worse in comparisons
        ]
        ratios = [_share(*pair) for pair in pairs]
        return below(pairs, f"ratios of medians from {range_of(ratios, '.2f')}")

    def little() -> Outcome:
        found = at_narrowest(STRONG[0])
        pairs = [(found[other], found["rr_independent"]) for other in OTHERS]
        return alike(pairs, _medians(found))

    def rewarding() -> Outcome:
        gain = {
            p: ratio(cells[p, narrow[0], "rr_clusters"], cells[p, narrow[0], "rr_independent"])
            for p in (*STRONG, *WEAK)
        }
        return below(
            [(gain[p], gain[q]) for p in WEAK for q in STRONG],
            listed({f"p = {p:g}": row["median"] for p, row in gain.items()}),
        )

    for p, claim in BEST_AT.items():
        yield claim, partial(best_at, p)
    yield NEAR, near_each_other
    yield ALIKE, alike_each_other
    yield CLUSTERS_WIN, partial(improvement, [("rr_clusters", "rr_independent")])
    adjusted = [(f"{name}_adjustment", name) for name in ("rr_independent", "rr_clusters")]
    yield ADJUSTMENT_HELPS, partial(improvement, adjusted)
    yield LITTLE, little
    yield REWARDING, rewarding


def _extremes(rows: Sequence[Row]) -> Pair:
    ordered = sorted(rows, key=lambda row: row["median"])
    return ordered[-1], ordered[0]


def _medians(rows: Mapping[str, Row]) -> str:
    return listed({name: row["median"] for name, row in rows.items()})


# -- more attributes -------------------------------------------------------------------------------

MORE_ATTRIBUTES = Claim(
    "more_attributes_no_difference",
    "6.5",
    "Queries of more than two attributes give results that do not differ significantly.",
    "sigma = .1: queries of 3 and of 4 attributes within a factor of 1.2 of queries of 2, each p, "
    "RR-Independent (T_v = 1) and RR-Clusters (T_v = 50)",
)


def _about_attributes(table: pd.DataFrame) -> Iterator[tuple[Claim, Decide]]:
    chosen = table[(table["dataset"] == "adult") & (table["t_d"] == table["t_d"].min())]
    cells = {(r["p"], r["t_v"], r["attributes"]): r for r in chosen.to_dict("records")}

    def more_attributes() -> Outcome:
        settings = sorted({(p, t_v) for p, t_v, _ in cells if t_v in (1, SMALLER[0])})
        pairs = some([(cells[*each, k], cells[*each, 2]) for each in settings for k in (3, 4)])
        ratios = [_share(*pair) for pair in pairs]
        return alike(pairs, f"ratios to two attributes from {range_of(ratios, '.2f')}")

    yield MORE_ATTRIBUTES, more_attributes


CLAIMS: tuple[Claim, ...] = (
    GAIN, PEAK, MIRROR, FALLING,
    GROWS, NO_TREND, REWARDING,
    *BEST_AT.values(), LITTLE, NEAR, ALIKE, CLUSTERS_WIN, ADJUSTMENT_HELPS,
    SHRINKS, SMALL_GAIN, LARGEST_BEST, NOT_BEST, MORE_GAIN,
    MORE_ATTRIBUTES,
)  # fmt: skip


def decide(given: Given) -> dict[str, pd.DataFrame]:
    """Decide what the paper claims in words, from the tables of this run."""
    found = given.tables
    compared = [found[f"multirr_{name}"] for name in ("table1", "table2", "sensitivity")]
    thresholds = pd.concat(compared).rename(columns={"regenerated": "median"})
    tables = Tables(
        gains=found["multirr_gains"],
        methods=found["multirr_projections"],
        thresholds=thresholds[thresholds["matrix"] == "printed"],
        attributes=found["multirr_attributes"],
        clusters=found["multirr_clusters"],
    )
    return {"multirr_claims": claims(tables)}
