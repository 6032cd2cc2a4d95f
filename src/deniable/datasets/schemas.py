"""Describe records of the manifest's data sets in the format of `deniable.schema`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from deniable.files import write_text
from deniable.records import Microdata, NumericMicrodata

HEAD = "# Written with the records beside it. Categories and bounds are those of the manifest.\n"


def write_schema(
    path: Path | str,
    data: Microdata | NumericMicrodata,
    population: str,
    bounds: Mapping[str, tuple[float, float]] | None = None,
) -> None:
    """Write the schema of `data`, as stored by `write_parquet`, to the YAML file `path`.

    They are records of the `population`. `bounds` are public bounds (low, high) of numeric columns;
    a numeric column without bounds is declared ``left_out``.
    """
    if isinstance(data, Microdata):
        columns: list[dict[str, Any]] = [
            {"name": each.name, "kind": "categorical", "categories": [*each.categories]}
            | ({"ordered": True} if each.scale == "ordinal" else {})
            for each in data.domain
        ]
    else:
        public = {name: [*ends] for name, ends in (bounds or {}).items()}
        columns = [
            {"name": name, "kind": "numeric", "type": "double", "bounds": public[name]}
            if name in public
            else {"name": name, "kind": "left_out", "type": "double"}
            for name in data.names
        ]
        if data.classes:
            column = {"name": data.class_name, "kind": "categorical"}
            columns.append(column | {"categories": [*data.classes]})
    values = {"format": "deniable-schema", "version": 1, "population": population}
    values |= {"file": {"kind": "parquet"}, "columns": columns}
    text = yaml.safe_dump(values, sort_keys=False, default_flow_style=None, width=float("inf"))
    write_text(path, HEAD + text, private=True)
