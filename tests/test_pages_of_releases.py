"""Commands of README.md, docs/production-releases.md and docs/ledger.md, carried out as they stand.

Only the folder of the ledger is another one, and the draft of the schema is edited as the README
asks.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def lines_of(page: str, heading: str) -> list[str]:
    """Return the commands `deniable` in the section of a page with a heading."""
    section = (ROOT / page).read_text("utf-8").partition(f"\n## {heading}\n")[2]
    blocks = BLOCK.findall(section.partition("\n## ")[0])
    return [line for block in blocks for line in block.splitlines() if line.startswith("deniable")]


@pytest.fixture
def survey(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to a folder with a survey and the command `deniable`."""
    monkeypatch.chdir(tmp_path)
    rows = ["F,no", "F,no", "F,yes", "M,no", "M,yes"] * 400
    (tmp_path / "survey.csv").write_text("\n".join(["sex,smokes", *rows]) + "\n", encoding="utf-8")
    command = tmp_path / "deniable"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m deniable "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    return tmp_path


def run(line: str) -> str:
    """Run a command of a page in the current folder, and return what it prints."""
    line = line.replace("/safe/ledger", "ledger")
    path = f"{Path.cwd()}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-e", "-c", line],
        env=os.environ | {"PATH": path},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, f"{line}\n{done.stderr}"
    return done.stdout


def declare(schema: Path) -> None:
    """Edit a draft as the README asks."""
    text = schema.read_text(encoding="utf-8").replace("status: drafted", "status: declared")
    schema.write_text(re.sub(r"^population:.*$", "population: survey", text, flags=re.MULTILINE))


def test_the_commands_of_the_readme_and_of_production_releases(survey: Path) -> None:
    drafting, *others = lines_of("README.md", "Protect your own file")
    run(drafting)
    declare(survey / "survey.yaml")
    shown = [run(line) for line in others][-1]
    assert re.search(r"F +yes +0\.\d+ +0\.\d+", shown)
    assert {each.name for each in (survey / "release").iterdir()} == {"public", "private"}
    first, *second = lines_of("docs/production-releases.md", "From the command line")
    assert first == "deniable ledger init /safe/ledger"  # made above
    assert second.pop(0).startswith("deniable protect survey.csv plan.json --out release")
    outputs = [run(line) for line in second]
    assert "release" in outputs[0]
    assert (survey / "second" / "public" / "plan.json").exists()


def test_the_commands_of_the_ledger(survey: Path) -> None:
    outputs = [run(line) for line in lines_of("docs/ledger.md", "Make and read a ledger")]
    assert (survey / "ledger").is_dir()
    assert len(outputs) == 2


def test_the_commands_of_two_persons_and_of_a_withdrawal(survey: Path) -> None:
    drafting = lines_of("README.md", "Protect your own file")[0]
    run(drafting)
    declare(survey / "survey.yaml")
    page = "docs/production-releases.md"
    outputs = [run(line) for line in lines_of(page, "Approval by a second person")]
    assert "data protection unit approves the plan of methods unit" in outputs[2]
    assert (survey / "release" / "private" / "approval.json").exists()
    (withdrawal,) = lines_of(page, "Withdraw a release")
    assert "a corrected one adds its epsilon" in run(withdrawal)
    assert (survey / "release" / "public" / "WITHDRAWN.txt").exists()
