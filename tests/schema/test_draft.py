"""Drafts: what columns seem to be, said in a schema that reads back and reads the file."""

import codecs
import datetime
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import yaml
from hypothesis import given, settings, strategies as st

from deniable.cli import main
from deniable.errors import DataError
from deniable.schema import RecordsFile, Schema, draft_schema, drafted, schema_from_dict
from deniable.schema.draft import round_grid
from deniable.schema.evidence import ColumnEvidence
from deniable.schema.types import quoted, quoted_list


def read_back(text: str) -> Schema:
    return schema_from_dict(yaml.safe_load(text))


def kinds(source: Any) -> dict[str, str]:
    return {column.name: column.kind for column in read_back(draft_schema(source)).columns}


ROWS = 400
CHANCE = np.random.default_rng(1)


def test_columns_are_what_they_seem_to_be() -> None:
    numbers = CHANCE.permutation(ROWS)
    table = pa.table(
        {
            "sex": ["F", "M"] * 200,
            "age": numbers % 70 + 20,
            "education": numbers % 8,
            "weight": CHANCE.random(ROWS) + 0.5,
            "person_id": numbers * 7,
            "row": numbers + 1,
            "email": [f"p{i}@x" for i in range(ROWS)],
            "town": [f"town {i % 201}" for i in range(ROWS)],
            "born": [datetime.date(1990, 1, 1 + i % 3) for i in range(ROWS)],
            "member": [True, False] * 200,
            "zip": ["01234", "1234"] * 200,
            "account": [f"12345678901234567890{i // 2:03d}" for i in range(ROWS)],
            "always": ["x"] * ROWS,
            "never": pa.nulls(ROWS, pa.string()),
            "items": [[1]] * ROWS,
            "note": ["a\nb", "c"] * 200,
        }
    )
    schema = read_back(draft_schema(table))
    found = {column.name: column.kind for column in schema.columns}
    assert found == {
        "sex": "categorical",
        "age": "numeric",
        "education": "categorical",
        "weight": "weight",
        "person_id": "identifier",
        "row": "identifier",
        "email": "identifier",
        "town": "left_out",
        "born": "categorical",
        "member": "categorical",
        "zip": "categorical",
        "account": "categorical",
        "always": "left_out",
        "never": "left_out",
        "items": "left_out",
        "note": "left_out",
    }
    assert schema["education"].categories == [str(each) for each in range(8)]
    assert (schema["education"].ordered, schema["sex"].ordered) == (True, False)
    assert (schema["age"].bounds, schema["age"].step) == ([20.0, 90.0], 1.0)
    assert schema["member"].categories == ["false", "true"]
    assert set(schema.drafted) == {each.name for each in schema.randomized}
    assert RecordsFile.open(table, schema).records == ROWS


@pytest.mark.parametrize("delimiter", list(",;\t|"))
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
def test_delimiter_and_encoding_are_found_and_said(
    tmp_path: Path, delimiter: str, encoding: str
) -> None:
    path = tmp_path / "Größe 2.csv"
    lines = [["größe", "preis"], ["groß", "1,5"], ["klein", "2,5"]] * 1
    rows = "\n".join(delimiter.join(f'"{each}"' for each in line) for line in lines) + "\n"
    path.write_bytes(rows.encode(encoding))
    draft = drafted(path)
    schema = read_back(draft.text)
    assert schema.file.delimiter == delimiter
    assert (
        codecs.lookup(str(schema.file.encoding)).name
        == codecs.lookup(encoding.removesuffix("-sig")).name
    )
    assert schema.population is None  # which a file's name does not state
    assert f"delimiter {delimiter!r} (detected), encoding {schema.file.encoding}" in draft.found
    assert RecordsFile.open(path, schema).records == 2


def test_missing_values_and_what_may_mean_them(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    hours = [*map(str, range(60)), "NA", "NA"]
    rows = [f"{each},{['x', 'NA', ''][i % 3]}\n" for i, each in enumerate(hours)]
    path.write_text("hours,kind\n" + "".join(rows))
    draft = drafted(path)
    schema = read_back(draft.text)
    assert schema["hours"].kind == "numeric"
    assert schema["hours"].missing.values == ["", "NA"]
    assert schema["kind"].categories == ["NA", "x"]
    assert schema["kind"].missing.policy == "category"
    assert "'kind': NA is a category; if it means a missing value" in draft.warnings[1]
    assert "2 missing values" in draft.text
    file = RecordsFile.open(path, schema)
    assert [p.codes["hours"][-1] for p in file.portions()] == [schema.domain()["hours"].size - 1]


def test_texts_and_codes_among_few_numbers() -> None:
    table = pa.table({"a": ["10", "9", "-9", "k.A.", "0"] * 4, "b": [-9, -1, 0, 3, 4] * 4})
    draft = drafted(table)
    schema = read_back(draft.text)
    assert schema["a"].categories == ["-9", "0", "9", "10"]
    assert schema["a"].missing.values == ["", "k.A."]
    assert schema["a"].ordered
    assert "column 'a': [k.A.] among the numbers are taken as missing" in draft.warnings[0]
    assert "['-9'] may be a code of missing values" in draft.warnings[1]
    assert "column 'b': ['-1', '-9'] may be a code" in draft.warnings[2]
    assert not drafted(pa.table({"a": [-9, -3, 0, 3] * 4})).warnings


SCORES, AGES = [*range(11)] * 20, [*range(96)] * 3
INCOMES = [each**3 for each in range(20, 60)] * 3


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        (AGES, [999]),
        (AGES, [-9, 99_999]),
        (INCOMES, [9_999_999]),
        (SCORES, [97, 98, 99]),
        (SCORES, [-9, -8]),
        ([1, 2] * 20, [99]),
    ],
)
@pytest.mark.parametrize("form", [str, int, float])
def test_codes_beyond_a_gap_are_drafted_as_missing(
    values: list[int], codes: list[int], form: Any
) -> None:
    table = pa.table({"a": [form(each) for each in [*values, *codes, *codes]]})
    draft = drafted(table)
    column, plain = (read_back(each)["a"] for each in (draft.text, draft_schema(table[:-4])))
    assert column.missing.values[1:] == pa.array(map(form, codes)).cast(pa.string()).to_pylist()
    assert (column.bounds, column.categories) == (plain.bounds, plain.categories)
    (warning,) = draft.warnings
    assert "beyond a gap in the values, which go from" in warning
    assert "    # " + warning.removeprefix("column 'a': ") in draft.text
    assert f"{2 * len(codes)} missing values, drafted as a category" in draft.text
    assert RecordsFile.open(table, read_back(draft.text)).records == len(table)


@pytest.mark.parametrize(
    ("values", "usual", "warned"),
    [
        ([*range(18, 97)] * 3, [97, 99], False),  # ages of old people
        ([*range(51)] * 3, [99], True),  # beyond a gap, not beyond the range
        ([0, 40] * 20, [99], False),  # not beyond 3 times the distance of neighbours
        ([-20, 0, 35] * 9, [-99], False),  # temperatures
        ([5] * 20, [99], False),  # one other value has no distance
        ([0, 1] * 20, [-1], True),
        (INCOMES, [-9], True),
    ],
)
def test_usual_codes_without_a_gap_are_numbers(
    values: list[int], usual: list[int], warned: bool
) -> None:
    draft = drafted(pa.table({"a": values + usual}))
    assert "taken as codes" not in draft.text
    assert ["may be a code of missing values" in each for each in draft.warnings] == [True] * warned


def test_codes_are_found_beyond_the_counted_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deniable.schema.evidence.MAX_COUNTED", 50)
    pieces = pa.chunked_array([np.arange(100) / 7, np.arange(100) / 7 + 10, [999.0] * 9])
    column = read_back(draft_schema(pa.table({"a": pieces})))["a"]
    assert (column.missing.values, column.bounds) == (["", "999"], [0, 25])


def test_words_for_missing_values_between_stray_blanks() -> None:
    words = ["NA", " NA", "n/a ", "  "]
    hours, smokes = [*map(str, range(60)), *words], ["yes", "no ", *words, *["yes"] * 58]
    table = pa.table({"hours": hours, "smokes": smokes, "blank": [" NA", "NA"] * 32})
    draft = drafted(table)
    schema = read_back(draft.text)
    assert schema["hours"].kind == "numeric"
    assert schema["hours"].missing.values[1:] == schema["smokes"].missing.values[1:] == words
    assert schema["smokes"].categories == ["no ", "yes"]
    assert "with stray blanks are taken as missing values" in draft.warnings[1]
    assert schema["blank"].categories == [" NA", "NA"]  # a column needs a category
    assert RecordsFile.open(table, schema).records == 64


def test_a_comma_may_stand_before_decimals() -> None:
    preis = [f"{i},5" for i in range(300)] * 2
    draft = drafted(pa.table({"preis": preis, "few": ["10", "2,5", "9,25"] * 200}))
    schema = read_back(draft.text)
    assert (schema["preis"].kind, schema["preis"].decimal) == ("numeric", ",")
    assert (schema["preis"].bounds, schema["preis"].step) == ([0, 300], 5)
    assert schema["few"].categories == ["2,5", "9,25", "10"]
    assert draft.warnings == ()


@pytest.mark.parametrize("more", [["1.5"], ["2,5", "1.5"]])
def test_numbers_with_points_and_with_commas_are_none(more: list[str]) -> None:
    values = [f"{i},5" for i in range(300)] * 2
    for texts in (values + more, more + values):
        pieces = pa.table({"a": pa.chunked_array([[each] for each in texts])})
        assert read_back(draft_schema(pieces))["a"].kind == "left_out"


def test_commas_that_may_be_between_thousands_are_told() -> None:
    table = pa.table({"a": [f"{i},500" for i in range(300)] * 2, "x": ["a", "b"] * 300})
    draft = drafted(table)
    assert "column 'a': numbers with a comma, before decimals or between th" in draft.warnings[0]
    assert draft.found.endswith("1 left_out, 1 categorical; left out: 'a'")


def test_an_order_that_the_file_states_is_drafted() -> None:
    kind = pa.dictionary(pa.int8(), pa.string(), ordered=True)
    values = pa.array([2, 0, 1, 0], pa.int8())
    column = pa.DictionaryArray.from_arrays(values, ["low", "mid", "high"], ordered=True)
    column_of = read_back(draft_schema(pa.table({"a": column.cast(kind)})))["a"]
    assert (column_of.ordered, column_of.categories) == (True, ["low", "mid", "high"])


@pytest.mark.parametrize("pair", [("F", "F "), ("F", "f"), ("\u00e9", "e\u0301")])
def test_categories_that_look_alike_are_said(pair: tuple[str, str]) -> None:
    draft = drafted(pa.table({"a": list(pair) * 3}))
    assert read_back(draft.text)["a"].categories == sorted(pair)
    assert "differ only by spaces, capitals or forms of accents" in draft.warnings[0]


def test_what_somebody_wrote_is_no_identifier() -> None:
    numbers = range(100)
    table = pa.table(
        {
            "comment": [f"I said {i}" if i % 3 else "" for i in numbers],
            "code": [f"a-{i}" for i in numbers],
            "person id": [f"a {i}" for i in numbers],
        }
    )
    found = {"comment": "left_out", "code": "identifier", "person id": "identifier"}
    assert kinds(table) == found


def test_what_is_drafted_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deniable.schema.evidence.MAX_COUNTED", 300)
    table = pa.table({"a": [f"v{i}" for i in range(1000)], "b": np.arange(1000) / 7})
    draft = drafted(table)
    assert kinds(table) == {"a": "identifier", "b": "numeric"}
    assert "values are different" in draft.text


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("a,a\n1,2\n", "both called 'a'"),
        ("a,b\n1\n1,2\n1,2,3\n", "record 1 ('1') has 1 value instead of 2"),
        ('a,b\n1,"2\n3,4\n', "a quotation mark is left open"),
        ("a,b\n", "no records"),
        ("a,b\n1,\0\n", "NUL"),
    ],
)
def test_files_that_cannot_be_drafted_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, words: str
) -> None:
    path = tmp_path / "a.csv"
    path.write_text(content)
    assert main(["schema", str(path)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert words in said.err
    assert "a.csv: " in said.err


def test_the_command_prints_the_draft_and_says_what_it_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("größe;b\nF ;1\nF;2\n".encode("cp1252"))
    assert main(["schema", str(path), "--population", "panel"]) == 0
    said = capsys.readouterr()
    assert "\npopulation: panel  # name the people (or survey and wave)" in said.out
    assert read_back(said.out).population == "panel"
    assert "delimiter ';' (detected), encoding cp1252 (detected); 2 records" in said.err
    assert "warning: column 'größe'" in said.err
    assert main(["schema", str(path), "--delimiter", ",", "--encoding", "latin-1"]) == 2
    assert "likely ';'" in capsys.readouterr().err
    assert main(["schema", str(path), "--encoding", "base64"]) == 2
    assert "encoding 'base64' is unknown" in capsys.readouterr().err
    assert main(["schema", str(path), "--encoding", "utf\x01-8"]) == 2  # Python ignores the \x01
    assert r"encoding 'utf\x01-8' is unknown" in capsys.readouterr().err
    assert main(["schema", str(tmp_path / "none.csv")]) == 2
    assert "No such file" in capsys.readouterr().err


def test_a_population_has_a_name_that_can_be() -> None:
    with pytest.raises(DataError, match="the population 'a b'"):
        draft_schema(pa.table({"a": ["x", "y"]}), "a b")


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=5))
def test_texts_read_back_from_yaml(texts: list[str]) -> None:
    assert yaml.safe_load(f"a: {quoted_list(texts)}") == {"a": texts}
    assert all(len(quoted(text).splitlines()) == 1 for text in texts)


@pytest.mark.parametrize(
    ("text", "line"),
    [("a\nb", r'"a\nb"'), ("a\u2028b", r'"a\Lb"'), ("y", '"y"'), ("N", '"N"'), ("yy", "yy")],
)
def test_texts_that_yaml_may_take_for_something_else_are_quoted(text: str, line: str) -> None:
    assert quoted(text) == line


@settings(max_examples=200, deadline=None)
@given(
    st.floats(-1e12, 1e12, allow_subnormal=False),
    st.floats(1e-3, 1e12),
    st.booleans(),
)
def test_a_drafted_grid_holds_the_numbers_and_can_be_declared(
    low: float, span: float, whole: bool
) -> None:
    low, high = (np.floor(low), np.ceil(low + span)) if whole else (low, low + span)
    first, last, step = round_grid(float(low), float(high), whole=whole)
    column = {"name": "a", "kind": "numeric", "bounds": [float(first), float(last)]}
    (own,) = read_column(column | {"step": float(step)})
    assert own.points[0] <= low
    assert own.points[-1] >= high
    assert len(own.points) <= 125
    assert re.fullmatch(r"-?[0-9.]+", first)


def read_column(column: dict[str, Any]) -> Any:
    values = {"format": "deniable-schema", "version": 1, "population": "a"}
    return schema_from_dict(values | {"file": {"kind": "arrow"}, "columns": [column]}).columns


# -- codes of missing values, exactly --------------------------------------------------------------


def evidence(values: list[Any], kind: pa.DataType) -> ColumnEvidence:
    found = ColumnEvidence(kind)
    found.add(pa.array(values, kind))
    return found


@pytest.mark.parametrize(
    ("others", "code", "taken"),
    [
        (range(1, 51), 99, False),  # as far from 50 as 50 is from 1
        (range(2, 51), 99, True),
        ([-21, 9], 99, False),  # 3 times the gap of 30
        ([-20, 9], 99, True),
        (range(10, 41), -1, True),  # the only negative number
        (range(41), -8, True),
        (range(-40, 400), -99, False),  # 59 from the others, but not the only negative one
        (range(3, 41), -1, True),  # 4 from the others
        (range(2, 41), -1, False),  # 3 times the gap of 1
    ],
)
def test_a_code_is_farther_than_gap_and_range(others: Any, code: int, taken: bool) -> None:
    for kind in (pa.int64(), pa.string()):
        found = evidence(
            [str(each) if kind == pa.string() else each for each in [*others, code]], kind
        )
        assert found.codes == [str(code)] * taken
        assert found.range == (
            min(others) if taken else min(*others, code),
            max(others) if taken else max(*others, code),
        )


@pytest.mark.parametrize(
    ("values", "absent"),
    [
        (["F", "M", "unknown"], {}),
        (["F", " Unknown", "unknown", "unknown"], {" Unknown": 1, "unknown": 2}),
        (["F", "unknown", "n.a. "], {"n.a. ": 1}),
        (["F ", "M"], {}),
        (["unknown", " unknown"], {}),
    ],
)
def test_words_are_missing_values_if_they_are_also_between_blanks(
    values: list[str], absent: dict[str, int]
) -> None:
    assert evidence(values, pa.string()).absent == absent
