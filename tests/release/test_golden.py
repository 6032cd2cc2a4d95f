"""Files that earlier versions made are read for ever.

The files in tests/golden are never written again, not even if a format changes: this test then
shows that the change is wrong. Each format version has a folder of its own.
"""

import json
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from deniable import Released
from deniable.cli import main
from deniable.files import read_table
from deniable.plans import KINDS, plan_to_json, read_plan, verify_plan
from deniable.release import Ledger, faults_of_entries, faults_of_receipt, verify_release
from deniable.release.counted import entry_of, journal_of
from deniable.release.process import approval_of
from deniable.schema import read_schema

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "1"
PLANS = sorted((GOLDEN / "plans").glob("*.json"))
RELEASES = ("release", "withdrawn")


@pytest.fixture
def golden(tmp_path: Path) -> Path:
    """Return a copy, with the permissions that Git does not keep."""
    folder = Path(shutil.copytree(GOLDEN, tmp_path / "golden"))
    for private in (folder / "ledger", *(folder / name / "private" for name in RELEASES)):
        private.chmod(0o700)
    return folder


@pytest.mark.parametrize("path", PLANS, ids=lambda path: path.stem)
def test_a_plan_is_read_and_its_epsilons_hold(path: Path) -> None:
    plan = read_plan(path)
    assert plan_to_json(plan) == json.loads(path.read_text("utf-8"))
    audit = verify_plan(path)
    audit = audit[~audit["of"].isin(plan.unverifiable)]
    assert (audit["holds"].astype(str) == "False").any() == bool(plan.refuted)


def test_there_is_a_plan_of_each_kind() -> None:
    kinds = {json.loads(path.read_text("utf-8"))["kind"] for path in PLANS}
    assert kinds == {*KINDS, "kept_back"}


def test_schemas_are_read() -> None:
    schema = read_schema(GOLDEN / "schema.yaml")
    kinds = ["identifier", *["categorical"] * 3, *["numeric"] * 2, "weight", "left_out"]
    assert [each.kind for each in schema.columns] == kinds
    assert schema["grade"].missing.policy == "category"
    assert read_schema(GOLDEN / "baskets.yaml").file.unknown_items == "ignore"


@pytest.mark.parametrize("name", RELEASES)
def test_a_release_is_verified(name: str, golden: Path) -> None:
    found = verify_release(golden / name / "public")
    assert found["holds"].all(), found["about"].tolist()
    assert faults_of_receipt(golden / name / "private" / "receipt.json") == []
    assert journal_of(golden / name).place.label.startswith(f"{name}-")
    public = golden / name / "public"
    subprocess.run(["sha256sum", "-c", "--quiet", "SHA256SUMS"], cwd=public, check=True)
    assert main(["verify", str(public)]) == (name == "withdrawn")


def test_a_release_gives_the_same_estimates(golden: Path) -> None:
    own = Released(golden / "release" / "public").margins()
    stored = read_table(golden / "estimates.csv", dtype={"value": str})
    columns = ["column", "value", "estimate", "standard_error", "ci_low", "ci_high"]
    pd.testing.assert_frame_equal(own[columns], stored[columns], rtol=1e-8, check_dtype=False)


def test_a_ledger_has_its_entries(golden: Path) -> None:
    ledger = Ledger(golden / "ledger")
    assert [each.release for each in ledger.entries("people")] == ["release", "withdrawn"]
    assert faults_of_entries(ledger, [golden / name for name in RELEASES]) == {}
    assert entry_of(golden / "withdrawn")["entry"] == 2
    approval = approval_of(read_plan(golden / "release/public/plan.json"), golden / "approval.json")
    assert approval == json.loads((golden / "release/private/approval.json").read_text("utf-8"))


def test_logs_have_their_events() -> None:
    logs = {
        "ledger": ["refused", "refused"],
        "release/private": ["counted", "published"],
        "withdrawn/private": ["counted", "published", "withdrawn"],
    }
    for folder, names in logs.items():
        lines = (GOLDEN / folder / "log.jsonl").read_text("utf-8").splitlines()
        assert [json.loads(line)["event"] for line in lines] == names
