"""Schemas from YAML text, a YAML file or plain values."""

import re
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from deniable.errors import DataError, shown
from deniable.schema.model import FORMAT, Schema
from deniable.validation import fault_lines, message, read_yaml, yaml_values

MANUAL = "docs/formats.md describes schemas"


def schema_from_dict(values: Any, where: str = "the schema") -> Schema:
    """Return a schema from plain `values`, or from YAML text such as `draft_schema` returns.

    Messages call them `where`. Raises `DataError` with one line for each error.
    """
    if isinstance(values, str):
        values = yaml_values(values, where)
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        other = isinstance(values, dict) and values.get("format") == "deniable-plan"
        what = "this is a plan, but a schema is needed" if other else "not a schema"
        raise DataError(f"{where}: {what}; a schema begins with format: {FORMAT}")
    try:
        return Schema.model_validate(values)
    except ValidationError as error:
        lines, columns = list[str](), values.get("columns")
        for line in fault_lines(error, Schema):
            found = re.match(r"columns\[(\d+)\]", line)
            own = columns[int(found[1])] if found and columns else None
            name = own.get("name") if isinstance(own, dict) else None
            lines.append(f"column {shown(name)}: {line}" if isinstance(name, str) else line)
        raise DataError(message(where, lines, MANUAL)) from None


def read_schema(path: Path | str) -> Schema:
    """Read a schema from the YAML file `path`.

    Raises `DataError` if the file cannot be read, or with one line for each error in it.
    """
    return schema_from_dict(read_yaml(path), str(path))
