"""Compare a run with the baseline: exact values must be equal, estimates must agree within error.

Two estimates of the same setting differ beyond chance if the p-value of their difference (see
`baseline.chance`) is below `FALSE_ALARMS` over the number of all tests of the comparison
(Bonferroni). So a run that only has other random numbers is refused once in a hundred.

A verdict may change within error, because the number that it depends on moved. The change is then
reported and is not an error. If nothing moved, or if a verdict states that there is no comparison,
chance did not change it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from baseline.chance import p_values, same
from baseline.kept import HALF_WIDTH, Facts, Origin, Run
from deniable.arrays import Flags, Floats
from deniable.estimation import CONFIDENCE

from reproduction.papers import columns_of
from reproduction.study import OUTPUT_RTOL, Columns

Kind = Literal[
    "number", "exact", "verdict", "row lost", "row new", "table lost", "table new", "records"
]

FALSE_ALARMS = 0.01
"""Probability that a comparison of two runs of the same code fails by chance."""
WIDTH = 1e-3
"""Relative difference of widths below which intervals are the same: four digits are kept."""
NEVER_BY_CHANCE = ("not published", "surrogate")


@dataclass(frozen=True)
class Finding:
    """A difference between the baseline and a run."""

    kind: Kind
    table: str
    row: str = ""  # its keys
    column: str = ""
    before: str = ""  # in the baseline
    after: str = ""
    fails: bool = True  # whether chance cannot explain it
    p_value: float = float("nan")  # of a number that differs beyond chance


@dataclass(frozen=True)
class Movement:
    """The movement of the estimates of a table."""

    table: str
    estimates: int
    moved: int  # number of estimates that differ
    tested: int  # number with a finite error: the tests of the comparison
    unknown: int  # number with an infinite interval
    unlikely: float  # proportion of the tests with a p-value below 5 %
    smallest: float  # p-value; 1 without tests
    width_ratio: float  # median ratio of half-widths to the baseline's


@dataclass(frozen=True)
class Comparison:
    """The result of a comparison."""

    findings: list[Finding]
    movements: list[Movement]  # of the tables with estimates
    tables: int  # number of compared tables
    identical: int  # number of tables with the same bytes
    limit: float  # p-value below which a difference is beyond chance
    not_compared: list[str]  # tables of records without a baseline
    remarks: list[str]  # other differences between baseline and run

    @property
    def fails(self) -> bool:
        """Whether the run does not reproduce the baseline."""
        return any(finding.fails for finding in self.findings)

    def of(self, *kinds: Kind) -> list[Finding]:
        """Return the differences of some kinds; failing ones come first."""
        found = [finding for finding in self.findings if finding.kind in kinds]
        return sorted(found, key=lambda finding: not finding.fails)


# -- a table ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Pair:
    """The rows that baseline and run have in common, and the movement of their estimates."""

    table: str
    columns: Columns
    labels: list[str]
    lost: list[str]
    new: list[str]
    before: pd.DataFrame
    after: pd.DataFrame
    p: Floats
    moved: Flags
    wider: Flags  # or narrower: the interval differs


def _paired(table: str, before: pd.DataFrame, after: pd.DataFrame) -> _Pair:
    columns = columns_of(table)
    named = [_named(rows, columns.keys) for rows in (before, after)]
    names = [list(rows.index) for rows in named]
    shared = set(names[0]) & set(names[1])
    common, lost, new = (
        [name for name in names[run] if (name in shared) is both]
        for run, both in ((0, True), (0, False), (1, False))
    )
    first, second = (rows.loc[common] for rows in named)
    p, moved, wider = np.full(len(common), np.nan), *np.zeros((2, len(common)), dtype=bool)
    if columns.estimate:
        values, halves = zip(*(_estimates(rows, columns) for rows in (first, second)), strict=True)
        n = pd.to_numeric(first["replicates"]).to_numpy(dtype=int)
        p = p_values((values[0], halves[0]), (values[1], halves[1]), n, columns.summary)
        moved = ~same(values[0], values[1], OUTPUT_RTOL)
        p = np.where(moved | np.isnan(p), p, 1.0)
        wider = ~same(halves[0], halves[1], WIDTH)
    labels, gone, added = (
        [_label(name, columns.keys) for name in each] for each in (common, lost, new)
    )
    return _Pair(table, columns, labels, gone, added, first, second, p, moved, wider)


def _named(rows: pd.DataFrame, keys: tuple[str, ...]) -> pd.DataFrame:
    """Return the rows with an index: the key columns, and the number among equal keys."""
    names = list(zip(*(_canonical(rows[key]) for key in keys), strict=True))
    times: dict[tuple[str, ...], int] = {}
    index = []
    for name in names:
        times[name] = times.get(name, 0) + 1
        index.append((*name, times[name]))
    return rows.set_axis(pd.Index(index, tupleize_cols=False), axis=0)


def _canonical(column: pd.Series) -> list[str]:
    # 0.5, .50 and 5e-1 are the same key.
    pairs = zip(column, _numbers(column), strict=True)
    return [text if np.isnan(number) else f"{number:.9g}" for text, number in pairs]


def _label(name: tuple[Any, ...], keys: tuple[str, ...]) -> str:
    parts = [f"{key} {value}" for key, value in zip(keys, name, strict=False) if value != ""]
    return ", ".join(parts) + (f" (no. {name[-1]})" if name[-1] > 1 else "")


def _estimates(rows: pd.DataFrame, columns: Columns) -> tuple[Floats, Floats]:
    return _numbers(rows[columns.estimate]), _numbers(rows[HALF_WIDTH])


def _numbers(column: pd.Series) -> Floats:
    """Return the numbers in a column of text, NaN for other texts."""
    return pd.to_numeric(column, errors="coerce").to_numpy(dtype=float)


def _movement(pair: _Pair) -> Movement:
    tested = np.isfinite(pair.p)
    p = pair.p[tested]
    halves = [_estimates(rows, pair.columns)[1] for rows in (pair.before, pair.after)]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = halves[1] / halves[0]
    ratios = ratios[np.isfinite(ratios) & (ratios > 0)]
    return Movement(
        pair.table,
        pair.p.size,
        int(pair.moved.sum()),
        int(tested.sum()),
        int((~tested).sum()),
        float(np.mean(p < 1 - CONFIDENCE)) if p.size else 0.0,
        float(p.min()) if p.size else 1.0,
        float(np.median(ratios)) if ratios.size else 1.0,
    )


def _findings(pair: _Pair, limit: float, anything_moved: bool) -> Iterator[Finding]:
    yield from (Finding("row lost", pair.table, name) for name in pair.lost)
    yield from (Finding("row new", pair.table, name, fails=False) for name in pair.new)
    own = {*pair.columns.keys, pair.columns.estimate, HALF_WIDTH, pair.columns.verdict}
    for column in map(str, pair.before):
        if column in own:
            continue
        if column not in pair.after:
            yield Finding("exact", pair.table, "every row", column, "there", "lost")
            continue
        for i in np.flatnonzero(_changed(pair, column)).tolist():
            yield _finding("exact", pair, i, column)
    yield from _estimates_beyond_chance(pair, limit)
    yield from _changed_verdicts(pair, limit, anything_moved)


def _finding(
    kind: Kind, pair: _Pair, i: int, column: str, *, fails: bool = True, p: float = float("nan")
) -> Finding:
    before, after = (str(rows[column].iloc[i]) for rows in (pair.before, pair.after))
    return Finding(kind, pair.table, pair.labels[i], column, before, after, fails, p)


def _changed(pair: _Pair, column: str) -> Flags:
    first, second = pair.before[column], pair.after[column]
    differ = (first.to_numpy() != second.to_numpy()).astype(bool)
    numbers = [_numbers(each) for each in (first, second)]
    numeric = ~np.isnan(numbers[0]) & ~np.isnan(numbers[1])
    return np.asarray(differ & ~(numeric & same(numbers[0], numbers[1], pair.columns.tolerance)))


def _estimates_beyond_chance(pair: _Pair, limit: float) -> Iterator[Finding]:
    if not pair.columns.estimate:
        return
    values = [_estimates(rows, pair.columns)[0] for rows in (pair.before, pair.after)]
    undefined = pair.moved & ~(np.isfinite(values[0]) & np.isfinite(values[1]))
    undefined &= ~np.isnan(pair.p) | np.isnan(values[0]) | np.isnan(values[1])
    for i in np.flatnonzero(undefined).tolist():
        yield _finding("exact", pair, i, pair.columns.estimate)
    for i in np.flatnonzero((pair.p < limit) & ~undefined).tolist():
        yield _finding("number", pair, i, pair.columns.estimate, p=float(pair.p[i]))


def _changed_verdicts(pair: _Pair, limit: float, anything_moved: bool) -> Iterator[Finding]:
    column = pair.columns.verdict
    if column not in pair.before or column not in pair.after:
        return
    before, after = pair.before[column].to_numpy(), pair.after[column].to_numpy()
    for i in np.flatnonzero(before != after).tolist():
        own = bool(pair.moved[i] or pair.wider[i]) and not pair.p[i] < limit
        by_chance = own or (pair.columns.decided_elsewhere and anything_moved)
        by_chance &= not {before[i], after[i]} & set(NEVER_BY_CHANCE)
        yield _finding("verdict", pair, i, column, fails=not by_chance)


# -- all tables ------------------------------------------------------------------------------------


def compare(baseline: Run, run: Run) -> Comparison:
    """Compare a run with its baseline, table by table.

    A verdict that depends on simulated numbers of other rows or tables may change by chance if any
    estimate moved. With identical draws it may not.
    """
    common = [name for name in baseline.tables if name in run.tables]
    pairs = [_paired(name, baseline.tables[name].rows, run.tables[name].rows) for name in common]
    movements = [_movement(pair) for pair in pairs if pair.columns.estimate]
    limit = FALSE_ALARMS / max(sum(each.tested for each in movements), 1)
    moved = any(each.moved for each in movements)
    findings = [finding for pair in pairs for finding in _findings(pair, limit, moved)]
    findings += [Finding("table lost", name) for name in baseline.tables if name not in run.tables]
    known = [name for name in run.tables if run.origins[name] in baseline.facts]
    findings += [
        Finding("table new", name, fails=False) for name in known if name not in baseline.tables
    ]
    findings += [*_other_records(baseline.facts, run.facts)]
    return Comparison(
        findings,
        movements,
        len(common),
        sum(baseline.tables[name].digest == run.tables[name].digest for name in common),
        limit,
        [name for name in run.tables if name not in known],
        [*_remarks(baseline.facts, run.facts)],
    )


def _other_records(
    before: Mapping[Origin, Facts], after: Mapping[Origin, Facts]
) -> Iterator[Finding]:
    """Yield the data sets with other records, a difference that no simulation error covers."""
    for origin, facts in before.items():
        now = after[origin].records
        for name, digest in facts.records.items():
            # Records of another kind belong to another origin.
            if now.get(name, digest) != digest:
                yield Finding("records", name, origin, "digest", digest, now[name])


def _remarks(before: Mapping[Origin, Facts], after: Mapping[Origin, Facts]) -> Iterator[str]:
    told = set()
    for origin, facts in before.items():
        now = after[origin]
        pairs = {"seed": (facts.seed, now.seed), "config": (facts.config, now.config)} | {
            name: (version, now.versions.get(name, "none"))
            for name, version in facts.versions.items()
        }
        told |= {f"{name} {old} → {new}" for name, (old, new) in pairs.items() if old != new}
    yield from sorted(told)
