"""Files of SPSS and Stata: labels, missing values, dates, texts, and files that are damaged."""

import datetime as dt
import gzip
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyreadstat
import pytest
from tests.test_extras import without_extras

import deniable
from deniable.cli import main
from deniable.errors import DataError
from deniable.release import protect_test
from deniable.sampling import KeyedDraws
from deniable.schema import RecordsFile, Schema, drafted, schema_from_dict
from deniable.schema.formats import open_survey

NUMBER = 600
LABELS: dict[str, dict[Any, str]] = {
    "sex": {1: "male", 2: "female", 3: "other", 9: "refused"},
    "trust": {0: "none", 10: "full"},
    "area": {"n": "north", "s": "south"},
}
MISSING = {"sex": [9], "age": [{"lo": -9, "hi": -1}]}


def frame(number: int = NUMBER) -> pd.DataFrame:
    generator = np.random.default_rng(1)
    first = dt.date(2023, 12, 1)
    days = [first + dt.timedelta(days=int(n)) for n in generator.integers(0, 90, number)]
    return pd.DataFrame(
        {
            "person": np.arange(10_000.0, 10_000 + number),
            "sex": generator.choice([1.0, 2, 9, np.nan], number, p=[0.5, 0.4, 0.05, 0.05]),
            "age": generator.choice([*np.arange(18.0, 90), -9, -8], number),
            "trust": generator.integers(0, 11, number).astype(float),
            "area": generator.choice(["n", "s  "], number),
            "day": days,
            "weight": generator.uniform(0.5, 2, number).round(3),
        }
    )


def written(folder: Path, name: str, table: pd.DataFrame | None = None, **options: Any) -> Path:
    path, table = folder / name, frame() if table is None else table
    if path.suffix == ".dta":
        labels = {n: own for n, own in LABELS.items() if n in table and n != "area"}
        given = {"variable_value_labels": labels} | options
        pyreadstat.write_dta(table, path, **given)
        return path
    labels = {name: own for name, own in LABELS.items() if name in table}
    given = {"variable_value_labels": labels, "missing_ranges": MISSING} | options
    given["missing_ranges"] = {n: e for n, e in given["missing_ranges"].items() if n in table}
    pyreadstat.write_sav(table, path, compress=path.suffix == ".zsav", **given)
    return path


def declared(text: str) -> Schema:
    return schema_from_dict(text.replace("status: drafted", "status: declared"))


@pytest.mark.parametrize("name", ["a.sav", "a.zsav", "a.dta"])
def test_labels_are_categories_and_dates_are_dates(name: str, tmp_path: Path) -> None:
    path = (
        written(tmp_path, name, variable_measure={"trust": "ordinal"})
        if name != "a.dta"
        else (written(tmp_path, name))
    )
    schema = declared(deniable.draft_schema(path, "people"))
    stata = name == "a.dta"
    assert schema.file.kind == ("stata" if stata else "spss")
    sex, trust, area = (schema[each] for each in ("sex", "trust", "area"))
    more = ["refused"] if stata else []  # Stata has no user-missing value but .a to .z
    assert sex.categories == ["male", "female", "other", *more]
    assert sex.recode is not None
    assert sex.recode.mapping["3"] == "other"  # the label of no record
    assert sex.missing.values == ([""] if stata else ["", "9"])
    assert trust.categories == ["none", *map(str, range(1, 10)), "full"]
    assert trust.ordered != stata
    assert area.categories == (["n", "s"] if stata else ["north", "south"])
    assert schema["day"].type == "date32[day]"
    assert schema["person"].kind == "identifier"
    assert schema["weight"].kind == "weight"
    table, original = frame(), RecordsFile.open(path, schema)
    (batch,) = original.portions()
    codes = batch.codes
    numbers = {1.0: 0, 2.0: 1} | ({9.0: 3} if stata else {})
    expected = table["sex"].map(numbers).fillna(len(sex.attribute().categories) - 1)
    assert np.array_equal(codes["sex"], expected)
    assert np.array_equal(codes["trust"], table["trust"])
    assert np.array_equal(codes["area"], table["area"].str.strip().map({"n": 0, "s": 1}))
    known = schema["day"].categories
    assert [known[code] for code in codes["day"]] == table["day"].astype(str).to_list()
    ages = [
        None if code == len(schema["age"].points) else schema["age"].points[code]
        for code in codes["age"]
    ]
    assert ages == [None if age < 0 else age for age in table["age"]]


def test_the_protected_file_is_csv_with_labels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.sav", "a.dta"):
        path = written(tmp_path, name)
        schema = declared(deniable.draft_schema(path, "people"))
        accept = ["weights_released", "identifiers_released"]
        plan = deniable.make_plan(schema, 8.0, accept=accept, responses="categories")
        protect_test(path, plan, tmp_path / name[-3:], 1)
        public = tmp_path / name[-3:] / "public"
        found = pd.read_csv(public / "protected.csv", keep_default_na=False)
        assert set(found["sex"]) <= {"male", "female", "other", "refused", ""}
        assert set(found["trust"]) <= {"none", "full", *map(str, range(1, 10))}
        assert sorted(found["person"]) == list(range(10_000, 10_000 + NUMBER))
        assert sorted(found["weight"]) == sorted(frame()["weight"])
        table = deniable.Released(public).table(["sex"], weight="weight")
        assert table["estimate"].sum() == pytest.approx(1)
        in_memory = deniable.randomize(path, plan, KeyedDraws(bytes(32), b"survey"))
        assert deniable.Released(in_memory, plan).table(["trust"])["estimate"].sum() == (
            pytest.approx(1)
        )
        assert main(["compare", name, _stored(schema), "--epsilon", "2"]) == 0


def _stored(schema: Schema) -> str:
    import yaml  # noqa: PLC0415

    Path("s.yaml").write_text(yaml.safe_dump(schema.to_json()), "utf-8")
    return "s.yaml"


def edits(draft: str, target: Schema) -> int:
    """Count the fields of columns that differ between a draft and the schema that is needed."""
    own, number = declared(draft), 0
    for column in target.columns:
        one, other = own[column.name].model_dump(), column.model_dump()
        number += sum(one[field] != other[field] for field in other if field != "type")
    return number


@pytest.mark.parametrize("name", ["a.sav", "a.dta"])
def test_fewer_edits_are_needed_than_for_the_same_file_as_csv(name: str, tmp_path: Path) -> None:
    path = written(tmp_path, name)
    frame().to_csv(tmp_path / "a.csv", index=False)
    text = deniable.draft_schema(path, "people")
    target = declared(text).model_copy()
    columns = [
        each.model_copy(update={"bounds": [18.0, 90.0]} if each.name == "age" else {})
        for each in target.columns
    ]
    target = target.model_copy(update={"columns": columns})
    from_survey, from_csv = (
        edits(deniable.draft_schema(file, "people"), target) for file in (path, tmp_path / "a.csv")
    )
    assert from_survey == 1  # the bounds of age
    assert from_csv >= from_survey + 4


def test_batches_are_those_of_one_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a.sav", "a.zsav", "a.dta"):
        path = written(tmp_path, name)
        schema = declared(deniable.draft_schema(path, "people"))
        (whole,) = RecordsFile.open(path, schema).portions()
        monkeypatch.setattr("deniable.schema.formats.survey.ROWS", 77)
        parts = list(RecordsFile.open(path, schema).portions())
        monkeypatch.undo()
        assert len(parts) == -(-NUMBER // 77)
        for column, codes in whole.codes.items():
            assert np.array_equal(np.concatenate([each.codes[column] for each in parts]), codes)


def test_times_and_empty_texts(tmp_path: Path) -> None:
    times = [dt.datetime(1969, 12, 31, 23, 59, 58), None, dt.datetime(2024, 5, 31, 12, 0, 5)]
    table = pd.DataFrame({"at": times, "text": ["", "a ", "b"]})
    for name in ("a.sav", "a.dta"):
        source = open_survey(written(tmp_path, name, table))
        (piece,) = source.pieces(["at", "text"], [], deniable.schema.ValidationErrors())
        assert piece.batch.column("at").to_pylist() == times
        assert piece.batch.column("text").to_pylist() == ["", "a", "b"]


def test_a_part_of_a_day_belongs_to_its_day(tmp_path: Path) -> None:
    table = pd.DataFrame({"day": [3651.25, 3652.5, 3653.75]})  # days from 1960-01-01
    pyreadstat.write_dta(table, tmp_path / "a.dta", variable_format={"day": "%td"})
    (piece,) = open_survey(tmp_path / "a.dta").pieces(
        ["day"], [], deniable.schema.ValidationErrors()
    )
    expected = [dt.date(1969, 12, 30), dt.date(1969, 12, 31), dt.date(1970, 1, 1)]
    assert piece.batch.column("day").to_pylist() == expected


def test_an_old_encoding_is_read_and_can_be_given(tmp_path: Path) -> None:
    table = pd.DataFrame({"town": ["Köln", "Bonn"] * 30})
    table.to_stata(tmp_path / "old.dta", write_index=False, version=114)
    found = schema_from_dict(deniable.draft_schema(tmp_path / "old.dta"))
    assert found["town"].categories == ["Bonn", "Köln"]
    other = drafted(tmp_path / "old.dta", encoding="cp850").text
    assert "encoding: cp850" in other
    assert schema_from_dict(other)["town"].categories != ["Bonn", "Köln"]


def test_the_extra_is_named_where_it_is_missing(tmp_path: Path) -> None:
    path = written(tmp_path, "a.sav")
    code = "from deniable.cli import main\nsys.exit(main(sys.argv[1:]))"
    done = without_extras(code, "schema", str(path))
    assert done.returncode == 2
    assert done.stderr == (
        "deniable: error: this needs pyreadstat, which is not installed: "
        "pip install 'deniable[survey]'\n"
    )


Change = Callable[[bytes], bytes]


def cut(part: float) -> Change:
    return lambda whole: whole[: int(len(whole) * part)]


def at(place: int, new: bytes) -> Change:
    return lambda whole: whole[:place] + new + whole[place + len(new) :]


def swap(old: bytes, new: bytes) -> Change:
    def change(whole: bytes) -> bytes:
        assert old in whole
        return whole.replace(old, new, 1)

    return change


DAMAGES: list[tuple[str, str, Change]] = [
    *(
        (f"{name} {what}", name, change)
        for name in ("a.sav", "a.zsav", "a.dta", "old.dta")
        for what, change in {
            "empty": lambda _: b"",
            "one byte": cut(0.0001),
            "cut in the header": lambda whole: whole[:80],
            "cut in the dictionary": lambda whole: whole[:400],
            "cut at a half": cut(0.5),
            "cut in the records": cut(0.8),
            "CSV": lambda _: b"sex,age\n1,2\n",
            "packed": gzip.compress,
        }.items()
    ),
    ("without its last byte", "a.sav", lambda whole: whole[:-1]),
    ("without its end", "a.dta", lambda whole: whole[:-12]),
    ("EBCDIC", "a.sav", at(0, bytes([0x5B, 0xC6, 0xD3, 0xF2]))),
    ("layout", "a.sav", at(64, b"\xff\xff\xff\xff")),
    ("too many records stated", "a.sav", at(80, (10**6).to_bytes(4, "little"))),
    ("unknown part of the dictionary", "a.sav", at(176, (77).to_bytes(4, "little"))),
    ("version 999", "a.dta", swap(b"<release>", b"<release>9")),
    ("byte order", "a.dta", swap(b"<byteorder>LSF", b"<byteorder>XYZ")),
    ("no map", "a.dta", swap(b"<map>", b"<mop>")),
    ("old version 80", "old.dta", at(0, b"\x50")),
]


@pytest.mark.parametrize(("what", "name", "change"), DAMAGES, ids=[each[0] for each in DAMAGES])
def test_a_damaged_file_has_one_message(
    what: str, name: str, change: Change, tmp_path: Path
) -> None:
    if name == "old.dta":
        path = written(tmp_path, name, version=8)
    else:
        path = (
            written(tmp_path, name, row_compress=False)
            if name == "a.sav"
            else (written(tmp_path, name))
        )
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(DataError) as error:
        deniable.draft_schema(path)
    assert str(error.value).startswith(f"{path}: ")
    assert len(str(error.value).splitlines()) == 1
    assert "; " in str(error.value)  # and its remedy


ODD: dict[str, tuple[Any, dict[Any, str], str]] = {
    "two codes with one label": (
        [1.0, 2, 3],
        {1: "yes", 2: "no", 3: "no"},
        "['2', '3'] have the same label 'no', so they are one category",
    ),
    "no text": ([1.0, 2], {1: "", 2: "b"}, "the label of '1' is no name, so the value is"),
    "control character": ([1.0, 2], {1: "a\nb", 2: "b"}, "'1' has a control character, so the"),
    "the name of missing values": ([1.0, 2], {1: "(missing)", 2: "b"}, "of '1' is no name"),
    "a placeholder": ([1.0, 9], {1: "yes", 9: "refused"}, "move its value '9' to the values of"),
    "one label among numbers": (
        [*np.arange(100.0), 7777.0],
        {7777: "unknown income"},
        "labels among other values: '7777' (unknown income); move those that mean a missing",
    ),
    "a label that is another code": ([1.0, 2], {1: "2"}, "have the same label '2'"),
}


@pytest.mark.parametrize("what", ODD)
@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_an_odd_label_has_one_warning(what: str, ending: str, tmp_path: Path) -> None:
    values, labels, words = ODD[what]
    table = pd.DataFrame({"a": np.resize(np.array(values), 400)})
    path = written(tmp_path, f"a.{ending}", table, variable_value_labels={"a": labels})
    draft = drafted(path)
    told = [each for each in draft.warnings if "label" in each or "refused" in each]
    assert len(told) == 1
    assert words in told[0]
    file = RecordsFile.open(path, declared(draft.text))
    file.check()  # and the schema reads the file


FINE: dict[str, tuple[Any, dict[Any, str], list[str]]] = {
    "codes that are not whole": ([1.5, 2.25], {1.5: "low", 2.25: "high"}, ["low", "high"]),
    "negative codes": ([-1.0, 0, 1], {-1: "less", 0: "same", 1: "more"}, ["less", "same", "more"]),
    "labels of absent values": ([1.0, 1], {1: "a", 2: "b", 5: "c"}, ["a", "b", "c"]),
    "values without a label": ([1.0, 2, 3], {2: "b"}, ["1", "b", "3"]),
}


@pytest.mark.parametrize("what", FINE)
def test_usual_labels_have_no_warning(what: str, tmp_path: Path) -> None:
    values, labels, categories = FINE[what]
    table = pd.DataFrame({"a": np.resize(np.array(values), 60)})
    draft = drafted(written(tmp_path, "a.sav", table, variable_value_labels={"a": labels}))
    assert draft.warnings == ()
    assert declared(draft.text)["a"].categories == categories


def test_other_faults_have_one_message_each(tmp_path: Path) -> None:
    none = written(tmp_path, "none.sav", frame(3).iloc[:0])
    (tmp_path / "folder.sav").mkdir()
    faults = {
        none: "no records; give a file with at least one",
        tmp_path / "folder.sav": "no Parquet file in the folder",
        tmp_path / "absent.sav": "No such file or directory; check the path",
    }
    for path, words in faults.items():
        with pytest.raises(DataError, match=words) as error:
            deniable.draft_schema(path)
        assert len(str(error.value).splitlines()) == 1
    path = written(tmp_path, "a.sav")
    with pytest.raises(DataError, match="not readable as SPSS"):
        drafted(path, encoding="klingon")
    schema = declared(deniable.draft_schema(path))
    written(tmp_path, "b.dta")
    with pytest.raises(DataError, match=r"this is stata, but the schema is for"):
        RecordsFile.open(tmp_path / "b.dta", schema)
    far = frame().assign(day=1e18)
    pyreadstat.write_sav(far, tmp_path / "far.sav", variable_format={"day": "DATE11"})
    with pytest.raises(DataError, match=r"'day' has the date .*, beyond all calendars; correct it"):
        deniable.draft_schema(tmp_path / "far.sav")
    long = frame().assign(text=[f"{n}{'x' * 3000}" for n in range(NUMBER)])
    text = deniable.draft_schema(written(tmp_path, "long.sav", long))
    assert schema_from_dict(text)["text"].kind == "left_out"


def test_new_codes_in_a_later_file_are_errors_with_their_remedy(tmp_path: Path) -> None:
    schema = declared(deniable.draft_schema(written(tmp_path, "a.sav")))
    later = frame()
    later.loc[4, "sex"] = 5.0
    with pytest.raises(DataError) as error:
        RecordsFile.open(written(tmp_path, "b.sav", later), schema).check()
    assert "record 5, column 'sex' has '5.0', which has no category in mapping" in str(error.value)


def test_a_large_file_needs_little_memory(tmp_path: Path) -> None:
    number = 400_000
    table = pd.DataFrame({f"v{n}": np.arange(number) % (n + 2) * 1.0 for n in range(12)})
    path = written(tmp_path, "large.sav", table)
    code = f"""
import re
from deniable.schema import RecordsFile, schema_from_dict
columns = [dict(name=f"v{{n}}", kind="numeric", bounds=[0, 20], step=1, type="double")
           for n in range(12)]
form = dict(format="deniable-schema", population="p", file=dict(kind="spss"), columns=columns)
file = RecordsFile.open({str(path)!r}, schema_from_dict(form))
sums = sum(int(each.codes["v0"].sum()) for each in file.portions())
print(sums, int(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1]) // 1024)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    total, megabytes = map(int, done.stdout.split())
    assert total == number // 2
    assert megabytes < 330
