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
from deniable.records import arrow, categorical as microdata
from deniable.records.categorical import Microdata, encode, read_csv, read_parquet
from deniable.records.discretization import Discretization
from deniable.records.domain import Attribute, Domain

DOMAIN = Domain((Attribute("a", ("x", "y")), Attribute("b", ("u", "v, w", "z"), "ordinal")))
MANY = 3000  # rows before the fault, in blocks of 1 kB: the 15th block or so


def some_data(records: int = 1000, domain: Domain = DOMAIN, seed: int = 1) -> Microdata:
    rng = np.random.default_rng(seed)
    return Microdata(domain, tuple(rng.integers(0, a.size, records) for a in domain), {"k": "ü"})


def assert_same(first: Microdata, second: Microdata) -> None:
    assert first.domain == second.domain
    for one, other in zip(first.columns, second.columns, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


def read(tmp_path: Path, content: bytes, **options) -> list[list[int]]:
    file = tmp_path / "file.csv"
    file.write_bytes(content)
    return [column.tolist() for column in read_csv(file, DOMAIN, **options).columns]


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
        ((np.zeros((2, 2), int), np.zeros(2, int)), r"'a': .* not of shape \(2, 2\)"),
        ((0, 0), r"'a': .* not of shape \(\)"),
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


@pytest.mark.parametrize("records", [1, 5000])
def test_csv_round_trip(tmp_path, records):
    data = some_data(records)
    data.write_csv(tmp_path / "deep" / "d.csv")
    assert_same(read_csv(tmp_path / "deep" / "d.csv", DOMAIN), data)
    # Others read it too.
    frame = pd.read_csv(tmp_path / "deep" / "d.csv")
    assert list(frame.columns) == ["a", "b"]
    codes = frame["b"].map(DOMAIN["b"].code_of)
    np.testing.assert_array_equal(codes, data.column("b"))


@pytest.mark.parametrize("records", [0, 1, 5000])
def test_parquet_round_trip(tmp_path, records):
    data = some_data(records)
    data.write_parquet(tmp_path / "deep" / "d.parquet")
    back = read_parquet(tmp_path / "deep" / "d.parquet")
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
    # Commas, quotes, line ends, other scripts, "NA", "0": all of them are text, in both formats.
    domain = Domain(tuple(Attribute(name, tuple(categories)) for name in names))
    data = some_data(20, domain)
    folder = tmp_path_factory.mktemp("any")
    data.write_parquet(folder / "d.parquet")
    assert_same(read_parquet(folder / "d.parquet"), data)
    data.write_csv(folder / "d.csv")
    assert_same(read_csv(folder / "d.csv", domain), data)


def test_categories_of_two_bytes(tmp_path):
    wide = Domain((Attribute("n", tuple(map(str, range(700)))),))
    data = some_data(3000, wide)
    data.write_csv(tmp_path / "d.csv")
    data.write_parquet(tmp_path / "d.parquet")
    assert data.columns[0].dtype == np.uint16
    assert_same(read_csv(tmp_path / "d.csv", wide), data)
    assert_same(read_parquet(tmp_path / "d.parquet"), data)


# -- odd but readable ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        b'a,b\nx,u\ny,"v, w"\n',
        b'a,b\nx,u\ny,"v, w"',
        b'a,b\r\nx,u\r\ny,"v, w"\r\n',
        b'a,b\rx,u\ry,"v, w"\r',
        b'\xef\xbb\xbfa,b\nx,u\ny,"v, w"\n',
        b'\xef\xbb\xbf"a","b"\r\n"x","u"\r\n"y","v, w"\r\n',
        b' a\t, b \n  x ,u\t\ny,"v, w  "\n',
        b'a,b\n\n\nx,u\n\ny,"v, w"\n\n\n',
        b'b,a\nu,x\n"v, w",y\n',
        b'id,b,more,a\n1,u,,x\n2,"v, w","q,q",y\n',
        b'id,b,id,a\n1,u,,x\n2,"v, w",3,y\n',
        b'"x, y",b,a\n1,u,x\n2,"v, w",y\n',
        b'a,b,\nx,u,\ny,"v, w",\n',
    ],
    ids=lambda content: content.decode("utf-8", "replace")[:24].encode("unicode_escape").decode(),
)
def test_readable_all_the_same(tmp_path, content):
    assert read(tmp_path, content) == [[0, 1], [0, 1]]


def test_headerless_and_other_delimiters(tmp_path):
    assert read(tmp_path, b"u,0,x\nz,0,y\n", column_positions=[2, 0]) == [[0, 1], [0, 2]]
    assert read(tmp_path, b'"v, w",x\nu,y\n', column_positions=[1, 0]) == [[0, 1], [1, 0]]
    assert read(tmp_path, b"\xef\xbb\xbfx, u\ny, z\n\n", column_positions=[0, 1]) == [
        [0, 1],
        [0, 2],
    ]
    assert read(tmp_path, b"a;b\nx;v, w\n", delimiter=";") == [[0], [1]]
    assert read(tmp_path, b"a\tb\nx\tu\n", delimiter="\t") == [[0], [0]]


def test_many_blocks_are_one_file(tmp_path, monkeypatch):
    monkeypatch.setattr(arrow, "BLOCK_BYTES", 1 << 10)
    odd = Domain((Attribute("a", ("x", 'two\n"lines"')), Attribute("b", ("long" * 20, "s"))))
    data = some_data(5000, odd)
    data.write_csv(tmp_path / "d.csv")
    assert (tmp_path / "d.csv").stat().st_size > 100 << 10
    assert_same(read_csv(tmp_path / "d.csv", odd), data)


HOURS = Discretization("b", (1, 35, 40.5), open_above=True)
WITH_HOURS = Domain((DOMAIN["a"], HOURS.attribute))


def test_numbers_are_read_into_their_intervals(tmp_path):
    (tmp_path / "d.csv").write_bytes(b'b,a\n 34.999 ,x\n"35",y\n+4.05e1,x\n.1E1,x\n0040.,y\n')
    data = read_csv(tmp_path / "d.csv", WITH_HOURS, discretizations=[HOURS])
    assert data.column("b").tolist() == [0, 1, 2, 0, 1]
    assert data.domain == WITH_HOURS
    data.write_csv(tmp_path / "coded.csv")  # labels hold commas
    assert_same(read_csv(tmp_path / "coded.csv", WITH_HOURS), data)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("", "has a missing value; give a number, or leave"),
        ("  ", "has a missing value"),
        ("?", r"has '\?', which is no number; give a number, or leave the record out"),
        *(
            (text, "has .*, which is no number")
            for text in ("1_0", "0x10", "3,5", "--3", "1e", ".")
        ),
        *((text, "has .*, which is no number") for text in ("٣", "nan", "inf", "-Infinity", "4 0")),
        ("0.5", r"has the value 0.5, outside \[1, inf\); .*set open_below"),
        ("-3", "has the value -3, outside"),
        ("1e999", "has the value inf; give a finite number"),
    ],
)
def test_what_is_no_number_of_an_interval(tmp_path, monkeypatch, value, message):
    monkeypatch.setattr(arrow, "BLOCK_BYTES", 1 << 10)
    file = tmp_path / "d.csv"
    rows = "x;40\n" * MANY
    file.write_text(f"a;b\n{rows}x;{value}\n{rows}x;worse\n", encoding="utf-8")
    with pytest.raises(DataError, match=rf"record {MANY + 1}, column 'b' {message}") as caught:
        read_csv(file, WITH_HOURS, discretizations=[HOURS], delimiter=";")
    assert str(caught.value).startswith(f"{file}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("first", "second"), [("0", "?"), ("?", "0")])
def test_the_first_of_two_bad_numbers_is_named(tmp_path, first, second):
    (tmp_path / "d.csv").write_text(f"a,b\nx,1\nx,{first}\nx,{second}\n")
    with pytest.raises(DataError, match="record 2, column 'b'"):
        read_csv(tmp_path / "d.csv", WITH_HOURS, discretizations=[HOURS])


def test_discretizations_that_are_not_those_of_the_domain(tmp_path):
    with pytest.raises(DataError, match=r"attribute 'b': its categories .* not the intervals"):
        read_csv(tmp_path / "d.csv", DOMAIN, discretizations=[HOURS])
    with pytest.raises(DataError, match="no attribute 'c'"):
        read_csv(tmp_path / "d.csv", DOMAIN, discretizations=[Discretization("c", (0, 1))])


# -- unreadable ------------------------------------------------------------------------------------
GOOD = b"x,u\n" * MANY
MALFORMED = {
    "empty": (b"", "the first line is empty"),
    "line ends only": (b"\n\n\n", "the first line is empty"),
    "white space only": (b"   \n", "the first line is empty"),
    "header only": (b"a,b\n", "no records"),
    "header only, no line end": (b"a,b", "no records"),
    "header and blank lines": (b"a,b\n\n\n", "no records"),
    "no header": (b"x,u\ny,z\n", r"no column 'a' in the header \(x, u\)"),
    "column missing": (b"a,c\nx,u\n", r"no column 'b' in the header \(a, c\)"),
    "header in capitals": (b"A,B\nx,u\n", "no column 'a'"),
    "column twice": (b"a,b,a\nx,u,x\n", r"more than one column 'a' in the header \(a, b, a\)"),
    "wrong delimiter": (b"a;b\nx;u\n", r"no column 'a' in the header \(a;b\)"),
    "short row": (b"a,b\nx,u\nx\n", r"record 2: Expected 2 columns, got 1: x; mend that row"),
    "long row": (b"a,b\nx,u,z\n", r"record 1: Expected 2 columns, got 3: x,u,z"),
    "white space row": (b"a,b\nx,u\n  \n", r"record 2: Expected 2 columns, got 1"),
    "delimiter changes": (b"a,b\nx,u\nx;u\n", r"record 2: Expected 2 columns, got 1: x;u"),
    "late short row": (b"a,b\n" + GOOD + b"x\n", rf"record {MANY + 1}: Expected 2 columns, got 1"),
    "late short row after blank lines": (
        b"a,b\n\n" + GOOD + b"\n\ny\n",
        rf"record {MANY + 1}: Expected 2 columns, got 1: y",
    ),
    "last row cut": (b"a,b\n" + GOOD + b"y", rf"record {MANY + 1}: Expected 2 columns, got 1: y"),
    "missing value": (b"a,b\nx,u\n,u\n", r"record 2, column 'a' has a missing value"),
    "missing quoted value": (b'a,b\nx,""\n', r"record 1, column 'b' has a missing value"),
    "white space for a value": (b"a,b\nx,  \n", r"record 1, column 'b' has a missing value"),
    "late missing value": (
        b"a,b\n" + GOOD + b"x,\n" + GOOD,
        rf"record {MANY + 1}, column 'b' has a missing value",
    ),
    "NA": (b"a,b\nx,NA\n", r"column 'b' has the unknown category 'NA'; recode it, or list it"),
    "question mark": (b"a,b\nx,?\n", r"the unknown category '\?'.*\(now: u, v, w, z\)"),
    "other case": (b"a,b\nX,u\n", r"record 1, column 'a' has the unknown category 'X'"),
    "number": (b"a,b\n1,u\n", r"record 1, column 'a' has the unknown category '1'"),
    "late unknown category": (
        b"a,b\n" + GOOD + b"x,\xc3\xa9\n" + GOOD,
        rf"record {MANY + 1}, column 'b' has the unknown category 'é'",
    ),
    "header again": (b"a,b\n" + GOOD + b"a,b\n", rf"record {MANY + 1}, column 'a' has the unknown"),
    "quote before a blank": (b'a,b\nx, "u"\n', "unknown category '\"u\"'"),
    "open quote": (b'a,b\n"x,u\nx,u\n', "record 1: "),
    "Latin-1 header": (b"\xe4,b\nx,u\n", "the first line is no UTF-8 text; convert"),
    "Latin-1 value": (b"a,b\nx,u\nx,\xe4\n", r"record 2, column 'b': invalid UTF8 data; mend"),
    "late Latin-1 value": (
        b"b,a\n" + b"u,x\n" * MANY + b"u,\xe4\n",
        rf"record {MANY + 1}, column 'a': invalid UTF8 data",
    ),
    "UTF-16": ("a,b\nx,u\n".encode("utf-16"), "no UTF-8 text"),
    "zeros": (bytes(1000), r"no column 'a' in the header \(\\x00\\x00.* \.\.\.\)"),
    "image": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "no UTF-8 text"),
    "zip": (b"PK\x03\x04" + bytes(200), r"in the header \(PK\\x03\\x04\\x00"),
    "gzip": (b"\x1f\x8b\x08\x00" + bytes(range(200)), "no UTF-8 text"),
    "one endless line": (b"a,b," + b"x" * (2 << 20), "no CSV .*limit"),
    "thousands of columns": (b"c,b" * 9000 + b"\nx\n", r"no column 'a' in the header .* \.\.\.\)"),
    "one endless value": (
        b"a,b\nx,u\nx," + b"q" * 9000 + b"\n",
        r"record has over 1,024 bytes: .* quotation mark",
    ),
    "open quote far from the end": (
        b"a,b\n" + GOOD + b'x,"u\n' + GOOD,
        r"record has over 1,024 bytes: likely a quotation mark is left open",
    ),
    "one long value": (b"a,b\nx," + b"q" * 1000 + b"\n", r"unknown category 'q+ \.\.\.'"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_files_give_one_clear_message(tmp_path, monkeypatch, name):
    monkeypatch.setattr(arrow, "BLOCK_BYTES", 1 << 10)
    content, message = MALFORMED[name]
    file = tmp_path / "file.csv"
    file.write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        read_csv(file, DOMAIN)
    text = str(caught.value)
    assert text.startswith(f"{file}: ")
    assert text.isprintable()
    assert len(text) < 1500
    assert ";" in text  # the remedy
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    assert entries(tmp_path) == ["file.csv"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"column_positions": [0, 2]},
            r"first line has 2 columns, but column 2 \(from 0\) is want",
        ),
        ({"column_positions": [-1, 0]}, r"but column -1 \(from 0\) is wanted"),
        ({"column_positions": [0]}, "2 attributes, but 1 column positions"),
        ({"column_positions": []}, "2 attributes, but 0 column positions"),
        ({"column_positions": [0, 1, 1]}, "2 attributes, but 3 column positions"),
        ({"column_positions": [0, 1], "delimiter": ";"}, "the first line has 1 columns"),
        ({"delimiter": ""}, "the delimiter is ''; it must be one ASCII character"),
        ({"delimiter": "||"}, r"the delimiter is '\|\|'; it must be"),
        ({"delimiter": "·"}, "the delimiter is '·'; it must be"),
        ({"delimiter": "\n"}, r"the delimiter is '\\n'; it must be"),
        ({"delimiter": '"'}, "the delimiter is '\"'; it must be"),
    ],
)
def test_options_that_do_not_fit(tmp_path, options, message):
    with pytest.raises(DataError, match=message):
        read(tmp_path, b"x,u\ny,z\n", **options)


def test_rows_are_counted_from_the_first_without_a_header(tmp_path):
    with pytest.raises(DataError, match="record 2: Expected 2 columns, got 1: y"):
        read(tmp_path, b"x,u\ny\n", column_positions=[0, 1])
    with pytest.raises(DataError, match="record 1, column 'b' has the unknown category 'x'"):
        read(tmp_path, b"x,x\n", column_positions=[0, 1])
    with pytest.raises(DataError, match="record 2, column 'column 1': invalid UTF8"):
        read(tmp_path, b"x,u\nx,\xe4\n", column_positions=[0, 1])


@pytest.mark.parametrize("reader", [lambda f: read_csv(f, DOMAIN), read_parquet], ids=["csv", "pq"])
def test_absent_files_and_directories(tmp_path, reader):
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    for path in ("absent.csv", "folder.csv", "absent/deep.csv", "loop", "n" * 300):
        with pytest.raises(DataError) as caught:
            reader(tmp_path / path)
        assert str(caught.value).startswith(f"{tmp_path / path}: ")
        assert "\n" not in str(caught.value)


def with_metadata(text: bytes | None) -> pa.Table:
    table = pa.table({"a": ["x"], "b": ["u"]})
    return table.replace_schema_metadata({} if text is None else {b"deniable": text})


ATTRIBUTE = b'{"name": "%s", "scale": "nominal", "categories": ["x"]}'


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        (None, "no domain in its metadata, .* read_csv"),
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
        read_parquet(file)
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
    with pytest.raises(DataError, match=r"not readable as Parquet .*; make it again") as caught:
        read_parquet(file)
    assert "\n" not in str(caught.value)


# -- whole or absent -------------------------------------------------------------------------------

WRITERS = pytest.mark.parametrize("writer", ["write_csv", "write_parquet"])


@WRITERS
@pytest.mark.parametrize("before", [None, b"the old file"], ids=["absent", "present"])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()])
def test_a_failed_write_leaves_what_was(tmp_path, monkeypatch, writer, before, error):
    import pyarrow.csv as arrow_csv  # noqa: PLC0415

    def half(table: pa.Table, path: Path, **options: object) -> None:
        Path(path).write_bytes(b"half of it")
        raise error

    monkeypatch.setattr(pq, "write_table", half)
    monkeypatch.setattr(arrow_csv, "write_csv", half)
    target = tmp_path / "d"
    if before is not None:
        target.write_bytes(before)
    with pytest.raises(type(error)):
        getattr(some_data(), writer)(target)
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
        failures = 0
        for write in (data.write_csv, data.write_parquet):
            try:
                write(sys.argv[1] + "/d")
            except OSError:
                failures += 1
        print(failures)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "2"
    assert entries(tmp_path) == []


@WRITERS
def test_writers_replace_whole_files(tmp_path, writer):
    target = tmp_path / "d"
    for records in (5000, 10):
        getattr(some_data(records), writer)(target)
    reader = read_parquet if writer == "write_parquet" else lambda f: read_csv(f, DOMAIN)
    assert_same(reader(target), some_data(10))
    assert entries(tmp_path) == ["d"]


def test_a_failed_record_makes_no_data_error_of_another_kind():
    # The family that the command line prints without a traceback.
    assert issubclass(DataError, DeniableError)
    assert issubclass(DeniableError, ValueError)
