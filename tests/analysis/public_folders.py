"""Public folders of small releases: a survey of known truth, through all kinds of channels."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from deniable.arrays import Codes
from deniable.channels import Channel, KeepOrReplace, ProductChannel, SquareWave, SubsetSelection
from deniable.files import sha256, write_text
from deniable.plans import ColumnsPlan, write_plan
from deniable.randomized_response import Protocol
from deniable.records import Microdata
from deniable.sampling import KeyedDraws
from deniable.schema import Schema, schema_from_dict

COLUMNS: list[dict[str, Any]] = [
    {"name": "sex", "kind": "categorical", "categories": ["F", "M"]},
    {
        "name": "income",
        "kind": "categorical",
        "ordered": True,
        "categories": ["low", "mid", "high"],
        "missing": {"values": ["", "NA"], "policy": "category"},
    },
    {"name": "region", "kind": "categorical", "categories": ["a", "b", "c"]},
    {"name": "owner", "kind": "categorical", "categories": ["no", "yes"]},
    {"name": "age", "kind": "numeric", "bounds": [0, 30], "step": 2.5},
    {"name": "w", "kind": "weight"},
]
CLUSTERS = (("sex",), ("income",), ("region", "owner"), ("age",))


def survey_schema(kind: str = "csv") -> Schema:
    form = {"kind": kind} | ({"delimiter": ";"} if kind == "csv" else {})
    about = {"format": "deniable-schema", "version": 1, "population": "survey", "file": form}
    return schema_from_dict(about | {"columns": COLUMNS})


def survey_channels(epsilon: float = 3.0) -> tuple[Channel, ...]:
    return (
        KeepOrReplace.of_epsilon(2, epsilon),
        SubsetSelection.of_epsilon(4, epsilon, 2),
        KeepOrReplace.of_epsilon(6, epsilon),
        SquareWave.of_epsilon(13, epsilon, 1),
    )


def survey_plan(kind: str = "csv", channels: tuple[Channel, ...] | None = None) -> ColumnsPlan:
    schema = survey_schema(kind)
    protocol = Protocol(schema.domain(), CLUSTERS, channels or survey_channels())
    why = ("stated",) * len(CLUSTERS)
    asked = protocol.epsilon
    return ColumnsPlan(schema, asked, protocol, why, accept=("weights_released",))


def survey_truth(records: int, seed: int) -> tuple[Microdata, np.ndarray]:
    """Return records in which columns depend on each other, and a weight for each."""
    chance = np.random.default_rng(seed)
    sex = chance.integers(0, 2, records)
    income = np.minimum(chance.binomial(3, 0.25 + 0.25 * sex), 3)
    region = chance.choice(3, records, p=[0.5, 0.3, 0.2])
    owner = (chance.random(records) < 0.2 + 0.25 * region).astype(int)
    age = np.clip(np.round(chance.normal(5 + 2 * sex, 2, records)), 0, 12).astype(int)
    columns = tuple(each.astype(np.uint8) for each in (sex, income, region, owner, age))
    return Microdata(survey_schema().domain(), columns), 1.0 + income + chance.random(records)


def write_public(
    folder: Path, plan: ColumnsPlan, true: Microdata, weights: Codes | Any, seed: int = 0
) -> Path:
    """Randomize records, by a key, and write what a release of them has in public."""
    folder.mkdir(parents=True, exist_ok=True)
    draws = KeyedDraws(bytes([seed % 256, seed // 256]) + bytes(30), b"test")
    reports = plan.protocol.randomize(true, draws)
    kind = plan.schema.file.kind
    columns: Mapping[str, pa.Array] = {
        each.name: (pa.array(each.texts) if kind == "csv" else each.values).take(
            pa.array(reports.column(each.name))
        )
        for each in plan.layout.columns
    }
    table = pa.table({**columns, "w": pa.array(weights)})
    path = folder / f"protected.{kind}"
    if kind == "csv":
        options = pyarrow.csv.WriteOptions(delimiter=plan.schema.file.delimiter or ",")
        pyarrow.csv.write_csv(table, path, options)
    elif kind == "parquet":
        pq.write_table(table, path, row_group_size=500)
    else:
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table, max_chunksize=500)
    write_plan(folder / "plan.json", plan)
    names = ("plan.json", path.name)
    write_text(folder / "SHA256SUMS", "".join(f"{sha256(folder / n)}  {n}\n" for n in names))
    return folder


def kronecker(epsilon: float = 3.0) -> ProductChannel:
    """Return a channel of region and owner, each on its own."""
    return ProductChannel(
        (KeepOrReplace.of_epsilon(3, epsilon / 2), KeepOrReplace.of_epsilon(2, epsilon / 2))
    )
