"""Published files as they are read, categorical and numeric, and the user's own."""

import hashlib
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import rdata
from tests.datasets.colours import ENTRY, GOOD, changed, with_numbers, write_manifest
from tests.datasets.workers import PAY, SEX, TEXT, dataset_of, loaded

from deniable.datasets.manifest import ClassAttribute, Dataset, load_manifest
from deniable.datasets.published import (
    draw_surrogate,
    fit_surrogate,
    read_published,
)
from deniable.datasets.resolve import obtain
from deniable.errors import DataError
from deniable.records.numeric import NumericMicrodata
from deniable.schema.formats import csv_text

ROOT = Path(__file__).resolve().parents[2]


# ---- categorical files ----------------------------------------------------------------------


def test_read_published(dataset: Dataset, tmp_path: Path) -> None:
    path = tmp_path / "colours.data"
    path.write_bytes(GOOD)
    data = read_published(dataset, path)
    assert len(data) == 20_000
    assert data.counts().tolist() == [[0, 10_000], [10_000, 0]]


def test_read_published_with_a_header(tmp_path: Path) -> None:
    path = tmp_path / "colours.data"
    path.write_text('"likes";"other";"colour"\nyes;1;blue\nno;2;red\nno;3;red\n')
    columns = [{k: v for k, v in each.items() if k != "position"} for each in ENTRY["attributes"]]
    entry = changed(header=True, delimiter=";", records=3, attributes=columns)
    headed = load_manifest(write_manifest(tmp_path, entry))["colours"]
    assert read_published(headed, path).counts().tolist() == [[2, 0], [0, 1]]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"1, red, yes\n2, blue, no\n", ["2 records", "20,000", "'colours'", "again from http"]),
        (b"1, red, yes\n2, green, no\n", ["record 2", "'colour'", "'green'", "red, blue"]),
        (b"1, red, yes\n2, , no\n", ["record 2", "'colour'", "missing value", "red, blue"]),
        (b"1, red, yes\n2, red, \n", ["record 2", "'likes'", "missing value", "no, yes"]),
        (b"1; red; yes\n2; blue; no\n", ["one column", "delimiter ','", "likely ';'"]),
        (b"1, red, yes\n2, blue\n", ["record 2 ('2, blue')", "2 values", "3; correct that row"]),
        (b"1, red\n2, blue, yes\n", ["2 columns", "column 2", "delimiter ','"]),
        (bytes(range(256)) * 20, ["line 2", "convert the file to UTF-8"]),
        (bytes(range(255, -1, -1)) * 20, ["line 1", "convert the file to UTF-8"]),
        (b"1, red, yes\n2, r\xe9d, no\n", ["line 2", "convert the file to UTF-8"]),
        (b"", ["no text", "records"]),
        (b"\n\n", ["no text", "records"]),
        (None, ["No such file", "check the path"]),
    ],
    ids=[
        "count",
        "unknown",
        "missing",
        "missing last",
        "delimiter",
        "short row",
        "short first row",
        "binary",
        "binary text",
        "latin-1",
        "empty",
        "blank",
        "absent",
    ],
)
def test_wrong_originals(
    dataset: Dataset, tmp_path: Path, content: bytes | None, words: list[str]
) -> None:
    path = tmp_path / "colours.data"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        read_published(dataset, path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    for word in words:
        assert word in message


def test_read_published_with_numbers(tmp_path: Path) -> None:
    dataset = load_manifest(write_manifest(tmp_path, with_numbers()))["colours"]
    path = tmp_path / "colours.data"
    path.write_bytes(GOOD)
    assert read_published(dataset, path).counts(["number"]).tolist() == [200, 9800, 10_000]


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (
            "?",
            "record 2, column 'number' has '?', which is not a number; give a number",
        ),
        (
            "",
            "record 2, column 'number' has a missing value; give a number",
        ),
        (
            "-1",
            "attribute 'number': record 2 has the value -1, outside [0, inf); correct the value",
        ),
    ],
)
def test_wrong_numbers_in_an_original(tmp_path: Path, value: str, problem: str) -> None:
    dataset = load_manifest(write_manifest(tmp_path, with_numbers()))["colours"]
    path = tmp_path / "colours.data"
    path.write_text(f"3, red, yes\n{value}, red, yes\n")
    with pytest.raises(DataError) as caught:
        read_published(dataset, path)
    assert str(caught.value).startswith(f"{path}: {problem}")


# ---- CSV files ----------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "workers.csv").write_text(TEXT)
    return tmp_path / "workers.csv"


def test_read_csv(file: Path) -> None:
    data = read_published(dataset_of(file, ["age"], PAY, delimiter=";"), file)
    assert data.column("age").tolist() == [17.5, 44, 60]
    # 10 is at most 10, 10.01 is above.
    assert data.labels.tolist() == [0, 1, 0]
    assert (data.class_name, data.classes) == ("pay", ("low", "high"))
    both = read_published(dataset_of(file, ["pay", "age"], SEX, delimiter=";"), file)
    assert both.values.tolist() == [[10, 17.5], [10.01, 44], [3, 60]]
    assert both.labels.tolist() == [0, 1, 1]
    assert read_published(dataset_of(file, ["age"], delimiter=";"), file).classes == ()


def test_read_csv_without_a_header(file: Path) -> None:
    file.write_text("1,a,2\n3,b,4\n")
    place = ClassAttribute(name="kind", classes=("a", "b"), position=1)
    data = read_published(dataset_of(file, ["x", "y"], place, [2, 0, 1], records=2), file)
    assert data.values.tolist() == [[2, 1], [4, 3]]
    assert data.labels.tolist() == [0, 1]


def test_read_csv_in_chunks(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_text, "BLOCK_BYTES", 4096)
    values = np.random.default_rng(1).normal(size=3000)
    rows = "".join(f"{value!r},{'fm'[n % 2]}\n" for n, value in enumerate(values.tolist()))
    file.write_text("age,sex\n" + rows)
    data = read_published(dataset_of(file, ["age"], SEX, records=3000), file)
    assert np.array_equal(data.column("age"), values)
    assert data.labels.tolist() == [n % 2 for n in range(3000)]
    file.write_text("age,sex\n" + rows + "?,f\n")
    with pytest.raises(
        DataError, match=r"record 3001, column 'age' has '\?', which is not a number"
    ):
        read_published(dataset_of(file, ["age"], SEX), file)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "age,sex\n1,f\nold,m\n",
            "record 2, column 'age' has 'old', which is not a number; give a",
        ),
        ("age,sex\n1,f\n,m\n", "record 2, column 'age' has a missing value; give a number, or"),
        ("age,sex\nnan,f\n", "record 1, column 'age' has 'nan', which is not a number"),
        ("age,sex\n-inf,f\n", "record 1, column 'age' has '-inf', which is not a number"),
        ("age,sex\n1e999,f\n", "record 1, column 'age' has '1e999', which is too large a number"),
        ('age,sex\n"1,5",f\n', "record 1, column 'age' has '1,5', which is not a number"),
        ("age,sex\n0x10,f\n", "has '0x10', which is not a number"),
        ("age,sex\n1,f\n2,x\n", "record 2, column 'sex' has the unknown category 'x'; recode"),
        ("age,sex\n1,\n", "record 1, column 'sex' has a missing value"),
        ("age,sex\n1,f\n2\n", "record 2 ('2') has 1 value instead of 2; correct that row"),
        ("age;sex\n1;f\n", "one column, 'age;sex', with the delimiter ','; give the delimiter"),
        ("pay,sex\n1,f\n", "no column 'age' in the header (pay, sex)"),
        ("age,age,sex\n1,2,f\n", "more than one column 'age' in the header"),
        ("age,sex\n", "no records; give a file with at least one"),
        ("age,sex", "no records; give a file with at least one"),
        ("", "no text in the file; give one with a header and records"),
    ],
)
def test_wrong_csv_is_refused_with_what_is_wrong(file: Path, text: str, words: str) -> None:
    file.write_text(text)
    with pytest.raises(DataError) as caught:
        read_published(dataset_of(file, ["age"], SEX), file)
    assert str(caught.value).startswith(f"{file}: ")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_wrong_csv_files(file: Path) -> None:
    with pytest.raises(DataError, match=r"absent\.csv: No such file"):
        read_published(dataset_of(file, ["age"]), file.with_name("absent.csv"))
    with pytest.raises(DataError, match="4 columns, but column 9"):
        read_published(dataset_of(file, ["age"], None, [9], ";"), file)
    file.write_bytes(b"age\n1\n\xff\xfe\n")
    with pytest.raises(DataError, match="UTF-8"):
        read_published(dataset_of(file, ["age"]), file)
    file.write_bytes(b"\xff\xfe\n1\n")
    with pytest.raises(DataError, match="line 1 is not text in the encoding utf-8"):
        read_published(dataset_of(file, ["age"]), file)


def test_number_of_records_is_that_of_the_manifest(file: Path, tmp_path: Path) -> None:
    assert len(read_published(loaded(tmp_path), file)) == 3
    with pytest.raises(DataError, match=r"3 records, but the manifest says 4 for 'workers'; get"):
        read_published(loaded(tmp_path, records=4), file)


# ---- R data -------------------------------------------------------------------------------------

RDA = {"format": "rda", "delimiter": ..., "header": ..., "file": "workers.rda"}


def write_rda(path: Path, **columns: Any) -> Path:
    """Write a data frame whose text columns are factors, as they mostly are in R."""
    factors = {
        name: pd.Categorical(values) if isinstance(values[0], str) else values
        for name, values in columns.items()
    }
    rdata.write_rda(path, {"workers": pd.DataFrame(factors)})
    return path


def test_read_data_frame(tmp_path: Path) -> None:
    columns = {"age": [17.5, 44, 60], "sex": ["f", "m", "m"], "pay": [10, 11, 3]}
    path = write_rda(tmp_path / "workers.rda", **columns)
    data = read_published(loaded(tmp_path, **RDA), path)
    assert data.column("age").tolist() == [17.5, 44, 60]
    assert data.labels.tolist() == [0, 1, 0]
    assert read_published(dataset_of(path, ["pay", "age"], SEX, **RDA), path).labels.tolist() == [
        0,
        1,
        1,
    ]
    assert read_published(dataset_of(path, ["pay"], **RDA), path).values.tolist() == [
        [10],
        [11],
        [3],
    ]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"pay": [1.0]}, "no column 'age'; it has pay"),
        ({"age": [1.0, np.nan], "sex": ["f", "m"]}, "record 2, column 'age' has a missing value"),
        (
            {"age": [np.inf, 2.0], "sex": ["f", "m"]},
            "record 1, column 'age' has 'inf', which is not",
        ),
        ({"age": ["1", "x"], "sex": ["f", "m"]}, "column 'age' has"),
        (
            {"age": [1.0, 2.0], "sex": ["f", "x"]},
            "record 2, column 'sex' has the unknown category 'x'",
        ),
        ({"age": [1.0, 2.0], "sex": [1, 2]}, "record 1, column 'sex' has the unknown category '1'"),
    ],
)
def test_wrong_data_frames_are_refused(tmp_path: Path, columns: dict[str, Any], words: str) -> None:
    path = write_rda(tmp_path / "workers.rda", **columns)
    with pytest.raises(DataError) as caught:
        read_published(dataset_of(path, ["age"], SEX, **RDA), path)
    assert str(caught.value).startswith(f"{path}: ")
    assert words in str(caught.value)


def test_wrong_rda_files(tmp_path: Path) -> None:
    path = tmp_path / "workers.rda"
    with pytest.raises(DataError, match=r"workers\.rda: No such file"):
        read_published(dataset_of(path, ["age"], **RDA), path)
    for content in (b"", b"no R data", b"RDX3\nX\n\x00\x00", bytes(range(256)) * 9):
        path.write_bytes(content)
        with pytest.raises(DataError, match="not readable as R data"):
            read_published(dataset_of(path, ["age"], **RDA), path)
    frame = pd.DataFrame({"age": [1.0]})
    rdata.write_rda(path, {"one": frame, "two": frame})
    with pytest.raises(DataError, match=r"2 data frames among its objects \(one, two\)"):
        read_published(dataset_of(path, ["age"], **RDA), path)


# ---- the stages ---------------------------------------------------------------------------------


def test_a_users_own_file_through_mirror_and_surrogate(tmp_path: Path) -> None:
    generator = np.random.default_rng(2)
    rows = "".join(f"{age:.1f};f;;{age / 4:.0f}\n" for age in generator.uniform(0, 90, 200))
    text = "age;sex;note;pay\n" + rows
    dataset = loaded(tmp_path, records=200, sha256=hashlib.sha256(text.encode()).hexdigest())
    (tmp_path / "mirror").mkdir()
    (tmp_path / "mirror" / "workers.csv").write_text(text)
    (tmp_path / "surrogates").mkdir()
    model = tmp_path / dataset.surrogate

    def found(source: Any) -> Any:
        return obtain(
            dataset,
            source=source,
            mirror=tmp_path / "mirror",
            folder=tmp_path / "raw",
            say=lambda line: None,
        )

    original = found("auto")
    assert (original.kind, original.sha256) == ("published", dataset.sha256)
    data = read_published(dataset, tmp_path / "raw" / "workers.csv")
    assert isinstance(data, NumericMicrodata)
    fit_surrogate(
        dataset,
        tmp_path / "raw" / "workers.csv",
        model,
        sha256=dataset.sha256,
    )
    assert found("surrogate").kind == "surrogate"
    drawn = draw_surrogate(dataset, model, np.random.default_rng(1))
    assert isinstance(drawn, NumericMicrodata)
    assert (len(drawn), drawn.names, drawn.class_name) == (200, ("age",), "pay")
    # Every age below 42 pays low, none above; a copula keeps most of that.
    assert drawn.column("age")[drawn.labels == 1].mean() > 60


def test_categorical_data_sets_take_the_same_way(tmp_path: Path) -> None:
    dataset = load_manifest(ROOT / "resources" / "datasets.yaml")["adult"]
    assert isinstance(dataset, Dataset)
    model = ROOT / "resources" / dataset.surrogate
    drawn = draw_surrogate(dataset, model, np.random.default_rng(1))
    assert len(drawn) == dataset.records


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "counts", "first", "means"),
    [
        ("census", [436, 644], [270914, 45554, 4173, 4621, 1428, 30809, 27, 27, 3480], 56222.7583),
        (
            "wine",
            [3838, 1060],
            [7, 0.27, 0.36, 20.7, 0.045, 45, 170, 1.001, 3, 0.45, 8.8],
            0.278241,
        ),
    ],
)
def test_the_published_files(name: str, counts: Any, first: Any, means: float) -> None:
    folder = Path(os.environ.get("DENIABLE_DATA_MIRROR") or ROOT.parent / "shared" / "data")
    dataset = load_manifest(ROOT / "resources" / "datasets.yaml")[name]
    if not (folder / dataset.file).is_file():
        pytest.skip(f"NOT TESTED: the published file of {name}; {folder / dataset.file} is absent")
    data = read_published(dataset, folder / dataset.file)
    assert isinstance(data, NumericMicrodata)
    assert data.class_counts().tolist() == counts
    assert data.values[0].tolist() == first
    assert data.values[:, 1].mean() == pytest.approx(means)
