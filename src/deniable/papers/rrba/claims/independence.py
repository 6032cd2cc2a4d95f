"""Claims of [rrba], section 7.3, held against Table 3 and against powers at equal epsilon."""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import pandas as pd

from deniable.papers.rrba.claims.rows import Tests, paired, rows_of
from deniable.papers.rrba.independence import HYPOTHESES
from deniable.study import Outcome, Pair, Row, below, counted, known, range_of, ratios_of

SETTING = ("k", "n", "effect", "sampled_tables")
PRINTED_METHODS = ("rrba", "mcindep", "laplace", "laplace_printed_scale")
SPARSE = 25
"""Records a cell below which a table counts as sparse: five times the text's least count."""
RIGHT = 75.0
"""Per cent right, halfway between guessing and certainty, that a valid test must reach."""


def about_table_3(table: pd.DataFrame) -> Tests:
    """Yield the claims about Table 3, for each reading of the rule about small cells.

    Parameters
    ----------
    table : DataFrame
        method, k, n, effect, sampled_tables, small_cells, hypothesis, published, regenerated (per
        cent), ci_low, ci_high, verdict.
    """
    for rule, part in table.groupby("small_cells", sort=False):
        reading = f"small cells: {rule}"
        right = accuracies(part)
        yield "accuracy_printed", reading, partial(_printed, part)
        yield "more_accurate_than_mcindep", reading, partial(_better, right, "mcindep")
        for scale, laplace in (("honest", "laplace"), ("printed", "laplace_printed_scale")):
            what = f"{reading}, {scale} scale"
            yield "more_accurate_than_laplace", what, partial(_better, right, laplace)
        yield "robust_as_values_grow", reading, partial(_robust, right)
        yield "robust_in_sparse_data", reading, partial(_sparse, right)


def accuracies(table: pd.DataFrame) -> pd.DataFrame:
    """Return the share of right decisions, half of the trials a null, in per cent.

    Errors of the two halves add as those of independent means.

    Returns
    -------
    DataFrame
        k, n, effect, sampled_tables, method, ``mean``, ``ci_low``, ``ci_high``.
    """
    rows: list[dict[str, Any]] = []
    for key, part in table.groupby([*SETTING, "method"], sort=False):
        halves = {row["hypothesis"]: row for row in part.to_dict("records")}
        if set(halves) != set(HYPOTHESES):
            continue
        null, alternative = (halves[hypothesis] for hypothesis in HYPOTHESES)
        mean = (alternative["regenerated"] + 100 - null["regenerated"]) / 2
        reach = [(row["ci_high"] - row["ci_low"]) / 4 for row in (null, alternative)]
        row = dict(zip((*SETTING, "method"), key, strict=True))
        ends = {"ci_low": mean - math.hypot(*reach), "ci_high": mean + math.hypot(*reach)}
        rows.append(row | {"mean": mean} | ends)
    return pd.DataFrame(rows, columns=[*SETTING, "method", "mean", "ci_low", "ci_high"])


def _printed(table: pd.DataFrame) -> Outcome:
    ours = table[(table["method"] == "rrba") & table["published"].notna()]
    found = {}
    for k, part in ours.groupby("k"):
        settings = part.groupby(["n", "effect", "sampled_tables"])["verdict"]
        found[k] = bool(settings.agg(lambda verdicts: bool((verdicts == "agrees").all())).any())
    names = ", ".join(f"k = {k} {'yes' if agrees else 'no'}" for k, agrees in found.items())
    return counted(found.values(), f"some setting agrees: {names}")


def _better(right: pd.DataFrame, other: str) -> Outcome:
    pairs = paired(right, SETTING, "method", other, "rrba")
    gains = [ours["median"] - theirs["median"] for theirs, ours in pairs]
    return below(pairs, f"accuracy above by {range_of(gains)} points")


def _robust(right: pd.DataFrame) -> Outcome:
    pairs = []
    for _, part in right.groupby([*SETTING[1:]], sort=False):
        lost = {method: _lost(rows_of(part, method=method)) for method in ("rrba", "mcindep")}
        pairs.append((lost["rrba"], lost["mcindep"]))
    if not pairs:
        raise LookupError("no settings")
    figure = "; ".join(
        f"lost {ours['median']:.3g}, MCIndep {theirs['median']:.3g}" for ours, theirs in pairs[:4]
    )
    return below(pairs, figure)


def _lost(rows: Sequence[Row]) -> Row:
    """Return the accuracy lost from the smallest to the largest k, with its interval."""
    ordered = sorted(rows, key=lambda row: row["k"])
    if len(ordered) < 2:
        raise LookupError("one k")
    first, last = ordered[0], ordered[-1]
    value = first["median"] - last["median"]
    reach = math.hypot(*((row["ci_high"] - row["ci_low"]) / 2 for row in (first, last)))
    return {"median": value, "ci_low": value - reach, "ci_high": value + reach}


def _sparse(right: pd.DataFrame) -> Outcome:
    sparse = right[right["n"] < SPARSE * 2.0 ** right["k"]]
    pairs: list[Pair] = list(paired(sparse, SETTING, "method", "mcindep", "rrba"))
    ours = rows_of(sparse, method="rrba")
    pairs += [(known(RIGHT), row) for row in ours]
    shares = [row["median"] for row in ours]
    return below(pairs, f"right in {range_of(shares)} % of trials")


def about_power(table: pd.DataFrame) -> Tests:
    """Yield what becomes of the claims at equal exact epsilon.

    Parameters
    ----------
    table : DataFrame
        k, margins, pattern, n, effect, epsilon, sampled_tables, small_cells, method, measure, mean
        (or regenerated), ci_low, ci_high.
    """
    if table.empty:
        return
    shown = table[(table["measure"] == "rejected") & (table["effect"] > 0)]
    keys = [*SETTING, "margins", "pattern", "epsilon"]
    for rule, part in shown.groupby("small_cells", sort=False):
        for other in ("mcindep", "channel_aware"):
            reading = f"against {other}, small cells: {rule}"
            yield "as_powerful_at_equal_epsilon", reading, partial(_powerful, part, keys, other)


def _powerful(table: pd.DataFrame, keys: Sequence[str], other: str) -> Outcome:
    pairs = paired(table, keys, "method", other, "rrba")
    inverse: list[Pair] = [(ours, theirs) for theirs, ours in pairs]
    return below(pairs, f"power over that of {other}: {ratios_of(inverse)}")
