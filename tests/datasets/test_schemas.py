"""Schemas of prepared data sets are those of their Parquet files."""

from pathlib import Path

import numpy as np
import pytest

from deniable.datasets import write_schema
from deniable.records import Attribute, Domain, Microdata, NumericMicrodata
from deniable.schema import RecordsFile, read_schema
from deniable.validation import read_yaml

DOMAIN = Domain(
    (
        Attribute("degree", ("10th", "no", "1e3", "[24, 25)", "<=50K, >30K", "?"), "ordinal"),
        Attribute("sex", ("Female", "Male")),
    )
)


def test_a_categorical_schema_reads_its_parquet_file(tmp_path: Path) -> None:
    data = Microdata(DOMAIN, (np.arange(6), np.arange(6) % 2))
    data.write_parquet(tmp_path / "people.parquet", private=True)
    write_schema(tmp_path / "people.schema.yaml", data, "people")
    schema = read_schema(tmp_path / "people.schema.yaml")
    assert (schema.population, schema.file.kind, schema.drafted) == ("people", "parquet", ())
    assert schema.domain() == DOMAIN
    assert schema["degree"].ordered
    assert (tmp_path / "people.schema.yaml").stat().st_mode & 0o077 == 0
    (batch,) = RecordsFile.open(tmp_path / "people.parquet", schema).portions()
    for name in DOMAIN.names:
        np.testing.assert_array_equal(batch.codes[name], data.column(name))


@pytest.mark.parametrize("classes", [(), ("low", "high")])
def test_numbers_have_public_bounds_or_are_left_out(
    tmp_path: Path, classes: tuple[str, ...]
) -> None:
    about = ("income", classes, [0, 1, 1]) if classes else ()
    data = NumericMicrodata(("age", "tax"), np.arange(6.0).reshape(3, 2), *about)
    write_schema(tmp_path / "tax.schema.yaml", data, "payers", {"age": (0.0, 120.0)})
    columns = read_yaml(tmp_path / "tax.schema.yaml")["columns"]
    assert columns[:2] == [
        {"name": "age", "kind": "numeric", "type": "double", "bounds": [0.0, 120.0]},
        {"name": "tax", "kind": "left_out", "type": "double"},
    ]
    kept = {"name": "income", "kind": "categorical", "categories": [*classes]}
    assert columns[2:] == ([kept] if classes else [])
