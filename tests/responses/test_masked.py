"""Estimates from protected numbers, from a table in memory and from files."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
import pytest
from tests.idp.numeric_files import METHODS
from tests.plans.masked_plans import plan_by, schema_of_sizes, table_of_sizes

from deniable.errors import DataError, DeniableError
from deniable.idp import SHARE
from deniable.plans import MaskedPlan
from deniable.sampling import KeyedDraws
from deniable.schema import RecordsFile

KEY = KeyedDraws(bytes(range(32)), b"a plan")
EXACT = 5e-10


@pytest.fixture(params=METHODS)
def method(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def in_folder(plan: MaskedPlan, folder: Path, original: Any) -> tuple[pa.Table, Path]:
    """Protect a file and write everything that is public to a folder."""
    file = RecordsFile.open(original, plan.schema, passed=plan.passed)
    (table,) = plan.randomize(file.portions(), KEY)
    for name, frame in plan.public_tables(table).items():
        frame.to_csv(folder / f"{name}.csv", index=False)
    path = folder / f"protected.{plan.schema.file.kind}"
    if plan.schema.file.kind == "csv":
        arrow_csv.write_csv(table, path, arrow_csv.WriteOptions(delimiter=";"))
    else:
        pq.write_table(table.replace_schema_metadata(None), path)
    return table, path


def parquet_plan(method: str) -> MaskedPlan:
    return plan_by(method, schema=schema_of_sizes("parquet"))


@pytest.fixture
def original(tmp_path: Path) -> Path:
    path = tmp_path / "original.parquet"
    pq.write_table(table_of_sizes(), path)
    return path


def test_files_and_tables_give_the_same_estimates(
    method: str, original: Path, tmp_path: Path
) -> None:
    plan = parquet_plan(method)
    table, path = in_folder(plan, tmp_path, original)
    found = plan.responses(path).estimates()
    for source in (table, table.to_pandas()):
        pd.testing.assert_frame_equal(plan.responses(source).estimates(), found)


@pytest.mark.parametrize("decimal", [".", ","])
def test_numbers_in_a_csv_file_read_back_exactly(method: str, decimal: str, tmp_path: Path) -> None:
    schema = schema_of_sizes("csv", delimiter=";", encoding="utf-8")
    columns = [
        each.model_copy(update={"decimal": decimal}) if each.kind == "numeric" else each
        for each in schema.columns
    ]
    plan = plan_by(method, schema=schema.model_copy(update={"columns": columns}))
    frame = table_of_sizes().to_pandas()
    frame.to_csv(tmp_path / "original.csv", sep=";", decimal=decimal, index=False)
    _, path = in_folder(plan, tmp_path, tmp_path / "original.csv")
    typed = parquet_plan(method)
    file = RecordsFile.open(table_of_sizes(), plan_by(method).schema, passed=("size",))
    (table,) = typed.randomize(file.portions(), KEY)
    np.testing.assert_array_equal(
        plan.responses(path).data.values, typed.responses(table).data.values
    )
    expected = typed.responses(table).estimates()
    pd.testing.assert_frame_equal(plan.responses(path).estimates(), expected)


def test_numbers_have_the_columns_of_released(method: str) -> None:
    plan = plan_by(method)
    file = RecordsFile.open(table_of_sizes(), plan.schema, passed=plan.passed)
    (table,) = plan.randomize(file.portions(), KEY)
    responses = plan.responses(table)
    found = responses.numbers(["height"], (0.5,))
    assert found["statistic"].tolist() == ["mean", "standard deviation", "quantile 0.5"]
    assert set(found["column"]) == {"height"}
    assert set(found["target"]) == {"file"}
    assert set(found["records"]) == {152}
    with_limit = found["estimate"].notna() | found["ci_high"].notna()
    assert (with_limit | (found["note"] != "")).all()
    shares = responses.estimates()["statistic"].eq(SHARE).sum()
    assert shares == (2 * 2 * 8 if method == "histograms" else 0)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"weight": "w"}, "no column of weights 'w'"),
        ({"target": "population"}, "use the target 'file'"),
        ({"confidence": 0.9}, "at 0.9"),
        ({"names": ["size"]}, "no numeric attribute 'size'"),
        ({"quantiles": (0.0,)}, "a quantile has the level 0"),
    ],
)
def test_what_masked_numbers_cannot_answer(changes: dict[str, Any], words: str) -> None:
    plan = plan_by("dp")
    responses = plan.responses(table_of_sizes())
    with pytest.raises(DeniableError, match=words):
        responses.numbers(**changes)


def test_masked_numbers_have_no_tables() -> None:
    responses = plan_by("dp").responses(table_of_sizes())
    for call in (
        lambda: responses.table(["size"]),
        lambda: responses.count([]),
        lambda: responses.batches(["size"]),
        responses.clusters,
    ):
        with pytest.raises(DeniableError, match=r"no categories|no columns that are randomized"):
            call()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda frame: frame.drop(columns="height"), "no column 'height', only width, size"),
        (lambda frame: frame.assign(height=7.0), "record 1, column 'height' has 7, but"),
        (
            lambda frame: frame.assign(height=np.nan),
            "record 1, column 'height' has a value that is not a finite",
        ),
        (
            lambda frame: frame.assign(height="tall"),
            "column 'height' has a value that is not a finite number",
        ),
        (lambda frame: frame.assign(size="tiny"), "'tiny', which is not a category"),
        (lambda frame: frame.iloc[:0], "no records"),
    ],
)
def test_records_that_do_not_fit_the_plan_are_refused(change: Any, words: str) -> None:
    with pytest.raises(DataError, match=words):
        plan_by("dp").responses(change(table_of_sizes().to_pandas())).numbers()


def test_noisy_counts_that_do_not_fit_are_refused(original: Path, tmp_path: Path) -> None:
    plan = parquet_plan("histograms")
    table, path = in_folder(plan, tmp_path, original)
    counts = pd.read_csv(tmp_path / "histograms.csv")
    frame = table.to_pandas()
    frame.attrs = {}
    with pytest.raises(DataError, match="lacks the noisy counts"):
        plan.responses(frame)
    frame.attrs = {"histograms": [[1, 2]]}
    with pytest.raises(DataError, match="noisy counts have the shape"):
        plan.responses(frame)
    for edited, words in (
        (counts.iloc[1:], "other columns, classes or bins"),
        (counts.assign(**{"class": "small"}), "other columns, classes or bins"),
        (counts.assign(count=counts["count"] + 0.5), "type float64"),
        (counts.rename(columns={"count": "n"}), "other columns"),
    ):
        edited.to_csv(tmp_path / "histograms.csv", index=False)
        with pytest.raises(DataError, match=words):
            plan.responses(path)
    (tmp_path / "histograms.csv").unlink()
    with pytest.raises(DataError, match=r"histograms\.csv: missing"):
        plan.responses(path)
