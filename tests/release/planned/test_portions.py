"""What is drawn from a file, however it is divided."""

from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniable.channels import KeepOrReplace, SubsetSelection
from deniable.plans import ColumnsPlan
from deniable.randomized_response import Protocol
from deniable.release import ReleaseKey
from deniable.release.planned.design import designed, protected
from deniable.release.planned.protecting import planned_release
from deniable.release.planned.records import OwnRecords
from deniable.schema import RecordsFile, schema_from

NUMBER = 1000
SIZES = {"a": 2, "b": 5, "c": 7}


def plan_of(order: str) -> ColumnsPlan:
    columns = [
        {"name": name, "kind": "categorical", "categories": [f"{name}{u}" for u in range(size)]}
        for name, size in SIZES.items()
    ]
    schema = schema_from(
        {"format": "deniable-schema", "version": 1, "population": "people"}
        | {"file": {"kind": "parquet"}, "columns": columns}
    )
    channels = (KeepOrReplace.of_epsilon(10, 1.0), SubsetSelection.of_epsilon(7, 0.5))
    protocol = Protocol(schema.domain(), (("a", "b"), ("c",)), channels)
    return ColumnsPlan(schema, protocol, 1.5, ("", ""), order=order)  # type: ignore[arg-type]


def drawn(folder: Path, order: str, group: int, rows: int) -> tuple[pa.Table, object, list[bytes]]:
    """Return reports and digests by one key, from row groups and portions of these sizes."""
    rng = np.random.default_rng(7)
    table = pa.table(
        {
            name: np.array([f"{name}{u}" for u in range(size)])[rng.integers(0, size, NUMBER)]
            for name, size in SIZES.items()
        }
    )
    pq.write_table(table, folder / "true.parquet", row_group_size=group)
    plan = plan_of(order)
    file = RecordsFile.open(folder / "true.parquet", plan.schema)
    assert all(len(portion) <= rows for portion in file.portions(rows))
    file.portions = partial(file.portions, rows)  # type: ignore[method-assign]
    records = OwnRecords(file, plan, bytes(32))
    release, key = planned_release(plan, "people"), ReleaseKey(bytes(range(32)))
    made = protected(release, designed(release, records, key), records, key)
    made["protected"](folder / "drawn.parquet")
    reports = pq.read_table(folder / "drawn.parquet")
    return reports, records.digests(bytes(32)), list(records.parts())


@pytest.mark.parametrize("order", ["as_in_file", "permuted"])
def test_reports_and_digests_are_those_of_the_records_however_divided(
    tmp_path: Path, order: str
) -> None:
    whole = drawn(tmp_path, order, NUMBER, NUMBER)
    for group, rows in ((NUMBER, 64), (130, NUMBER), (130, 100), (7, 50)):
        assert drawn(tmp_path, order, group, rows) == whole
