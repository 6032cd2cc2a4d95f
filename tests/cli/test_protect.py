"""``deniable protect --test``: a test release of an own file, and its comparison."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.release.small_releases import KINDS, content, ledger_in, plan_for, records, written

from deniable.analysis import Released
from deniable.cli import main
from deniable.files import read_table
from deniable.plans import write_plan

FIRST = "TEST RELEASE: anybody with the seed can undo its protection; do not publish it."


def command(kind: str, folder: Path, to: str) -> list[str]:
    """Write file and plan; return the command that protects the one by the other."""
    file = written(records(), plan_for(kind), folder / "records")
    write_plan(folder / "plan.json", plan_for(kind))
    return ["protect", str(file), str(folder / "plan.json"), "--out", str(folder / to)]


@pytest.mark.parametrize("kind", KINDS)
def test_it_has_a_folder_of_its_own_and_is_counted_nowhere(kind: str, tmp_path: Path) -> None:
    protect, trial = command(kind, tmp_path, "trial"), tmp_path / "trial"
    assert main([*protect, "--test", "7"]) == 0
    assert {path.name for path in trial.iterdir()} == {"test", "private"}
    assert not (tmp_path / "ledger").exists()
    assert (trial / "test" / "README.txt").read_text("utf-8").splitlines()[0] == FIRST
    compared = trial / "private" / "comparison.csv"
    modes = [path.stat().st_mode & 0o777 for path in (compared.parent, compared)]
    assert modes == [0o700, 0o600]
    assert len(read_table(compared)) > 1  # a reason would be one row
    before = content(trial)
    for seed, same in (("7", True), ("8", False)):
        assert main([*protect, "--test", seed]) == 0
        assert (content(trial) == before) == same


def test_estimates_are_beside_the_original_proportions(tmp_path: Path) -> None:
    assert main([*command("columns", tmp_path, "trial"), "--test", "7"]) == 0
    table = read_table(tmp_path / "trial" / "private" / "comparison.csv")
    own = table[(table["check"] == "coverage") & (table["columns"] == "a")]
    true = records()["a"].value_counts(normalize=True)[own["values"]]
    np.testing.assert_allclose(own["original"], true, rtol=1e-8)
    margins = Released(tmp_path / "trial" / "test").margins("a", target="file")
    for name in ("estimate", "ci_low", "ci_high"):
        np.testing.assert_allclose(own[name], margins[name], rtol=1e-8)


def test_estimates_from_it_repeat_its_notice_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command("columns", tmp_path, "trial"), "--test", "7"]) == 0
    assert "anybody with the seed 7 can undo it" in capsys.readouterr().out
    test, file = str(tmp_path / "trial" / "test"), tmp_path / "answers.txt"
    assert main(["estimate", test]) == 0
    said = capsys.readouterr()
    assert said.err == f"deniable: note: {FIRST}\n"
    assert "TEST RELEASE" not in said.out
    assert main(["estimate", test, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["about"][0] == FIRST
    for _ in range(2):  # its own file is replaced
        assert main(["estimate", test, "--out", str(file)]) == 0
    assert file.read_text("utf-8").startswith(f"{FIRST}\nEstimated from")
    assert main(["estimate", str(tmp_path / "trial")]) == 2
    assert f"give {test}\n" in capsys.readouterr().err


def test_no_folder_has_a_test_and_a_production_release(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made, trial = (command("columns", tmp_path, to) for to in ("made", "trial"))
    ledger = ["--ledger", str(ledger_in(tmp_path / "ledger"))]
    assert main([*made, *ledger]) == main([*trial, "--test", "7"]) == 0
    before = content(tmp_path)
    assert main([*made, "--test", "7"]) == main([*trial, *ledger]) == 2
    said = capsys.readouterr().err
    assert "give the test release another name" in said
    assert "a test release is stored there; name another folder" in said
    after = content(tmp_path)
    assert b'"event":"refused","release":"trial"' in after.pop("ledger/log.jsonl")
    assert after == before
