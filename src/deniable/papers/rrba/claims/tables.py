"""What [rrba] says of tests and of distances, in 7.3 and 7.4, held against Tables 3, 4 and 5.

And what becomes of it at equal exact epsilon.
"""

import math
from collections.abc import Iterator, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np
import pandas as pd

from deniable.papers.rrba.independence import HYPOTHESES
from deniable.study import (
    Claims,
    Decide,
    Evidence,
    Outcome,
    Pair,
    Row,
    below,
    counted,
    known,
    range_of,
    ratios_of,
    some,
    source_of,
)

SETTING = ("k", "n", "effect", "sampled_tables")
SPARSE = 25
"""Records a cell below which a table counts as sparse: five times the text's least count."""
RIGHT = 75.0
"""Per cent right, halfway between guessing and certainty, that a valid test must reach."""
SCALES = (("printed scale", "laplace"), ("honest scale", "laplace_honest"))
MOST_NAMED = 6
VARIANTS = (
    ("floor .1 / m", "rrba"),
    ("floor .5 / m", "rrba_half_floor"),
    ("p that the true table allows", "rrba_at_truth"),
)

Readings = Iterator[tuple[str, Decide]]
"""How a claim may be read, and what decides it then."""
Against = tuple[pd.DataFrame, str]
"""Rows of all methods, and the one that RRBA is held against."""

CLAIMS = Claims()
tests = partial(CLAIMS.claim, section="7.3, Table 3", about="accuracies")
distances = partial(CLAIMS.claim, section="7.4, Tables 4 and 5", about="distances")


# -- rows to compare -------------------------------------------------------------------------------


def rows_of(table: pd.DataFrame, **where: Any) -> list[dict[Any, Any]]:
    """Return the rows with the given values as what `deniable.study.comparisons` compares.

    The mean stands under ``median``, whatever the table calls it.
    """
    for column, value in where.items():
        table = table[table[column] == value]
    value = "mean" if "mean" in table else "regenerated"
    return [row | {"median": row[value]} for row in table.to_dict("records")]


def paired(
    table: pd.DataFrame, keys: Sequence[str], column: str, first: Any, second: Any
) -> list[Pair]:
    """Return pairs of rows that differ in a column and agree in the keys; `LookupError` if none."""
    key_of = itemgetter(*keys)
    seconds = {key_of(row): row for row in rows_of(table, **{column: second})}
    firsts = rows_of(table, **{column: first})
    return [*some([(row, seconds[key_of(row)]) for row in firsts if key_of(row) in seconds])]


# -- 7.3: tests of independence --------------------------------------------------------------------


def evidence_on_tests(table_3: pd.DataFrame, power: pd.DataFrame) -> dict[str, list[Evidence]]:
    """Return what the claims on tests are about, for each reading of the rule about small cells."""
    names = ("rates", "accuracies", "monte carlo", "noise", "powers")
    found: dict[str, list[Evidence]] = {name: [] for name in names}
    for rule, part in table_3.groupby("small_cells", sort=False):
        reading, source, right = f"small cells: {rule}", source_of(part), accuracies(part)
        found["rates"].append(Evidence((reading,), source, part))
        found["accuracies"].append(Evidence((reading,), source, right))
        found["monte carlo"].append(Evidence((reading,), source, (right, "mcindep")))
        for scale, method in (("honest", "laplace"), ("printed", "laplace_printed_scale")):
            noise = Evidence((f"{reading}, {scale} scale",), source, (right, method))
            found["noise"].append(noise)
    for rule, part in power.groupby("small_cells", sort=False):
        for other in ("mcindep", "channel_aware"):
            reading = f"against {other}, small cells: {rule}"
            found["powers"].append(Evidence((reading,), source_of(part), (part, other)))
    return found


def accuracies(table: pd.DataFrame) -> pd.DataFrame:
    """Return the share of right decisions, half of the trials a null, in per cent.

    Errors of the two halves add as those of independent means. The columns are k, n, effect,
    sampled_tables, method, ``mean``, ``ci_low``, ``ci_high``.
    """
    keys = [*SETTING, "method"]
    null, alternative = (table[table["hypothesis"] == each] for each in HYPOTHESES)
    both = null.merge(alternative, on=keys, suffixes=HYPOTHESES)
    mean = (both["regeneratedH1"] + 100 - both["regeneratedH0"]) / 2
    of_null, of_alternative = (both[f"ci_high{h}"] - both[f"ci_low{h}"] for h in HYPOTHESES)
    reach = np.hypot(of_null, of_alternative) / 4
    return both[keys].assign(mean=mean, ci_low=mean - reach, ci_high=mean + reach)


@tests(
    "RRBA's tests are right in 96.5, 94 and 93.5 % of trials (k = 2, 3, 4).",
    "each k: under some n and effect both printed rates of rejection agree",
    about="rates",
)
def _accuracy_printed(table: pd.DataFrame) -> Outcome:
    ours = table[(table["method"] == "rrba") & table["published"].notna()]
    by_setting = (ours["verdict"] == "agrees").groupby([ours[name] for name in SETTING]).all()
    found = by_setting.groupby(level="k").any()
    names = ", ".join(f"k = {k} {'yes' if agrees else 'no'}" for k, agrees in found.items())
    return counted(found, f"some setting agrees: {names}")


@tests(
    "RRBA's accuracy is better than that of Laplace noise.",
    "accuracy above, each k, n, effect; both scales of the noise",
    about="noise",
    name="more_accurate_than_laplace",
)
@tests(
    "RRBA's accuracy is better than MCIndep's.",
    "accuracy (half of the trials a null) above, each k, n, effect",
    about="monte carlo",
    name="more_accurate_than_mcindep",
)
def _better(against: Against) -> Outcome:
    right, other = against
    pairs = paired(right, SETTING, "method", other, "rrba")
    gains = [ours["median"] - theirs["median"] for theirs, ours in pairs]
    return below(pairs, f"accuracy above by {range_of(gains)} points")


@tests(
    "As the number of values increases, the protocol is more robust than the others.",
    "accuracy lost between the smallest and the largest k below MCIndep's loss, each n, effect",
)
def _robust_as_values_grow(right: pd.DataFrame) -> Outcome:
    pairs = []
    for _, part in right.groupby([*SETTING[1:]], sort=False):
        ours, theirs = (_lost(rows_of(part, method=method)) for method in ("rrba", "mcindep"))
        pairs.append((ours, theirs))
    figure = "; ".join(
        f"lost {ours['median']:.3g}, MCIndep {theirs['median']:.3g}" for ours, theirs in pairs[:4]
    )
    return below(some(pairs), figure)


def _lost(rows: Sequence[Row]) -> Row:
    """Return the accuracy lost from the smallest to the largest k, with its interval."""
    ordered = sorted(rows, key=lambda row: row["k"])
    if len(ordered) < 2:
        raise LookupError("one k")
    first, last = ordered[0], ordered[-1]
    value = first["median"] - last["median"]
    reach = math.hypot(*((row["ci_high"] - row["ci_low"]) / 2 for row in (first, last)))
    return {"median": value, "ci_low": value - reach, "ci_high": value + reach}


@tests(
    "It is robust in sparse data, where Laplace and MCIndep give no valid results.",
    "fewer than 25 records a cell: accuracy above 75 % and above MCIndep's",
)
def _robust_in_sparse_data(right: pd.DataFrame) -> Outcome:
    sparse = right[right["n"] < SPARSE * 2.0 ** right["k"]]
    pairs = paired(sparse, SETTING, "method", "mcindep", "rrba")
    ours = rows_of(sparse, method="rrba")
    pairs += [(known(RIGHT), row) for row in ours]
    return below(pairs, f"right in {range_of(row['median'] for row in ours)} % of trials")


@tests(
    "RRBA's test is better than MCIndep's.",
    "equal exact epsilon: power above MCIndep's (which has a trusted curator) and above that of "
    "the channel-aware test",
    about="powers",
)
def _as_powerful_at_equal_epsilon(against: Against) -> Outcome:
    table, other = against
    shown = table[(table["measure"] == "rejected") & (table["effect"] > 0)]
    pairs = paired(shown, [*SETTING, "margins", "pattern", "epsilon"], "method", other, "rrba")
    inverse: list[Pair] = [(ours, theirs) for theirs, ours in pairs]
    return below(pairs, f"power over that of {other}: {ratios_of(inverse)}")


# -- 7.4: distances --------------------------------------------------------------------------------


def _below_laplace(table: pd.DataFrame, where: str) -> Readings:
    """Yield whether RRBA's l2 is below that of Laplace noise, by scale and kind of table."""
    l2 = table[table["metric"] == "l2"].query(where)
    for scale, laplace in SCALES:
        for reading in ("noisy", "projected"):
            part = l2[l2["reading"] == reading]
            yield f"{scale}, {reading} tables", partial(_below, part, laplace)


for _name, _where, _printed, _compared in (
    (
        *("lowest_l2_survey_child", "dataset in ('survey', 'child')"),
        "RRBA has the lowest mean l2 on Survey and Child (Tables 4 and 5 are of Survey and Alarm).",
        "mean l2 below that of Laplace noise: Survey and Child, each k, p",
    ),
    (
        *("wins_in_high_dimensions", "p == 0.4 and k >= 3"),
        "With p = .4 and epsilon = .35 it has the lowest distance on tables of higher dimension.",
        "mean l2 below that of Laplace noise at p = .4, k = 3, 4, each data set",
    ),
    (
        *("wins_everywhere_at_half", "p == 0.5"),
        "With p = .5 and epsilon = .5 it wins on all contingency tables.",
        "mean l2 below that of Laplace noise at p = .5, each data set and k",
    ),
):
    distances(_printed, _compared, name=_name)(partial(_below_laplace, where=_where))


@distances(
    "It has a lower Jensen-Shannon distance than Laplace noise.",
    "mean of projected tables below, each data set, k, p",
)
def _lower_jensen_shannon(table: pd.DataFrame) -> Readings:
    js = table[(table["metric"] == "jensen_shannon") & (table["reading"] == "projected")]
    for scale, laplace in SCALES:
        yield scale, partial(_below, js, laplace)


def _below(table: pd.DataFrame, laplace: str) -> Outcome:
    pairs = paired(table, ["file", "k", "p"], "method", "rrba", laplace)
    lost = [
        f"{row['file']} k = {row['k']} p = {row['p']:g}"
        for row, other in pairs
        if row["median"] >= other["median"]
    ]
    cells = f"{len(lost)} cells" if len(lost) > MOST_NAMED else "; ".join(lost) or "none"
    return below(pairs, f"RRBA over Laplace: {ratios_of(pairs)}; not below: {cells}")


@distances(
    "RRBA wins over Laplace noise while it ensures epsilon-differential privacy.",
    "equal exact epsilon, honest scale: l2 and Jensen-Shannon below, each file, k, epsilon",
    about="rrba_equal",
)
def _wins_over_laplace(table: pd.DataFrame) -> Readings:
    methods = (*VARIANTS, ("uniform table", "rrba_uniform"))
    return at_equal_epsilon(table, methods, "laplace_honest")


def at_equal_epsilon(
    table: pd.DataFrame, methods: Sequence[tuple[str, str]], other: str
) -> Readings:
    """Yield for methods, by reading, whether they are below another at equal exact epsilon."""
    measured = table["metric"].isin(["l2", "jensen_shannon"])
    shown = table[(table["reading"] == "projected") & measured]
    for reading, method in methods:
        yield reading, partial(_against, shown, method, other)


def _against(table: pd.DataFrame, method: str, other: str) -> Outcome:
    pairs = paired(table, ["metric", "file", "k", "epsilon"], "method", method, other)
    return below(pairs, f"over {other}: {ratios_of(pairs)}")


@distances(
    "The numbers of Tables 4 and 5.",
    "each printed cell agrees with the mean over sets of attributes; any set: with that of at "
    "least one set",
)
def _printed_numbers(table: pd.DataFrame) -> Readings:
    for method in ("rrba", "laplace"):
        printed = table[(table["method"] == method) & table["published"].notna()]
        for (reading, file), part in printed.groupby(["reading", "file"], sort=False):
            what = f"{method}, {reading} tables, {file}"
            yield what, partial(_agrees, part)
            yield f"{what}, any set", partial(_any_agrees, part)


def _agrees(table: pd.DataFrame) -> Outcome:
    figure = f"regenerated over printed: {range_of(table['regenerated'] / table['published'])}"
    return counted(table["verdict"] == "agrees", figure)


def _any_agrees(table: pd.DataFrame) -> Outcome:
    printed = table["printed_is"].tolist()
    places = (f"{printed.count(place)} {place}" for place in ("below", "within", "above"))
    figure = f"printed against the range of sets: {', '.join(places)}"
    return counted(table["subsets_agreeing"] > 0, figure)
