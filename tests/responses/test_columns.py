"""What a protected file has in its columns."""

import pytest

from deniable.plans import make_plan
from deniable.schema import schema_from_dict


@pytest.mark.parametrize("mechanism", ["square-wave", "generalized-rr"])
@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize("code", ["-0.5", "5.5", "5", "-9", ""])
def test_a_missing_value_is_told_from_each_number(mechanism: str, decimal: str, code: str) -> None:
    code = code.replace(".", decimal)
    column = {"name": "a", "kind": "numeric", "bounds": [0, 5], "step": 0.5, "decimal": decimal}
    column["missing"] = {"values": [code], "policy": "category"}
    about = {"format": "deniable-schema", "version": 1, "population": "survey"}
    schema = schema_from_dict(about | {"file": {"kind": "csv"}, "columns": [column]})
    (reported,) = make_plan(schema, 2.0, mechanism=mechanism).layout.columns
    assert len(set(reported.texts)) == len(reported.texts)
    numbers = {text for text in reported.texts[:-1] if text.replace(decimal, ".", 1)}
    assert len(numbers) == len(reported.texts) - 1
    assert reported.texts[-1] == ("" if code in numbers else code)
