"""Microdata in memory and on disk: round trips, readings of odd files, and refusals."""

import errno
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st

from deniable.errors import DataError, DeniableError
from deniable.records import categorical as microdata
from deniable.records.categorical import Microdata, encode
from deniable.records.domain import Attribute, Domain
from deniable.records.numeric import read_true_records

DOMAIN = Domain((Attribute("a", ("x", "y")), Attribute("b", ("u", "v, w", "z"), "ordinal")))


def some_data(records: int = 1000, domain: Domain = DOMAIN, seed: int = 1) -> Microdata:
    rng = np.random.default_rng(seed)
    return Microdata(domain, tuple(rng.integers(0, a.size, records) for a in domain), {"k": "ü"})


def assert_same(first: Microdata, second: Microdata) -> None:
    assert first.domain == second.domain
    for one, other in zip(first.columns, second.columns, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


def entries(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


# -- in memory -------------------------------------------------------------------------------------


def test_records():
    data = Microdata(DOMAIN, (np.array([0, 1, 1]), np.array([2, 0, 1])))
    assert len(data) == 3
    assert [c.dtype for c in data.columns] == [np.uint8, np.uint8]
    assert data.column("b").tolist() == [2, 0, 1]
    assert data.project(["b"]).domain.names == ("b",)
    assert data.project(["b", "a"]).columns[1].tolist() == [0, 1, 1]
    # (a, b): (x, z), (y, u), (y, v).
    assert data.counts().tolist() == [[0, 0, 1], [1, 1, 0]]
    assert data.counts(["b", "a"]).tolist() == [[0, 1], [0, 1], [1, 0]]
    assert data.counts(["a"]).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ((np.array([0]),), "2 attributes, but 1 columns"),
        ((np.array([0]), np.array([0, 1])), r"differ in length: \[1, 2\]"),
        ((np.array([0]), np.array([3])), r"'b': the code 3 is outside 0 \.\. 2"),
        ((np.array([-1]), np.array([0])), r"'a': the code -1 is outside 0 \.\. 1"),
        ((np.array([0.0]), np.array([0])), "'a': codes must be integers, not float64"),
        ((np.array(["x"]), np.array([0])), "'a': codes must be integers"),
        ((np.zeros((2, 2), int), np.zeros(2, int)), r"'a': .* not the shape \(2, 2\)"),
        ((0, 0), r"'a': .* not the shape \(\)"),
    ],
)
def test_what_are_no_records(columns, message):
    with pytest.raises(DataError, match=message):
        Microdata(DOMAIN, columns)


@pytest.mark.parametrize("chunk", [1, 7, 1000, 1 << 20])
def test_counts_in_chunks_are_those_of_pandas(monkeypatch, chunk):
    monkeypatch.setattr(microdata, "CHUNK_RECORDS", chunk)
    domain = Domain(tuple(Attribute(f"a{i}", tuple("pqrst")) for i in range(3)))
    data = some_data(999, domain)
    frame = pd.DataFrame(dict(zip(domain.names, data.columns, strict=True)))
    table = pd.crosstab(frame["a0"], [frame["a1"], frame["a2"]], dropna=False)
    np.testing.assert_array_equal(data.counts(), table.to_numpy().reshape(5, 5, 5))
    assert data.counts().sum() == 999
    pair = pd.crosstab(frame["a2"], frame["a0"])
    np.testing.assert_array_equal(data.counts(["a2", "a0"]), pair.to_numpy())


def test_counts_of_too_many_cells():
    wide = Domain(tuple(Attribute(f"a{i}", tuple("pqrstuvw")) for i in range(10)))
    data = some_data(3, wide)
    with pytest.raises(DataError, match=r"has 1.07e\+09 cells, over the 2e\+08 .* fewer attrib"):
        data.counts()
    assert data.counts(["a9", "a0"]).sum() == 3
    with pytest.raises(DataError, match="no attribute 'z'"):
        data.counts(["z"])


def test_encode():
    codes = encode(pa.array(["u", "z", "u"]), DOMAIN["b"], "here")
    assert codes.tolist() == [0, 2, 0]
    assert codes.dtype == np.uint8
    with pytest.raises(DataError, match=r"here: record 2, column 'b' has the unknown category 'q'"):
        encode(pa.array(["u", "q"]), DOMAIN["b"], "here")
    for missing in (None, ""):
        with pytest.raises(DataError, match=r"here: record 1, column 'b' has a missing value"):
            encode(pa.array([missing, "q"]), DOMAIN["b"], "here")
    nothing_is_a_category = Attribute("b", ("", "u"))
    assert encode(pa.array(["u", ""]), nothing_is_a_category, "here").tolist() == [1, 0]


# -- there and back --------------------------------------------------------------------------------


@pytest.mark.parametrize("records", [0, 1, 5000])
def test_parquet_round_trip(tmp_path, records):
    data = some_data(records)
    data.write_parquet(tmp_path / "deep" / "d.parquet")
    back = read_true_records(tmp_path / "deep" / "d.parquet")
    assert_same(back, data)
    assert back.marks == {"k": "ü"}
    if records:
        frame = pd.read_parquet(tmp_path / "deep" / "d.parquet")
        assert frame["b"].map(DOMAIN["b"].code_of).tolist() == data.column("b").tolist()


texts = st.text(
    st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=8
).filter(lambda text: text == text.strip() and text != "\ufeff")


@settings(deadline=None, max_examples=60, derandomize=True)
@given(
    names=st.lists(
        texts.filter(lambda t: not {"\n", "\r"} & set(t)), min_size=1, max_size=3, unique=True
    ),
    categories=st.lists(texts, min_size=1, max_size=5, unique=True),
)
def test_any_names_and_categories_come_back(tmp_path_factory, names, categories):
    # Commas, quotes, line ends, other scripts, "NA", "0": all of them are text.
    domain = Domain(tuple(Attribute(name, tuple(categories)) for name in names))
    data = some_data(20, domain)
    folder = tmp_path_factory.mktemp("any")
    data.write_parquet(folder / "d.parquet")
    assert_same(read_true_records(folder / "d.parquet"), data)
    assert_same(Microdata.of_frame(data.to_frame().astype("str"), domain), data)


def test_categories_of_two_bytes(tmp_path):
    wide = Domain((Attribute("n", tuple(map(str, range(700)))),))
    data = some_data(3000, wide)
    data.write_parquet(tmp_path / "d.parquet")
    assert data.columns[0].dtype == np.uint16
    assert_same(read_true_records(tmp_path / "d.parquet"), data)


# -- unreadable ------------------------------------------------------------------------------------


def test_absent_files_and_directories(tmp_path):
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    for path in ("absent.csv", "folder.csv", "absent/deep.csv", "loop", "n" * 300):
        with pytest.raises(DataError) as caught:
            read_true_records(tmp_path / path)
        assert str(caught.value).startswith(f"{tmp_path / path}: ")
        assert "\n" not in str(caught.value)


def with_metadata(text: bytes | None) -> pa.Table:
    table = pa.table({"a": ["x"], "b": ["u"]})
    return table.replace_schema_metadata({} if text is None else {b"deniable": text})


ATTRIBUTE = b'{"name": "%s", "scale": "nominal", "categories": ["x"]}'


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        (None, "no domain in its metadata, .* Microdata.of_frame"),
        (b"{", "metadata describe no domain"),
        (b"\xff", "metadata describe no domain"),
        (b"[]", "metadata describe no domain"),
        (b"{}", "metadata describe no domain .*'attributes'"),
        (b'{"attributes": [], "marks": {}}', "metadata describe no domain .*at least one attri"),
        (b'{"attributes": [{"name": "a"}], "marks": {}}', "metadata describe no domain"),
        (b'{"attributes": [' + ATTRIBUTE % b"a" + b"]}", "no domain .*'marks'"),
        (b'{"attributes": [' + ATTRIBUTE % b"c" + b'], "marks": {}}', "attribute 'c', but .* a, b"),
        (
            b'{"attributes": [' + ATTRIBUTE % b"b" + b'], "marks": {}}',
            "record 1, column 'b' has the unknown category 'u'",
        ),
    ],
)
def test_malformed_parquet_metadata(tmp_path, metadata, message):
    file = tmp_path / "d.parquet"
    pq.write_table(with_metadata(metadata), file)
    with pytest.raises(DataError, match=message) as caught:
        read_true_records(file)
    assert str(caught.value).startswith(f"{file}: ")


@pytest.mark.parametrize("damage", ["cut", "empty", "text", "garbled", "magic only"])
def test_malformed_parquet(tmp_path, damage):
    file = tmp_path / "d.parquet"
    some_data(2000).write_parquet(file)
    whole = file.read_bytes()
    file.write_bytes(
        {
            "cut": whole[: len(whole) // 2],
            "empty": b"",
            "text": b"a,b\nx,u\n",
            "garbled": whole[:4] + bytes(len(whole) - 12) + whole[-8:],
            "magic only": b"PAR1PAR1",
        }[damage]
    )
    with pytest.raises(DataError, match=r"not readable as Parquet .*; create it again") as caught:
        read_true_records(file)
    assert "\n" not in str(caught.value)


# -- whole or absent -------------------------------------------------------------------------------


@pytest.mark.parametrize("before", [None, b"the old file"], ids=["absent", "present"])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()])
def test_a_failed_write_leaves_what_was(tmp_path, monkeypatch, before, error):
    def half(table: pa.Table, path: Path, **options: object) -> None:
        Path(path).write_bytes(b"half of it")
        raise error

    monkeypatch.setattr(pq, "write_table", half)
    target = tmp_path / "d"
    if before is not None:
        target.write_bytes(before)
    with pytest.raises(type(error)):
        some_data().write_parquet(target)
    assert entries(tmp_path) == ([] if before is None else ["d"])
    assert before is None or target.read_bytes() == before


def test_a_full_disk_leaves_nothing(tmp_path):
    # The system refuses any byte beyond 20,000, as a full disk does.
    script = """
        import resource, signal, sys
        import numpy as np
        from deniable.records.domain import Attribute, Domain
        from deniable.records.categorical import Microdata
        domain = Domain((Attribute("n", tuple(map(str, range(700)))),))
        data = Microdata(domain, (np.random.default_rng(1).integers(0, 700, 100_000),))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
        try:
            data.write_parquet(sys.argv[1] + "/d")
        except OSError:
            print("a full disk")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "a full disk"
    assert entries(tmp_path) == []


def test_writers_replace_whole_files(tmp_path):
    target = tmp_path / "d"
    for records in (5000, 10):
        some_data(records).write_parquet(target)
    assert_same(read_true_records(target), some_data(10))
    assert entries(tmp_path) == ["d"]


def test_a_failed_record_makes_no_data_error_of_another_kind():
    # The family that the command line prints without a traceback.
    assert issubclass(DataError, DeniableError)
    assert issubclass(DeniableError, ValueError)
