"""Protected CSV files: written as Python writes them, in the form of the true file."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given, strategies as st
from tests.release.small_releases import ledger_in

from deniable import Released, protect
from deniable.errors import DataError
from deniable.plans import make_plan
from deniable.release import Ledger, records, records_writer
from deniable.schema import CsvForm, FileFormat, open_source, schema_from_dict
from deniable.schema.faults import ValidationErrors

ENDS = ["\n", "\r\n", "\r"]
ODD = ["", "NA", " yes", "yes ", '"', 'say "no"', "a;b", "a,b", "\tx", "|", "two\nlines", "\r", "é"]
TEXTS = st.one_of(
    st.sampled_from(ODD), st.text(st.characters(codec="utf-8", exclude_characters="\0\ufeff"))
)
FORMS = st.tuples(
    st.sampled_from(",;\t|^]-"),
    st.sampled_from(["utf-8", "utf-16", "utf-16-be", "utf-8-sig"]),
    st.sampled_from(ENDS),
    st.booleans(),
)


def by_python(rows: Sequence[Sequence[str]], delimiter: str, end: str) -> str:
    """Return what Python's writer makes of rows, each with its own end."""
    made = []
    for row in rows:
        stream = io.StringIO(newline="")
        csv.writer(stream, delimiter=delimiter, lineterminator="\r\n").writerow(row)
        made.append(stream.getvalue().removesuffix("\r\n") + end)
    return "".join(made)


@given(st.data(), FORMS, st.integers(1, 3))
def test_files_are_those_of_python_and_read_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, form: tuple, width: int
) -> None:
    delimiter, encoding, end, marked = form
    marked = marked and encoding == "utf-8"
    rows = data.draw(st.lists(st.tuples(*[TEXTS] * width), min_size=1, max_size=9))
    names = [f"a{delimiter}{number}" for number in range(width)]
    path = tmp_path_factory.mktemp("csv") / "drawn.csv"
    file = FileFormat(kind="csv", delimiter=delimiter, encoding=encoding)
    columns = [pa.array(each, pa.string()) for each in zip(*rows, strict=True)]
    coded = [each.dictionary_encode() if i % 2 else each for i, each in enumerate(columns)]
    with records_writer(path, file, CsvForm(end, marked)) as writer:
        writer.write(pa.Table.from_arrays(coded, names))
        writer.write(pa.Table.from_arrays([each.slice(1) for each in coded], names))
    all_rows = [*rows, *rows[1:]]
    expected = by_python([names, *all_rows], delimiter, end)
    assert path.read_bytes() == ("\ufeff" * marked + expected).encode(encoding)

    found = pd.read_csv(path, sep=delimiter, encoding=encoding, dtype=str, na_filter=False)
    assert found.columns.tolist() == names
    assert [*found.itertuples(index=False, name=None)] == all_rows


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=9), FORMS)
@example([("", ""), ("NA", '"')], (",", "utf-8", "\r\n", True))
def test_our_reader_finds_the_same_values(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]], form: tuple
) -> None:
    delimiter, encoding, end, marked = form
    path = tmp_path_factory.mktemp("csv") / "drawn.csv"
    file = FileFormat(kind="csv", delimiter=delimiter, encoding=encoding)
    known = CsvForm(end, marked and encoding == "utf-8")
    columns = [pa.array(each, pa.string()) for each in zip(*rows, strict=True)]
    with records_writer(path, file, known) as writer:
        writer.write(pa.Table.from_arrays(columns, ["a", "b"]))
    source = open_source(path, delimiter, encoding)
    assert source.form == known
    faults = ValidationErrors()
    (piece,) = source.pieces([], ["a", "b"], faults)
    faults.raise_if_any()
    assert [*zip(*(each.to_pylist() for each in piece.batch.columns), strict=True)] == rows


def test_long_and_missing_values_and_many_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "ROWS", 2)
    coded = pa.array(["1", "2", None]).dictionary_encode()
    with records_writer(tmp_path / "a", FileFormat(kind="csv"), CsvForm()) as writer:
        writer.write(pa.table({"a": ["x" * 9, None, "y"], "b": coded}))
    assert (tmp_path / "a").read_bytes() == b"a,b\nxxxxxxxxx,1\n,2\ny,\n"


@pytest.mark.parametrize("encoding", ["cp1252", "utf-8", "utf-16"])
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("order", ["permuted", "as_in_file"])
def test_the_form_of_the_true_file_is_kept(
    encoding: str, end: str, order: str, tmp_path: Path
) -> None:
    mark = "\ufeff" if encoding == "utf-8" else ""
    rows = [['"été"; oui', "no"], ["non", " no"], ["", "NA"]] * 40
    content = mark + by_python([["réponse", "b;b"], *rows], ";", end)
    (tmp_path / "people.csv").write_bytes(content.encode(encoding))
    category = {"kind": "categorical"}
    missing = {"values": [""], "policy": "category"}
    schema = schema_from_dict(
        {"format": "deniable-schema", "version": 1, "population": "people"}
        | {"file": {"kind": "csv", "delimiter": ";", "encoding": encoding}}
        | {
            "columns": [
                category
                | {"name": "réponse", "categories": ['"été"; oui', "non"], "missing": missing},
                category | {"name": "b;b", "categories": ["no", " no", "NA"]},
            ]
        }
    )
    plan = make_plan(schema, 60.0, order=order)  # nearly all stay as they are
    protect(tmp_path / "people.csv", plan, tmp_path / "made", ledger=ledger_in(tmp_path / "ledger"))
    made = (tmp_path / "made" / "public" / "protected.csv").read_bytes().decode(encoding)
    if order == "as_in_file":
        assert made == content
    assert sorted(made.split(end)) == sorted(content.split(end))
    shares = Released(tmp_path / "made" / "public").margins("réponse")["estimate"]
    assert shares.tolist() == pytest.approx([1 / 3] * 3, abs=1e-6)


def test_a_category_that_the_encoding_has_not_is_refused_in_the_schema() -> None:
    columns = [{"name": "sex", "kind": "categorical", "categories": ["F", "männlich", "ж"]}]
    told = "'ж' of column 'sex'; allowed: characters of the encoding cp1252"
    with pytest.raises(DataError, match=told):
        schema_from_dict(
            {"format": "deniable-schema", "version": 1, "population": "people"}
            | {"file": {"kind": "csv", "encoding": "cp1252"}, "columns": columns}
        )


def test_an_identifier_that_the_encoding_has_not_is_refused_before_the_ledger_counts(
    tmp_path: Path,
) -> None:
    about = {"format": "deniable-schema", "version": 1, "population": "people"}
    columns = [
        {"name": "sex", "kind": "categorical", "categories": ["F", "M"]},
        {"name": "id", "kind": "identifier"},
    ]
    file = {"kind": "csv", "encoding": "cp1252"}
    schema = schema_from_dict(about | {"file": file, "columns": columns})
    plan = make_plan(schema, 1.0, accept=["identifiers_released"])
    table, ledger = pa.table({"sex": ["F", "M"], "id": ["ж", "b"]}), ledger_in(tmp_path / "ledger")
    with pytest.raises(DataError, match="an identifier contains 'ж', which the schema's encoding"):
        protect(table, plan, tmp_path / "made", ledger=ledger)
    assert Ledger(ledger).populations() == ()
    assert not (tmp_path / "made").exists()
