"""Values outside bounds: reported before the draw, refused above a limit, never published."""

import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.release.small_releases import content, ledger_in

from deniable.cli import main
from deniable.errors import BoundsWarning, DeniableError
from deniable.plans import make_plan, write_plan
from deniable.release import Ledger, protect, protect_test
from deniable.schema import OutsideBounds, schema_from_dict

COLUMNS = [
    {"name": "income", "kind": "numeric", "bounds": [0, 15_000], "step": 1_000},
    {"name": "age", "kind": "numeric", "bounds": [0, 90], "step": 10},
]
FILE = {"kind": "csv", "delimiter": ",", "encoding": "utf-8"}
ABOUT = {"format": "deniable-schema", "version": 1, "population": "people", "file": FILE}
PLAN = make_plan(schema_from_dict(ABOUT | {"columns": COLUMNS}), 2.0)
LINE = "column 'income': 3 of 100 values (3 %) lie outside the bounds 0 to 15,000"


@pytest.fixture
def records(tmp_path: Path) -> Path:
    """A hundred records with 3 incomes outside the bounds, and ages inside."""
    incomes = [*range(500, 10_200, 100), -5, 34_724, 34_724]
    table = pd.DataFrame({"income": incomes, "age": [30, 90] * 50})
    table.to_csv(tmp_path / "records.csv", index=False)
    return tmp_path / "records.csv"


@pytest.fixture(autouse=True)
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DENIABLE_LEDGER", str(ledger_in(tmp_path / "ledger")))


def test_more_than_the_limit_is_refused_and_leaves_nothing(tmp_path: Path, records: Path) -> None:
    before, folder = content(tmp_path), tmp_path / "made"
    for limit in (0.01, 0.0299):
        with pytest.raises(DeniableError) as caught:
            protect(records, PLAN, folder, outside_bounds=limit)
        with pytest.raises(DeniableError, match="'made' is not drawn"):
            protect_test(records, PLAN, folder, 1, outside_bounds=limit)
    message = str(caught.value)
    assert LINE in message
    assert "34" not in message  # no value of a record
    assert "'age'" not in message
    assert "Correct the bounds" in message
    assert "the proportion 0.03 (outside_bounds" in message
    after = content(tmp_path)
    assert after.pop("ledger/log.jsonl").count(b'"event":"refused"') == 2
    assert after == before
    assert {each.name for each in tmp_path.iterdir()} == {"ledger", "records.csv"}


def test_a_schema_is_not_a_plan(tmp_path: Path, records: Path) -> None:
    plan: Any = PLAN.schema
    with pytest.raises(DeniableError, match="is not a plan; make one by"):
        protect(records, plan, tmp_path / "made")
    with pytest.raises(DeniableError, match="is not a plan"):
        protect_test(records, plan, tmp_path / "made", 1)
    assert {each.name for each in tmp_path.iterdir()} == {"ledger", "records.csv"}


def test_a_proportion_at_the_limit_is_accepted_and_counted_for_the_owner(
    tmp_path: Path, records: Path
) -> None:
    with pytest.warns(BoundsWarning) as caught:
        protect(records, PLAN, tmp_path / "made", outside_bounds=0.03)
    (given,) = map(str, (each.message for each in caught))
    assert given.startswith(f"{LINE} and are moved to the nearest end")
    assert len(Ledger(tmp_path / "ledger").entries("people")) == 1
    table = (tmp_path / "made" / "private" / "outside_bounds.csv").read_text()
    assert table.splitlines() == [
        "column,lower_bound,upper_bound,below,above,proportion",
        "income,0,15000,1,2,0.03",
        "age,0,90,0,0,0",
    ]
    with warnings.catch_warnings():  # a published release is verified, and nothing is drawn
        warnings.simplefilter("error")
        protect(records, PLAN, tmp_path / "made")


def test_the_proportion_in_the_refusal_is_rounded_up_and_enough(
    tmp_path: Path, records: Path
) -> None:
    pd.read_csv(records)[1:].to_csv(records, index=False)  # 3 of 99
    with pytest.raises(DeniableError, match=r"accept the proportion 0\.031 \(outside_bounds"):
        protect_test(records, PLAN, tmp_path / "made", 1)
    with pytest.warns(BoundsWarning, match="3 of 99 values"):
        protect_test(records, PLAN, tmp_path / "made", 1, outside_bounds=0.031)


def test_the_public_folder_has_no_trace(
    tmp_path: Path, records: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.warns(BoundsWarning):
        protect_test(records, PLAN, tmp_path / "1", 1, name="tried", outside_bounds=1)
    monkeypatch.setattr(OutsideBounds, "plus", lambda self, *_: self)
    protect_test(records, PLAN, tmp_path / "2", 1, name="tried")
    assert content(tmp_path / "1" / "public") == content(tmp_path / "2" / "public")
    assert content(tmp_path / "1" / "private") != content(tmp_path / "2" / "private")


@pytest.mark.parametrize("limit", ["x", None, -0.1, 1.1, float("nan")])
def test_a_limit_is_a_proportion(tmp_path: Path, records: Path, limit: Any) -> None:
    with pytest.raises(DeniableError, match="give a proportion from 0 to 1"):
        protect(
            records, PLAN, tmp_path / "a", outside_bounds=limit, ledger=ledger_in(tmp_path / "l")
        )
    with pytest.raises(DeniableError, match="give a proportion from 0 to 1"):
        protect_test(records, PLAN, tmp_path / "a", 1, outside_bounds=limit)
    assert not (tmp_path / "a").exists()


def test_the_command_prints_a_line_or_refuses(
    tmp_path: Path, records: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_plan(tmp_path / "plan.json", PLAN)
    command = ["protect", str(records), str(tmp_path / "plan.json"), "--out", str(tmp_path / "a")]
    for limit, code, words in [
        ("1.1", 2, "error: outside_bounds is 1.1; give a proportion from 0 to 1"),
        ("0.02", 2, LINE),
        ("0.03", 0, f"warning: {LINE} and are moved to the nearest end"),
    ]:
        assert main([*command, "--outside-bounds", limit]) == code
        assert words in capsys.readouterr().err
