"""Change one value of one record, keep the random numbers, and explain each changed byte of public.

The idea is the one of Re:cord-play (PETS 2026): two runs on neighbouring files with one stream of
random numbers, in which everything that the mechanism does not randomize shows as a difference. The
key of a release depends on its records, so here it is made independent of them. In a real release
all random numbers change too. All policies for missing values are covered, and CSV, Parquet and
Arrow. These may differ in the protected file:

=====================  =============================================================================
plan                   may differ
=====================  =============================================================================
columns                the row of the record, in its changed column or in the columns of its cluster
strata                 the same; if the stratum changes, the whole row, because another matrix holds
masked by dp           the changed number in the row of the record; a class is released unchanged
masked with clusters   the changed column in any row, because clusters change; a class in its row
masked by histograms   two counts by 1, for each column with another bin or class; and all numbers,
                       because they are drawn from the counts
mixed                  the same as in the part with the column
collected              two counts of the client's block by 1, in each table that the client answers
                       about the changed column; with a floor also later blocks of this table,
                       because they follow from earlier answers
=====================  =============================================================================

Everything else is the same: documents, other rows, their order, and how files are written.
SHA256SUMS follows from the files. plan.json has the MAC of the ledger's entry, which differs in any
two ledgers. If a value becomes missing, the policy "category" acts like any other value, "refuse"
publishes nothing, and "drop" gives the bytes of the file without the record, with one record fewer
in README.txt and plan.json.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from tests.release.small_releases import (
    KINDS,
    UNSOUND,
    but_for_the_entry,
    known_key,
    made,
    records,
    schema,
)

from deniable.errors import DataError
from deniable.plans import CollectedPlan, MaskedPlan, Plan
from deniable.records import Microdata
from deniable.release.keys import ReleaseKey
from deniable.release.records import records_writer
from deniable.release.shuffled import shuffled_file
from deniable.rrba import collect_answers
from deniable.sampling import KeyedDraws, by_words
from deniable.schema import CsvForm, RecordsFile

NUMBER, EPSILON = 210, 3.0
FORMATS = ("csv", "parquet", "arrow")
POLICIES = ("refuse", "category", "drop")
BY_RECORD = ("columns", "cluster", "other values", "strata", "numbers")
MASKED = ("numbers", "centroids", "histograms", "dp_um", "idp_ls")
TABLES = ("views", "pooled tables")
TOGETHER = {"cluster": {"a", "b"}, "strata": {"a", "b"}}
"""Columns that share a matrix, where b is one of them."""
CHANGES: dict[str, Callable[[Any], Any]] = {
    "another value": lambda old: 5.0 if isinstance(old, float) else {"x": "y"}.get(old, "x"),
    "missing": lambda _: None,
    "another class": lambda old: {"no": "yes", "yes": "no"}[old],
}
Cells = set[tuple[int, str]]


class Made(NamedTuple):
    """A release: its public files (see `but_for_the_entry`), and the protected file as a table."""

    files: dict[str, Any]
    rows: pd.DataFrame
    folder: Path


@pytest.fixture
def draws(monkeypatch: pytest.MonkeyPatch) -> list[KeyedDraws]:
    """Return the list of all draws of releases, which do not depend on the records here."""
    found: list[KeyedDraws] = []

    def same_words(key: ReleaseKey, document: Any, fingerprint: Any) -> KeyedDraws:
        found.append(key.draws({"plan": document}))
        return found[-1]

    monkeypatch.setattr("deniable.release.drawing.draws_for", same_words)
    return found


def plan_of(kind: str, form: str, policy: str) -> Plan:
    accept = (*UNSOUND, *(["records_dropped"] if policy == "drop" else []))
    own = schema(form, numbers=kind in MASKED, missing=policy)
    if kind not in KINDS:
        more: dict[str, Any] = {"k": 7, "class_column": "c", "accept": accept}
        return MaskedPlan.from_schema(own, EPSILON, kind, **more)  # type: ignore[arg-type]
    return KINDS[kind][1](own, EPSILON, accept=accept)


def changed(record: int, column: str, change: str) -> pd.DataFrame:
    frame = records(NUMBER)
    frame.loc[record, column] = CHANGES[change](frame.loc[record, column])
    return frame


def in_memory(plan: Plan, frame: pd.DataFrame, draws: KeyedDraws) -> pa.Table:
    """Return the protected records in the order of the file."""
    source = frame
    if plan.schema.file.kind == "csv":
        source = frame.astype(object).where(frame.notna(), "").astype(str)
    file = RecordsFile.open(source, plan.schema, passed=plan.passed)
    return pa.concat_tables(plan.randomize(file.portions(), draws))


def record_that_moves(plan: Plan, column: str, change: str, draws: KeyedDraws) -> int:
    """Return the first record for which the change shows: chance may replace either value."""
    before = in_memory(plan, records(NUMBER), draws)
    tables = plan.public_tables(before)
    for record in range(NUMBER):
        after = in_memory(plan, changed(record, column, change), draws)
        counts = plan.public_tables(after)
        if after != before or any(not counts[name].equals(tables[name]) for name in tables):
            return record
    raise AssertionError("no record moves")


def released(plan: Plan, frame: pd.DataFrame, at: Path) -> Made:
    made("", at, known_key(at), frame, plan=plan)
    folder = at / "small" / "public"
    return Made(but_for_the_entry(folder), table_of(folder, plan).to_pandas().fillna(""), folder)


def table_of(folder: Path, plan: Plan) -> pa.Table:
    file = folder / f"{plan.protected_name}.{plan.schema.file.kind}"
    if file.suffix == ".csv":
        return pa.Table.from_pandas(pd.read_csv(file, dtype=str, keep_default_na=False))
    if file.suffix == ".parquet":
        return pq.read_table(file)
    with pa.ipc.open_file(pa.BufferReader(file.read_bytes())) as stream:
        return stream.read_all()


def rewritten(found: Made, plan: Plan, to: Path) -> bytes:
    """Return the bytes of a file that is written from the values of the protected one alone."""
    pattern = in_memory(plan, records(NUMBER), KeyedDraws(bytes(32), b"other"))
    columns = []
    for name, values in zip(pattern.column_names, table_of(found.folder, plan), strict=True):
        kind = pattern[name].type
        if pa.types.is_dictionary(kind):
            plain = values.cast(kind.value_type).combine_chunks()
            dictionary = pattern[name].chunk(0).dictionary
            codes = pc.index_in(plain, dictionary).cast(kind.index_type)
            columns.append(pa.DictionaryArray.from_arrays(codes, dictionary))
        else:
            columns.append(values.cast(kind))
    with records_writer(to, plan.schema.file, CsvForm()) as writer:
        writer.write(pa.table(columns, names=pattern.column_names))
    return to.read_bytes()


def moved_cells(one: Made, other: Made) -> Cells:
    assert one.rows.shape == other.rows.shape
    assert list(one.rows) == list(other.rows)
    apart = one.rows.to_numpy(dtype=object) != other.rows.to_numpy(dtype=object)
    return {(int(row), str(one.rows.columns[at])) for row, at in zip(*apart.nonzero(), strict=True)}


def place_of(record: int, draws: KeyedDraws) -> int:
    """Return the row of a record in the protected file."""
    order = by_words(draws.order_words(range(NUMBER)))
    return int(np.flatnonzero(order == record)[0])


def refuse_other_bytes(one: Made, other: Made, plan: Plan, at: Path) -> None:
    """Check that names, documents and lists are the same, and files functions of their values."""
    assert list(one.files) == list(other.files)
    protected = f"{plan.protected_name}.{plan.schema.file.kind}"
    data = {protected, "histograms.csv"}
    stated = [found.files["plan.json"]["release"].pop("shuffled") for found in (one, other)]
    if columns := list(plan.unchanged_groups):  # a function of the protected values
        smallest = [int(found.rows.groupby(columns).size().min()) for found in (one, other)]
        assert stated == [shuffled_file(plan, NUMBER, each) for each in smallest]
        data |= {"README.txt"} if smallest[0] != smallest[1] else set()
    else:
        assert stated[0] == stated[1]
    assert {name for name in one.files if one.files[name] != other.files[name]} <= data
    for found in (one, other):
        written = [each for each in sorted(found.folder.iterdir()) if each.name != "SHA256SUMS"]
        digests = [f"{hashlib.sha256(e.read_bytes()).hexdigest()}  {e.name}\n" for e in written]
        assert (found.folder / "SHA256SUMS").read_text() == "".join(digests)
        again = rewritten(found, plan, at / f"again.{plan.schema.file.kind}")
        assert again == found.files[protected]


def refuse_other_histograms(one: Made, other: Made, columns: set[str]) -> None:
    """Check that one count of each of `columns` is lower by 1, and another one higher by 1."""
    counts = [pd.read_csv(each.folder / "histograms.csv") for each in (one, other)]
    rest = [each.drop(columns="count") for each in counts]
    pd.testing.assert_frame_equal(rest[0], rest[1])
    by = (counts[1]["count"] - counts[0]["count"]).groupby(counts[0]["column"])
    for name, steps in by:
        expected = [-1, 1] if name in columns else []
        assert sorted(step for step in steps if step) == expected, name


def refuse_other_answers(
    plan: CollectedPlan, one: Made, other: Made, record: int, draws: KeyedDraws
) -> None:
    """Check that only answers of the record's client move, and what follows from them."""
    domain, frame = plan.schema.domain(), records(NUMBER)
    codes = (frame[each.name].map(each.categories.index).to_numpy() for each in domain)
    _, clients = collect_answers(plan.design, Microdata(domain, tuple(codes)), draws)
    client = clients[clients["client"] == record + 1].iloc[0]
    question = plan.design.questions[client["question"] - 1]
    (table,) = (" x ".join(each) for each in question if "b" in each)
    moved, rows = moved_cells(one, other), one.rows
    block = rows["block"].astype(int)
    own = (rows["attributes"] == table) & (block == client["block"])
    steps = other.rows["reports"].astype(int) - rows["reports"].astype(int)
    assert sorted(step for step in steps[own] if step) == [-1, 1]
    # By a floor, the fake answers of later blocks of the table follow from the answers before.
    later = (rows["attributes"] == table) & (block > client["block"])
    if plan.design.floor is None:
        later[:] = False
    assert {name for row, name in moved if own[row]} == {"reports"}
    assert {row for row, _ in moved} <= set(np.flatnonzero(own | later).tolist())
    assert {name for _, name in moved} <= {"reports", "fake", "epsilon"}


CASES = [
    (kind, form, policy, change)
    for kind in (*BY_RECORD, *MASKED[1:], *TABLES)
    for form in (FORMATS if kind in KINDS else FORMATS[:1])
    for policy in POLICIES
    for change in CHANGES
    if change != "another class" or kind in ("strata", *MASKED)
]


def column_of(kind: str, policy: str, change: str) -> str:
    """Return the column that changes: numbers have no category for missing values."""
    of_class = change == "another class" or (change == "missing" and policy == "category")
    if kind in MASKED:
        return "c" if of_class else "width"
    return "c" if change == "another class" else "b"


def refuse_other_cells(
    kind: str, column: str, one: Made, other: Made, record: int, draws: KeyedDraws
) -> None:
    """Check that only the row of the record moves in the protected file, or what docs/ allow."""
    moved, row = moved_cells(one, other), place_of(record, draws)
    if kind == "histograms":
        refuse_other_histograms(one, other, {"width", "height"} if column == "c" else {column})
        # Numbers are drawn from the noisy counts.
        assert {cell for cell in moved if cell[1] == "c"} == (
            {(row, "c")} if column == "c" else set()
        )
        return
    assert moved
    if kind in BY_RECORD or column == "c":  # a number moves others between clusters
        assert {at for at, _ in moved} == {row}
    names = TOGETHER.get(kind, {column}) if column == "b" else {column}
    if kind == "strata" and column == "c":
        names = {*one.rows}  # another stratum has other matrices
    assert {name for _, name in moved} <= names


@pytest.mark.parametrize(("kind", "form", "policy", "change"), CASES)
def test_every_byte_that_one_value_moves(
    kind: str, form: str, policy: str, change: str, tmp_path: Path, draws: list[KeyedDraws]
) -> None:
    plan, column = plan_of(kind, form, policy), column_of(kind, policy, change)
    if change == "missing" and policy == "refuse":
        with pytest.raises(DataError, match="missing value"):
            released(plan, changed(0, column, change), tmp_path)
        assert not (tmp_path / "small" / "public").exists()
        return
    if change == "missing" and policy == "drop":  # a file without the record, to the last byte
        one = released(plan, records(NUMBER).drop(index=0), tmp_path / "one")
        other = released(plan, changed(0, column, change), tmp_path / "other")
        assert one.files == other.files
        assert one.files["plan.json"]["release"]["records"] == NUMBER - 1
        return
    one = released(plan, records(NUMBER), tmp_path / "one")
    record = record_that_moves(plan, column, change, draws[0])
    other = released(plan, changed(record, column, change), tmp_path / "other")
    assert draws[0] == draws[1]
    refuse_other_bytes(one, other, plan, tmp_path)
    if isinstance(plan, CollectedPlan):
        refuse_other_answers(plan, one, other, record, draws[0])
    else:
        refuse_other_cells(kind, column, one, other, record, draws[0])


def test_the_cases_have_all_kinds_of_plans() -> None:
    found = {plan_of(kind, "csv", "refuse").kind for kind, *_ in CASES}
    assert found == {"columns", "strata", "masked", "collected"}
