"""One value changes, the random words stay: what differs in public is accounted for."""

from pathlib import Path

import numpy as np
import pytest
from tests.release.small_releases import KINDS, content, known_key, records, settings, source

from deniable.records import read_true_records
from deniable.records.categorical import Microdata
from deniable.records.numeric import NumericMicrodata
from deniable.release import LANES, Ledger, make_release, read_made, write_made
from deniable.release.contents import write_contents
from deniable.release.keys import Records

CHANGED = 17
DECLARED = ("release.json", "views.json", "README.txt")
# Their matrices, or clusters, follow from the records; release.json says so, or counts it.
DESIGNED_FROM_RECORDS = ("clusters by a half", "kronecker clusters", "strata")


def neighbours(lane: str, how: str) -> tuple[Records, Records]:
    """Return two files that differ in one value of one record."""
    data = records(lane)
    if isinstance(data, NumericMicrodata):
        first = data.values.copy()
        if how == "alone in its category or the largest":
            first[:, 0] = np.minimum(first[:, 0], 9)
            first[CHANGED, 0] = 19.5
        second = first.copy()
        second[CHANGED, 0] = 2.5
        return data.with_values(first), data.with_values(second)
    columns = [column.copy() for column in data.columns]
    if how == "alone in its category or the largest":
        columns[3][columns[3] == 3] = 0
        columns[3][CHANGED] = 3
    others = [column.copy() for column in columns]
    others[3][CHANGED] = (columns[3][CHANGED] + 1) % 3
    return tuple(Microdata(data.domain, tuple(each), data.marks) for each in (columns, others))


def published(kind: str, at: Path, data: Records) -> Path:
    release, place = settings(kind), known_key(at / "keys")
    make_release(release, source(release, data), at / "small", Ledger(at / "ledger"), place)
    return at / "small" / "public"


@pytest.mark.parametrize("how", ["one of many", "alone in its category or the largest"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_byte_that_differs_is_the_mechanisms(kind: str, how: str, tmp_path: Path) -> None:
    lane = settings(kind).lane
    both = [
        published(kind, tmp_path / str(i), data) for i, data in enumerate(neighbours(lane, how))
    ]
    one, other = (content(each) for each in both)
    assert list(one) == list(other)
    differ = {name for name in one if one[name] != other[name]}
    output = {Path(f).name for f in LANES[lane].draw.leaves if f.startswith("public")}
    if kind not in DESIGNED_FROM_RECORDS:
        assert not differ & set(DECLARED)
        _only_its_record(kind, *both)
    # All else follows from the declared and from the mechanism's output, with nothing besides.
    for i, public in enumerate(both):
        again = _made_from(kind, public, {*output, *DECLARED}, tmp_path / f"again {i}")
        assert again == content(public)
    assert differ <= set(one)


def _only_its_record(kind: str, one: Path, other: Path) -> None:
    """The output differs in what the one record was reported as, and in nothing else."""
    if settings(kind).lane == "collection":
        tables = [read_made([each / "collection.csv"])["collection"] for each in (one, other)]
        if kind == "views":  # elsewhere the tables that later blocks are sent follow the answers
            moved = np.abs(tables[0]["reports"] - tables[1]["reports"])
            assert set(moved) <= {0, 1}
            assert moved.sum() <= 2
            assert tables[0].drop(columns="reports").equals(tables[1].drop(columns="reports"))
        return
    first, second = (read_true_records(each / "protected.parquet") for each in (one, other))
    if isinstance(first, Microdata) and isinstance(second, Microdata):
        rows = [np.flatnonzero(a != b) for a, b in zip(first.columns, second.columns, strict=True)]
        assert [len(each) for each in rows if len(each)] in ([], [1])
        if kind != "asked":  # there a block has one column of reports, where its first attribute is
            assert [len(each) for each in rows[:3]] == [0, 0, 0]
    elif kind == "values":
        differing = np.argwhere(first.values != second.values)
        assert len(differing) <= 1
        assert first.labels.tolist() == second.labels.tolist()
    assert first.marks.keys() == second.marks.keys()


def _made_from(kind: str, public: Path, names: set[str], folder: Path) -> dict[str, bytes]:
    """Make again what is made from some files of a public folder alone."""
    release, folder = settings(kind), folder / "public"
    folder.mkdir(parents=True)
    for name in names:
        if (public / name).exists():
            (folder / name).write_bytes((public / name).read_bytes())
    for step in LANES[release.lane].steps(release):
        if step in LANES[release.lane].estimates:
            read = read_made(folder / Path(file).name for file in step.reads)
            write_made([folder / Path(file).name for file in step.leaves], step(release, read))
    write_contents(release, folder)
    return content(folder)


def test_nothing_says_where_a_record_stood(tmp_path: Path) -> None:
    """Who knows the true file and its order is told nothing by the order of the released one."""
    data = records("categorical", 20_000)
    release, place = settings("independent", p=0.9), known_key(tmp_path / "keys")
    given = source(release, data)
    make_release(release, given, tmp_path / "small", Ledger(tmp_path / "ledger"), place)
    released = read_true_records(tmp_path / "small" / "public" / "protected.parquet")
    assert isinstance(released, Microdata)
    for name in data.domain.names:
        true, reported = data.column(name), released.column(name)
        shares = np.bincount(true) / len(true), np.bincount(reported) / len(reported)
        expected = float(shares[0] @ shares[1])
        error = np.sqrt(expected * (1 - expected) / len(true))
        assert abs(np.mean(true == reported) - expected) < 6 * error
    texts = b"".join(content(tmp_path / "small" / "public").values())
    assert b"record_number" not in texts
