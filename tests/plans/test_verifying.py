"""What plans state, held to their channels from the file alone."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from tests.plans.test_making import schema

from deniable.channels import KeepOrReplace, channel_to_json
from deniable.errors import DataError
from deniable.plans import make_plan, verify_plan, write_plan


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "plan.json"
    write_plan(path, make_plan(schema(), 3.0, clusters=[("sex", "region")]))
    return path


def change(path: Path, edit: Any) -> None:
    values = json.loads(path.read_text())
    edit(values)
    path.write_text(json.dumps(values))


def test_a_plan_holds(written: Path) -> None:
    table = verify_plan(written)
    assert table["holds"].all()
    assert table["of"].tolist() == [
        "sex x region",
        "age",
        "one",
        "a change of sex",
        "a change of region",
        "a change of age",
        "a change of one",
        "the whole record",
        "the whole record, as asked for",
    ]
    assert (table["stated"] == table["exact"])[:-1].all()
    assert table["exact"].iloc[-2] == pytest.approx(math.fsum(table["exact"][:3]), rel=1e-15)


def test_a_statement_below_the_truth_does_not_hold(written: Path) -> None:
    change(written, lambda plan: plan["epsilon"].update(record=2.9))
    table = verify_plan(written)
    assert table.loc[~table["holds"], "of"].tolist() == ["the whole record"]


def test_a_channel_that_tells_more_than_stated_is_found(written: Path) -> None:
    channel = channel_to_json(KeepOrReplace.of_epsilon(24, 2.5))

    def edit(plan: dict[str, Any]) -> None:
        plan["protocol"]["clusters"][0]["channel"] = channel

    change(written, edit)
    table = verify_plan(written).set_index("of")
    assert table.loc["sex x region", "exact"] == pytest.approx(2.5, rel=1e-9)
    assert not table.loc[["sex x region", "a change of sex", "the whole record"], "holds"].any()
    assert table.loc["age", "holds"]


@pytest.mark.parametrize(
    "edit",
    [
        lambda plan: plan.pop("blocks"),
        lambda plan: plan["blocks"].pop(),
        lambda plan: plan["blocks"].reverse(),
        lambda plan: plan["epsilon"]["by_changed_attribute"].pop("sex"),
        lambda plan: plan.update(epsilon=3),
        lambda plan: plan["protocol"]["clusters"].pop(),
    ],
)
def test_a_damaged_plan_is_refused(written: Path, edit: Any) -> None:
    change(written, edit)
    with pytest.raises(DataError, match="make it again"):
        verify_plan(written)


@pytest.mark.parametrize("text", ["", "[" * 100_000, "[]", "null", "NaN"])
def test_what_is_no_plan_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "plan.json"
    path.write_text(text)
    with pytest.raises(DataError, match=str(path)):
        verify_plan(path)
