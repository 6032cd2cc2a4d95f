"""``deniable protect --test``: a test release of an own file, and its comparison."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.release.small_releases import KINDS, content, plan_for, records, written

from deniable.analysis import Released
from deniable.cli import main
from deniable.files import read_table
from deniable.plans import write_plan

FIRST = "TEST RELEASE: anybody with the seed can undo its protection; do not give it away."


def commands(kind: str, folder: Path) -> list[str]:
    """Write file and plan; return the command without the folder of the release."""
    file = written(records(), plan_for(kind), folder / "records")
    write_plan(folder / "plan.json", plan_for(kind))
    return ["protect", str(file), str(folder / "plan.json"), "--out"]


@pytest.mark.parametrize("kind", KINDS)
def test_it_goes_to_a_folder_of_its_own_and_is_counted_nowhere(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command, trial = commands(kind, tmp_path), tmp_path / "trial"
    assert main([*command, str(trial), "--test", "7"]) == 0
    assert "anybody with the seed 7 can undo it" in capsys.readouterr().out
    assert {path.name for path in trial.iterdir()} == {"test", "private"}
    assert not (tmp_path / "ledger").exists()
    assert (trial / "test" / "README.txt").read_text("utf-8").splitlines()[0] == FIRST
    compared = trial / "private" / "comparison.csv"
    modes = [path.stat().st_mode & 0o777 for path in (compared.parent, compared)]
    assert modes == [0o700, 0o600]
    table = read_table(compared)
    assert len(table) > 1  # a reason would be one row
    assert set(table["mode"]) == {"test"}
    before = content(trial)
    assert main([*command, str(trial), "--test", "7"]) == 0
    assert content(trial) == before
    assert main([*command, str(trial), "--test", "8"]) == 0
    assert content(trial) != before


def test_estimates_are_beside_the_original_proportions(tmp_path: Path) -> None:
    assert main([*commands("columns", tmp_path), str(tmp_path / "trial"), "--test", "7"]) == 0
    table = read_table(tmp_path / "trial" / "private" / "comparison.csv")
    own = table[(table["check"] == "coverage") & (table["columns"] == "a")]
    true = records()["a"].value_counts(normalize=True)[own["values"]]
    np.testing.assert_allclose(own["original"], true, rtol=1e-8)
    margins = Released(tmp_path / "trial" / "test").margins("a", target="file")
    for name in ("estimate", "ci_low", "ci_high"):
        np.testing.assert_allclose(own[name], margins[name], rtol=1e-8)
    assert own["coverage"].between(0.9, 0.99).all()


def test_estimates_from_it_repeat_its_notice_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*commands("columns", tmp_path), str(tmp_path / "trial"), "--test", "7"]) == 0
    public = str(tmp_path / "trial" / "test")
    capsys.readouterr()
    assert main(["estimate", public]) == 0
    said = capsys.readouterr()
    assert said.err == f"deniable: note: {FIRST}\n"
    assert "TEST RELEASE" not in said.out
    assert main(["estimate", public, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["about"][0] == FIRST
    file = tmp_path / "answers.txt"
    for _ in range(2):  # which replaces its own file
        assert main(["estimate", public, "--out", str(file)]) == 0
    assert file.read_text("utf-8").startswith(f"{FIRST}\nEstimated from")
    capsys.readouterr()
    assert main(["estimate", str(tmp_path / "trial")]) == 2
    assert f"give {public}\n" in capsys.readouterr().err


def test_test_and_production_releases_have_folders_of_their_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = commands("columns", tmp_path)
    made, trial = [*command, str(tmp_path / "made")], [*command, str(tmp_path / "trial")]
    assert main(made) == 0
    assert main([*trial, "--test", "7"]) == 0
    before = content(tmp_path)
    assert main([*made, "--test", "7"]) == 2
    assert main([*trial, "--ledger", str(tmp_path / "ledger"), "--consent", "x"]) == 2
    said = capsys.readouterr().err
    assert "give the test release another name" in said
    assert "a test release is stored there; name another folder" in said
    assert content(tmp_path) == before
