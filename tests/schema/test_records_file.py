"""Records read by their schema: nothing is guessed, nothing vanishes, every fault is told."""

import codecs
import mmap
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniable.errors import DataError
from deniable.schema import Column, Missing, RecordsFile, Schema, ValidationErrors, open_source

CSV = {"kind": "csv", "delimiter": ",", "encoding": "utf-8"}
AGE = Column(name="age", kind="numeric", bounds=[0, 10], step=2)
SEX = Column(name="sex", kind="categorical", categories=["F", "M"])


def schema_of(*columns: Column, file: dict[str, str] | None = None) -> Schema:
    form = file or ({"kind": "arrow"} if any(c.type for c in columns) else CSV)
    return Schema.model_validate(
        {"population": "survey", "file": form, "columns": [c.model_dump() for c in columns]}
    )


def categorical(name: str, *categories: str, **more: Any) -> Column:
    return Column(name=name, kind="categorical", categories=list(categories), **more)


def test_an_index_outside_its_dictionary_is_refused(tmp_path: Path) -> None:
    indices = pa.array([0, 1, 7], pa.int8())
    damaged = pa.DictionaryArray.from_arrays(indices, pa.array(["a", "b"]), safe=False)
    table, file = pa.table({"x": damaged}), tmp_path / "damaged.arrow"
    with pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    schema = schema_of(categorical("x", "a", "b"), file={"kind": "arrow"})
    for source in (table, file):
        with pytest.raises(DataError, match="column 'x' has an index outside its dictionary"):
            codes(source, schema, "x")


def left_out(name: str) -> Column:
    return Column(name=name, kind="left_out")


def codes(source: Any, schema: Schema, name: str, rows: int = 1 << 18) -> list[int]:
    portions = RecordsFile.open(source, schema).portions(rows)
    return [code for portion in portions for code in portion.codes[name].tolist()]


@pytest.fixture
def csv(tmp_path: Path) -> Any:
    def write(content: str | bytes) -> Path:
        path = tmp_path / "survey.csv"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def fault(source: Any, *columns: Column, **more: Any) -> str:
    with pytest.raises(DataError) as error:
        RecordsFile.open(source, schema_of(*columns, **more)).check()
    return str(error.value)


# -- a CSV file is text, and the schema types it ---------------------------------------------------


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["01234", "1234"], [0, 1]),
        (["12345678901234567890123", "12345678901234567890124"], [0, 1]),
        (["2020-01-02", "2020-1-2"], [0, 1]),
        (["NA", "null"], [0, 1]),
        (["F", "F "], [0, 1]),
        (["\u00e9", "e\u0301"], [0, 1]),
        (["true", "True"], [0, 1]),
        (["1", "1.0"], [0, 1]),
    ],
)
def test_texts_that_differ_stay_apart(csv: Any, values: list[str], expected: list[int]) -> None:
    path = csv("a,b\n" + "".join(f"{value},x\n" for value in values))
    schema = schema_of(categorical("a", *values), left_out("b"))
    assert codes(path, schema, "a") == expected


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
def test_encodings_are_those_that_the_schema_says(csv: Any, encoding: str) -> None:
    path = csv("größe,b\nä,1\nü,2\n".encode(encoding))
    told = "utf-8" if encoding == "utf-8-sig" else encoding  # with a mark or without
    schema = schema_of(categorical("größe", "ä", "ü"), left_out("b"), file=CSV | {"encoding": told})
    assert codes(path, schema, "größe") == [0, 1]


def test_quoted_line_breaks_and_delimiters_belong_to_values(csv: Any) -> None:
    path = csv('sex,note\r\nF,"a\nb, ""c"""\r\nM,x\r\n')
    note = Column(name="note", kind="identifier")
    (portion,) = RecordsFile.open(path, schema_of(SEX, note)).portions()
    assert portion.passed["note"].to_pylist() == ['a\nb, "c"', "x"]
    assert portion.codes["sex"].tolist() == [0, 1]


def test_a_blank_line_is_no_record_but_in_a_file_of_one_column(csv: Any) -> None:
    own = categorical("sex", "F", "M", missing=Missing(policy="category"))
    assert codes(csv("sex\nF\n\nM\n"), schema_of(own), "sex") == [0, 2, 1]
    assert codes(csv("sex,b\nF,1\n\nM,2\n\n"), schema_of(SEX, left_out("b")), "sex") == [0, 1]


# -- numbers and missing values --------------------------------------------------------------------


def test_numbers_go_to_the_nearest_point_or_the_nearer_end(csv: Any) -> None:
    path = csv("age,b\n0,x\n 2.9,x\n3.1,x\n-7,x\n+99,x\n1e1,x\n.5,x\n")
    assert codes(path, schema_of(AGE, left_out("b")), "age") == [0, 1, 2, 0, 5, 5, 0]


@pytest.mark.parametrize("typed", [pa.int64(), pa.float64(), pa.decimal128(9, 1), pa.uint8()])
def test_numbers_of_any_type_are_coded_alike(typed: pa.DataType) -> None:
    table = pa.table({"age": pa.array([0, 3, 90, 10], pa.int8()).cast(typed)})
    own = Column(name="age", kind="numeric", bounds=[0, 10], step=2, type=str(typed))
    assert codes(table, schema_of(own), "age") == [0, 2, 5, 5]


@pytest.mark.parametrize("text", ["1e999", "nan", "0x10", "1,5", "five", "9" * 5000])
def test_what_is_no_finite_number_is_refused(csv: Any, text: str) -> None:
    told = fault(csv(f'age,b\n1,x\n"{text}",x\n'), AGE, left_out("b"))
    assert "record 2, column 'age' has " in told
    assert "not a number" in told
    assert len(told) < 400


@pytest.mark.parametrize(
    ("policy", "expected"), [("category", [0, 2, 2, 1]), ("drop", [0, 1]), ("refuse", None)]
)
def test_missing_values_by_policy(csv: Any, policy: Any, expected: list[int] | None) -> None:
    path = csv("sex,id\nF,1\nNA,2\n,3\nM,4\n")
    missing = Missing(values=["", "NA"], policy=policy)
    own, number = (
        categorical("sex", "F", "M", missing=missing),
        Column(name="id", kind="identifier"),
    )
    if expected is None:
        told = fault(path, own, number)
        assert "record 2, column 'sex' has a missing value" in told
        assert "(2 records have it)" in told
        return
    file = RecordsFile.open(path, schema_of(own, number))
    portions = list(file.portions(rows=1))
    assert [int(each.codes["sex"][0]) for each in portions] == expected
    assert [each.first for each in portions] == list(range(len(expected)))
    assert file.records == len(expected)
    kept = ["1", "4"] if policy == "drop" else ["1", "2", "3", "4"]
    assert [each.passed["id"][0].as_py() for each in portions] == kept


def test_a_record_with_a_missing_value_in_any_column_is_left_out(csv: Any) -> None:
    path = csv("sex,work,age,id\nF,a,1,1\n,a,1,2\nF,,1,3\nM,b,,4\n,,,5\nM,b,2,6\n")
    drop = Missing(policy="drop")
    columns = [
        categorical("sex", "F", "M", missing=drop),
        categorical("work", "a", "b", missing=drop),
        Column(name="age", kind="numeric", bounds=[0, 9], missing=drop),
        Column(name="id", kind="identifier"),
    ]
    file = RecordsFile.open(path, schema_of(*columns))
    (kept,) = file.portions()
    assert kept.passed["id"].to_pylist() == ["1", "6"]
    assert [kept.codes[name].tolist() for name in ("sex", "work")] == [[0, 1], [0, 1]]
    assert kept.numbers["age"].tolist() == [1.0, 2.0]
    assert (file.records, file.left_out) == (2, 4)


def test_null_and_nan_are_missing_in_typed_columns() -> None:
    table = pa.table({"a": [1.0, None, float("nan"), 2.5]})
    own = categorical("a", "1", "2.5", type="double", missing=Missing(policy="category"))
    assert codes(table, schema_of(own), "a") == [0, 2, 2, 1]
    grid = Column(
        name="a", kind="numeric", bounds=[0, 5], step=2.5, type="double", missing=own.missing
    )
    assert codes(table, schema_of(grid), "a") == [0, 3, 3, 1]
    assert "'inf', which is not a number" in fault(pa.table({"a": [1.0, float("inf")]}), grid)


@pytest.mark.parametrize("null", [False, True])
@pytest.mark.parametrize("index", [pa.uint8(), pa.int16(), pa.uint64()])
def test_a_dictionary_may_use_all_its_indices(index: pa.DataType, null: bool) -> None:
    texts = [f"c{number}" for number in range(256)]
    places = pa.array([*range(256), *([None] if null else [])], index)
    table = pa.table({"a": pa.DictionaryArray.from_arrays(places, texts)})
    own = categorical("a", *texts, missing=Missing(policy="category"))
    assert codes(table, schema_of(own), "a") == [*range(257 if null else 256)]


# -- faults ----------------------------------------------------------------------------------------


def test_all_faults_come_in_one_message_with_their_records(csv: Any) -> None:
    path = csv("sex,age\nF,1\nX,2\nX,oh\nF\nF ,3\nM,4,5\nX,6\n")
    lines = fault(path, SEX, AGE).split("\n  ")
    assert [line.removeprefix(f"{path}: ").split("; ")[0] for line in lines] == [
        "record 4 ('F') has 1 value instead of 2",
        "record 6 ('M,4,5') has 3 values instead of 2",
        "record 2, column 'sex' has 'X', which is not a category",
        "record 5, column 'sex' has 'F ', which is the category 'F' except for spaces, capitals or "
        "forms of accents",
        "record 3, column 'age' has 'oh', which is not a number",
    ]
    assert "(3 records have it)" in lines[2]


def test_after_ten_faults_the_others_are_counted(csv: Any) -> None:
    told = fault(csv("sex,b\n" + "".join(f"x{i},1\n" for i in range(25))), SEX, left_out("b"))
    assert told.count("not a category") == 10
    assert told.endswith("and 15 more errors")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('sex,b\nF,1\nM,"2\nF,3\nF,4\n', "line 3: a quotation mark is left open"),
        ('sex,b\nF,1\nM,"2\nF,3\nF,"4\n', "a quotation mark is left open"),
        ('sex,b\n"F,1\nM,2\n', "a quotation mark is left open"),
        ("sex,b\nF,1\nM,a\0\n", "line 3 has the character NUL"),
        (b"sex,b\nF,1\nM,\xff\n", "not text in the encoding utf-8"),
        ("sex;b\nF;1\n", "likely ';'"),
        ("sex,sex\nF,1\n", "columns 1 and 2 are both called 'sex'"),
        ("sex,\nF,1\n", "column 2 has no name"),
        ("sex,a\x1b[2J\nF,1\n", "'a\\x1b[2J': its name has a control character"),
        ('sex,"a\nb"\nF,1\n', "line 1 is not a header"),
        (f"sex,{'a' * 256}\nF,1\n", "its name has over 255 bytes"),
        ("sex,b\n", "no records"),
        ("sex,b", "no records"),
        ("", "no text in the file"),
        ("\n\nsex,b\n", "line 1 is empty"),
        (b"\x1f\x8b\x08", "gzip"),
        (b"PK\x03\x04", "spreadsheet"),
        ("sex,c\nF,1\n", "no column 'b', which the schema has"),
        ("sex,b,c\nF,1,2\n", "columns 'c' are not in the schema"),
        (
            codecs.BOM_UTF16_LE + "sex,b\nF,1\n".encode("utf-16-le"),
            "not text in the encoding utf-8",
        ),
    ],
)
def test_a_file_that_is_not_as_the_schema_says(csv: Any, content: Any, words: str) -> None:
    told = fault(csv(content), SEX, left_out("b"))
    assert words in told
    assert "survey.csv: " in told
    assert told.isprintable() or told.replace("\n  ", "").isprintable()


def test_stray_quotation_marks_inside_values_are_text(csv: Any) -> None:
    path = csv('a,b\n5" pipe,1\nx,2\n')
    assert codes(path, schema_of(categorical("a", '5" pipe', "x"), left_out("b")), "a") == [0, 1]


def test_a_record_longer_than_a_block_is_told(csv: Any) -> None:
    told = fault(csv('sex,b\nF,1\nM,"' + "x" * 9_000_000 + "\nM,2\n"), SEX, left_out("b"))
    assert "quotation mark is left open" in told


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (["1", "-2"], "'-2', which is not a weight"),
        (["", "1"], "a missing value"),
        (["a", "1"], "'a'"),
    ],
)
def test_weights_are_numbers_from_zero_on(csv: Any, weights: list[str], words: str) -> None:
    path = csv("sex,w\n" + "".join(f"F,{each}\n" for each in weights))
    weight = Column(name="w", kind="weight")
    assert words in fault(path, SEX, weight)
    records = RecordsFile.open(path, schema_of(SEX, weight), passed=[])
    assert records.records == 2  # nobody asks for the weights


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (pa.array([[1], [2]]), "has list<item: int64>, several values per record"),
        (pa.array([{"a": 1}]), "several values per record"),
        (pa.array([b"a"]), "has binary, which cannot be randomized"),
        (pa.array([1, 2]), "has int64, but the schema declares text; write type: int64"),
    ],
)
def test_types_that_the_schema_does_not_say(values: pa.Array, words: str) -> None:
    assert words in fault(pa.table({"sex": values}), SEX)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"categories": ["F", "a\nb"]}, "has a control character"),
        ({"categories": ["F", "a" * 256]}, "has over 255 bytes"),
        ({"categories": ["F", ""]}, "is a category and a missing value"),
        ({"categories": ["1", "1.0"], "type": "double"}, "two are the same double"),
        ({"categories": ["1", "x"], "type": "int64"}, "'x'"),
        ({"type": "list<item: int64>"}, "type 'list<item: int64>'"),
    ],
)
def test_columns_that_cannot_be(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words.replace("[", r"\[")):
        Column.model_validate(SEX.model_dump() | change)


def test_a_grid_of_a_type_has_points_of_this_type() -> None:
    with pytest.raises(ValueError, match=r"the point '0\.5' of 'age'; allowed: values of int64"):
        Column(name="age", kind="numeric", bounds=[0, 2], step=0.5, type="int64")


# -- Parquet, Arrow, tables ------------------------------------------------------------------------

TABLE = pa.table({"sex": ["F", "M", "M", "F", "M"], "age": [1, 2, 3, 9, 5], "id": list("abcde")})
COLUMNS: Sequence[Column] = (
    SEX,
    Column(name="age", kind="numeric", bounds=[0, 10], step=1, type="int64"),
    Column(name="id", kind="identifier"),
)


def read(source: Any, kind: str, rows: int = 2) -> dict[str, list[Any]]:
    file = RecordsFile.open(source, schema_of(*COLUMNS, file={"kind": kind}))
    portions = list(file.portions(rows))
    assert max(map(len, portions)) <= rows
    assert [p.first for p in portions] == np.cumsum([0, *map(len, portions[:-1])]).tolist()
    assert file.records == sum(map(len, portions))
    found = {name: [c for p in portions for c in p.codes[name].tolist()] for name in ("sex", "age")}
    return found | {"id": [each for p in portions for each in p.passed["id"].to_pylist()]}


EXPECTED = {"sex": [0, 1, 1, 0, 1], "age": [1, 2, 3, 9, 5], "id": list("abcde")}


@pytest.mark.parametrize("group", [1, 2, 3, 5])
@pytest.mark.parametrize("encoded", [False, True])
def test_parquet_in_portions(tmp_path: Path, group: int, encoded: bool) -> None:
    path = tmp_path / "survey.parquet"
    table = TABLE
    if encoded:
        table = table.set_column(0, "sex", table["sex"].dictionary_encode())
    pq.write_table(table, path, row_group_size=group)
    assert read(path, "parquet") == EXPECTED


def test_a_folder_of_parquet_in_the_order_of_names(tmp_path: Path) -> None:
    pq.write_table(TABLE.slice(2), tmp_path / "b.parquet")
    pq.write_table(TABLE.slice(0, 2), tmp_path / "a.parquet")
    (tmp_path / "_SUCCESS").write_text("")
    assert read(tmp_path, "parquet") == EXPECTED
    pq.write_table(TABLE.drop_columns(["id"]), tmp_path / "c.parquet")
    told = fault(tmp_path, *COLUMNS, file={"kind": "parquet"})
    assert "c.parquet: other columns or types than in a.parquet ('id')" in told
    (tmp_path / "c.parquet").rename(tmp_path / "c.txt")
    assert "c.txt is not a Parquet file" in fault(tmp_path, *COLUMNS, file={"kind": "parquet"})


def test_faults_of_a_folder_name_file_and_record(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "a.parquet")
    pq.write_table(
        pa.table({"sex": ["F", "Y"], "age": [1, 2], "id": ["a", "b"]}), tmp_path / "b.pq"
    )
    told = fault(tmp_path, *COLUMNS, file={"kind": "parquet"})
    assert told.startswith(f"{tmp_path / 'b.pq'}: record 2, column 'sex' has 'Y'")


@pytest.mark.parametrize("stream", [False, True])
def test_arrow_files_and_streams(tmp_path: Path, stream: bool) -> None:
    path = tmp_path / "survey.arrow"
    opened = pa.ipc.new_stream if stream else pa.ipc.new_file
    with opened(str(path), TABLE.schema) as writer:
        writer.write_table(TABLE, max_chunksize=3)
    assert read(path, "arrow") == EXPECTED


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("encoded", [False, True])
def test_faults_in_any_batch_have_their_record_in_the_file(
    tmp_path: Path, stream: bool, encoded: bool
) -> None:
    path = tmp_path / "survey.arrow"
    sex = pa.array(["F", "F", "M", "F", "X", "M", None, "F"])
    weights = pa.array([1.0, 1, 1, 1, 1, 1, 1, -1])
    table = pa.table({"sex": sex.dictionary_encode() if encoded else sex, "weight": weights})
    opened = pa.ipc.new_stream if stream else pa.ipc.new_file
    with opened(str(path), table.schema) as writer:
        writer.write_table(table, max_chunksize=3)
    weight = Column(name="weight", kind="weight", type="double")
    file = RecordsFile.open(path, schema_of(SEX, weight, file={"kind": "arrow"}))
    for rows in (1, 2, 100):
        with pytest.raises(DataError) as error:
            list(file.portions(rows))
        found = re.findall(r"record (\d+), column '(\w+)' has '?(-?\w+)", str(error.value))
        assert sorted(found) == [("5", "sex", "X"), ("7", "sex", "a"), ("8", "weight", "-1")]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("compression", [None, "lz4"])
def test_a_batch_of_arrow_is_let_go_portion_by_portion(
    tmp_path: Path, stream: bool, compression: str | None
) -> None:
    """Its values stay what they are; its memory does not count once a portion was read."""
    number, rows = 1 << 20, 1 << 16
    table = pa.table({"left": np.arange(number), "id": np.arange(number) + 7})
    table = table.append_column("sex", pa.array(["F", "M"] * (number // 2)).dictionary_encode())
    path, opened = tmp_path / "survey.arrow", pa.ipc.new_stream if stream else pa.ipc.new_file
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with opened(str(path), table.schema, options=options) as writer:
        writer.write_batch(table.combine_chunks().to_batches()[0])
    before = pa.total_allocated_bytes()
    found, taken = [], []
    for piece in open_source(path).pieces(["sex"], ["id"], ValidationErrors(), rows):
        found.append(piece.batch.column("id"))
        taken.append(pa.total_allocated_bytes() - before)
    assert pa.chunked_array(found).to_numpy().tolist() == list(range(7, number + 7))
    if not compression:
        assert max(taken) < 8 * rows


STATM = Path("/proc/self/statm")


@pytest.mark.skipif(not STATM.exists(), reason="the system does not report resident memory")
@pytest.mark.parametrize("stream", [False, True])
def test_resident_memory_does_not_grow_with_an_arrow_file(tmp_path: Path, stream: bool) -> None:
    number, rows = 1 << 23, 1 << 17  # a file of 64 MiB in portions of 1 MiB
    table = pa.table({"id": np.arange(number)})
    path, opened = tmp_path / "survey.arrow", pa.ipc.new_stream if stream else pa.ipc.new_file
    with opened(str(path), table.schema) as writer:
        writer.write_table(table, max_chunksize=number)
    resident, total = [], 0
    for piece in open_source(path).pieces([], ["id"], ValidationErrors(), rows):
        total += int(piece.batch.column("id").to_numpy().sum())
        resident.append(int(STATM.read_text().split()[1]) * mmap.PAGESIZE)
    assert total == number * (number - 1) // 2
    assert max(resident) - resident[0] < path.stat().st_size / 4


@pytest.mark.parametrize("magic", [b"PAR1", b"ARROW1\0\0"])
def test_damaged_files_are_told(tmp_path: Path, magic: bytes) -> None:
    path = tmp_path / "survey.bin"
    path.write_bytes(magic + b"x" * 100)
    kind = "parquet" if magic == b"PAR1" else "arrow"
    assert f"{path}: not readable as" in fault(path, *COLUMNS, file={"kind": kind})


class Polars:
    """Has the methods by which Polars gives its tables."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def to_arrow(self) -> pa.Table:
        return self._table


class Streaming(Polars):
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)


VIEWS = TABLE.cast(
    pa.schema([("sex", pa.large_string()), ("age", pa.int64()), ("id", pa.large_string())])
)


@pytest.mark.parametrize(
    "table",
    [
        TABLE,
        TABLE.to_pandas(),
        TABLE.to_pandas().astype({"sex": "category"}),
        TABLE.to_pandas().set_index(pd.Index([9, 8, 7, 6, 5])),
        Polars(VIEWS),
        Streaming(VIEWS),
        Polars(VIEWS.set_column(0, "sex", VIEWS["sex"].cast(pa.string_view()))),
    ],
    ids=["pyarrow", "pandas", "pandas-category", "pandas-index", "polars", "stream", "view"],
)
def test_tables_in_memory(table: Any) -> None:
    assert read(table, "arrow") == EXPECTED


def test_pandas_takes_no_words_for_missing_values() -> None:
    frame = pd.DataFrame({"a": ["NA", None, "x"]})
    own = categorical("a", "NA", "x", missing=Missing(policy="category"))
    assert codes(frame, schema_of(own), "a") == [0, 2, 1]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (pd.DataFrame({"sex": ["F", 1]}), "values of several kinds"),
        (pd.DataFrame({"sex": [2**70]}), "values of several kinds (Python int too large"),
        (pd.DataFrame([["F", "M"]], columns=["sex", "sex"]), "both called 'sex'"),
        (pd.Series(["F"]), "not a table"),
        (3, "int: not records"),
    ],
)
def test_what_is_no_table(table: Any, words: str) -> None:
    assert words in fault(table, SEX)
