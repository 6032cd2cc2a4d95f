"""Published CSV files of categories and intervals: odd but readable ones, and unreadable ones."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.datasets.colours import changed, write_manifest

from deniable.datasets.manifest import load_manifest
from deniable.datasets.published import read_published
from deniable.errors import DataError
from deniable.records import Attribute, Domain, Microdata
from deniable.schema.formats import csv_text

MANY = 3000  # rows before the fault, in blocks of 1 kB: the 15th block or so
A: dict[str, Any] = {"name": "a", "categories": ["x", "y"]}
B: dict[str, Any] = {"name": "b", "categories": ["u", "v, w", "z"], "scale": "ordinal"}
HOURS: dict[str, Any] = {"name": "b", "edges": [1, 35, 40.5], "open_above": True}


def read(
    file: Path,
    second: dict[str, Any] = B,
    positions: tuple[int, int] | None = None,
    records: int = 2,
    delimiter: str = ",",
) -> list[list[int]]:
    """Return the codes of `records` records of a and b, at `positions` if there is no header."""
    attributes = [dict(A), dict(second)]
    for each, position in zip(attributes, positions or (), strict=False):
        each["position"] = position
    about = {"header": positions is None, "delimiter": delimiter, "records": records}
    entry = changed(attributes=attributes, **about)
    dataset = load_manifest(write_manifest(file.parent, entry))["colours"]
    return [column.tolist() for column in read_published(dataset, file).columns]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "file.csv"


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
def test_readable_all_the_same(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    assert read(file) == [[0, 1], [0, 1]]


@pytest.mark.parametrize(
    ("content", "positions", "expected"),
    [
        (b"u,0,x\nz,0,y\n", (2, 0), [[0, 1], [0, 2]]),
        (b'"v, w",x\nu,y\n', (1, 0), [[0, 1], [1, 0]]),
        (b"\xef\xbb\xbfx, u\ny, z\n\n", (0, 1), [[0, 1], [0, 2]]),
    ],
)
def test_without_a_header(
    file: Path, content: bytes, positions: tuple[int, int], expected: list[list[int]]
) -> None:
    file.write_bytes(content)
    assert read(file, positions=positions) == expected


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_other_delimiters(file: Path, delimiter: str) -> None:
    file.write_text(f"a{delimiter}b\nx{delimiter}v, w\n")
    assert read(file, records=1, delimiter=delimiter) == [[0], [1]]


def test_many_blocks_are_one_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_text, "BLOCK_BYTES", 1 << 10)
    odd = {"name": "b", "categories": ["long" * 20, 'two\n"lines"', "s"]}
    domain = Domain((Attribute("a", ("x", "y")), Attribute("b", tuple(odd["categories"]))))
    rng = np.random.default_rng(1)
    data = Microdata(domain, tuple(rng.integers(0, size, 5000) for size in domain.shape))
    data.to_frame().to_csv(file, index=False)
    assert file.stat().st_size > 100 << 10
    assert read(file, odd, records=5000) == [column.tolist() for column in data.columns]


def test_numbers_are_read_into_their_intervals(file: Path) -> None:
    file.write_bytes(b'b,a\n 34.999 ,x\n"35",y\n+4.05e1,x\n.1E1,x\n0040.,y\n')
    assert read(file, HOURS, records=5) == [[0, 1, 0, 0, 1], [0, 1, 2, 0, 1]]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("", "has a missing value; give a number, or leave"),
        ("  ", "has a missing value"),
        ("?", r"has '\?', which is not a number; give a number, or leave the record out"),
        *(
            (text, "has .*, which is not a number")
            for text in ("1_0", "0x10", "3,5", "--3", "1e", ".")
        ),
        *(
            (text, "has .*, which is not a number")
            for text in ("٣", "nan", "inf", "-Infinity", "4 0")
        ),
        ("0.5", r"has the value 0.5, outside \[1, inf\); .*set open_below"),
        ("-3", "has the value -3, outside"),
        ("1e999", "has '1e999', which is too large a number"),
    ],
)
def test_what_is_no_number_of_an_interval(
    file: Path, monkeypatch: pytest.MonkeyPatch, value: str, message: str
) -> None:
    monkeypatch.setattr(csv_text, "BLOCK_BYTES", 1 << 10)
    rows = "x;40\n" * MANY
    file.write_text(f"a;b\n{rows}x;{value}\n{rows}", encoding="utf-8")
    with pytest.raises(DataError, match=message) as caught:
        read(file, HOURS, delimiter=";")
    assert str(caught.value).startswith(f"{file}: ")
    assert f"record {MANY + 1}" in str(caught.value)
    assert "\n" not in str(caught.value)


# -- unreadable ------------------------------------------------------------------------------------
GOOD = b"x,u\n" * MANY
MALFORMED = {
    "empty": (b"", "no text in the file; give"),
    "line ends only": (b"\n\n\n", "no text in the file; give"),
    "white space only": (b"   \n", "no text in the file; give"),
    "header only": (b"a,b\n", "no records"),
    "header only, no line end": (b"a,b", "no records"),
    "header and blank lines": (b"a,b\n\n\n", "no records"),
    "no header": (b"x,u\ny,z\n", r"no column 'a' in the header \(x, u\)"),
    "column missing": (b"a,c\nx,u\n", r"no column 'b' in the header \(a, c\)"),
    "header in capitals": (b"A,B\nx,u\n", "no column 'a'"),
    "column twice": (b"a,b,a\nx,u,x\n", r"more than one column 'a' in the header \(a, b, a\)"),
    "wrong delimiter": (
        b"a;b\nx;u\n",
        "one column, 'a;b', with the delimiter ','; give .*likely ';'",
    ),
    "short row": (
        b"a,b\nx,u\nx\n",
        r"record 2 \('x'\) has 1 value instead of 2; correct that row",
    ),
    "long row": (b"a,b\nx,u,z\n", r"record 1 \('x,u,z'\) has 3 values instead of 2"),
    "white space row": (b"a,b\nx,u\n  \n", r"record 2 \('  '\) has 1 value instead of 2"),
    "delimiter changes": (b"a,b\nx,u\nx;u\n", r"record 2 \('x;u'\) has 1 value instead of 2"),
    "late short row": (
        b"a,b\n" + GOOD + b"x\n",
        rf"record {MANY + 1:,} \('x'\) has 1 value instead",
    ),
    "late short row after blank lines": (
        b"a,b\n\n" + GOOD + b"\n\ny\n",
        rf"record {MANY + 1:,} \('y'\) has 1 value instead",
    ),
    "last row cut": (b"a,b\n" + GOOD + b"y", rf"record {MANY + 1:,} \('y'\) has 1 value instead"),
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
    "open quote": (b'a,b\n"x,u\nx,u\n', "line 2: a quotation mark is left open"),
    "Latin-1 header": (b"\xe4,b\nx,u\n", "line 1 is not text in the encoding utf-8; give"),
    "Latin-1 value": (
        b"a,b\nx,u\nx,\xe4\n",
        "line 3 is not text in .*; give .* or convert the file to UTF-8",
    ),
    "late Latin-1 value": (
        b"b,a\n" + b"u,x\n" * MANY + b"u,\xe4\n",
        f"line {MANY + 2} is not text in the encoding utf-8",
    ),
    "UTF-16": ("a,b\nx,u\n".encode("utf-16"), "line 1 is not text in the encoding"),
    "zeros": (bytes(1000), r"no column 'a' in the header \(\\x00\\x00.* \.\.\.\)"),
    "image": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "line 1 is not text in the encoding"),
    "zip": (b"PK\x03\x04" + bytes(200), "this is ZIP or a spreadsheet, not CSV; unpack"),
    "gzip": (b"\x1f\x8b\x08\x00" + bytes(range(200)), "this is gzip, not CSV; unpack"),
    "one endless line": (b"a,b," + b"x" * (2 << 20), "no records"),
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
def test_malformed_files_give_one_clear_message(
    file: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(csv_text, "BLOCK_BYTES", 1 << 10)
    content, message = MALFORMED[name]
    file.write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        read(file)
    text = str(caught.value)
    assert text.startswith(f"{file}: ")
    assert text.isprintable()
    assert len(text) < 1500
    assert ";" in text  # the remedy
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_positions_beyond_the_first_line(file: Path) -> None:
    file.write_bytes(b"x,u\ny,z\n")
    with pytest.raises(
        DataError, match=r"first line has 2 columns, but column 2 \(from 0\) is need"
    ):
        read(file, positions=(0, 2))


def test_rows_are_counted_from_the_first_without_a_header(file: Path) -> None:
    file.write_bytes(b"x,u\ny\n")
    with pytest.raises(DataError, match=r"record 2 \('y'\) has 1 value instead of 2"):
        read(file, positions=(0, 1))
    file.write_bytes(b"x,x\n")
    with pytest.raises(DataError, match="record 1, column 'b' has the unknown category 'x'"):
        read(file, positions=(0, 1))


def test_absent_files_and_directories(file: Path) -> None:
    (file.parent / "folder.csv").mkdir()
    (file.parent / "loop").symlink_to("loop")
    for name in ("absent.csv", "folder.csv", "absent/deep.csv", "loop", "n" * 300):
        path = file.parent / name
        dataset = load_manifest(write_manifest(file.parent, changed()))["colours"]
        with pytest.raises(DataError) as caught:
            read_published(dataset, path)
        assert str(caught.value).startswith(f"{path}: ")
        assert "\n" not in str(caught.value)
