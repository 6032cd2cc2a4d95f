"""The output of a command replaces no input of it and no file of another origin."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from deniable.cli import main

SCHEMA = """\
format: deniable-schema
version: 1
population: survey
file: {kind: csv, delimiter: ",", encoding: utf-8}
columns:
  - {name: answer, kind: categorical, categories: [F, M]}
  - {name: grade, kind: categorical, categories: [low, mid, high]}
"""
PARQUET = SCHEMA.replace('{kind: csv, delimiter: ",", encoding: utf-8}', "{kind: parquet}")
PLAN = "plan survey.yaml --epsilon 2 --out"
DATA = " --data survey.csv --accept chosen_by_data"
INPUT, OTHER = "an input of the command", "a file exists there that is not"


def linked(way: Callable[[str, str], object]) -> Callable[[], object]:
    return lambda: way("survey.csv", "link")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with files of all kinds, the plan and release of them too."""
    folder, before = tmp_path_factory.mktemp("whole"), Path.cwd()
    os.chdir(folder)
    try:
        Path("survey.yaml").write_text(SCHEMA)
        rows = ["F,low", "M,mid", "F,high", "M,low"] * 50
        Path("survey.csv").write_text("\n".join(["answer,grade", *rows, ""]))
        Path("prior.csv").write_text("category,probability\nF,0.9\nM,0.1\n")
        Path("spec.yaml").write_text("proportions: {a: .6, b: .4}\nrequirements: {epsilon: 1.0}\n")
        Path("parts").mkdir()
        pd.read_csv("survey.csv").to_parquet("parts/0.parquet")
        Path("parts.yaml").write_text(PARQUET)
        for name in ("compared/compare.csv", "designed/spec-properties.json", "x/spec-matrix.csv"):
            Path(name).parent.mkdir()
            Path(name).write_text("a,b\n")
        assert main([*PLAN.split(), "plan.json"]) == 0
        assert main(["plan", "parts.yaml", "--epsilon", "2", "--out", "parts.json"]) == 0
        assert main(["ledger", "init", "ledger"]) == 0
        protect = "protect survey.csv plan.json --out made --ledger ledger"
        assert main(protect.split()) == 0
    finally:
        os.chdir(before)
    return folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(whole, tmp_path / "own")
    monkeypatch.chdir(tmp_path / "own")
    return tmp_path / "own"


def content(folder: Path) -> dict[str, bytes]:
    files = (file for file in folder.rglob("*") if file.is_file())
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}


ESTIMATE = "estimate made/public"
CASES: dict[str, tuple[str, Callable[[], object], str]] = {
    "schema": (f"{PLAN} survey.yaml", lambda: None, f"survey.yaml: this is survey.yaml, {INPUT}"),
    "data": (f"{PLAN} survey.csv{DATA}", lambda: None, INPUT),
    "spelling": (f"{PLAN} parts/../survey.csv{DATA}", lambda: None, INPUT),
    "symlink": (f"{PLAN} link{DATA}", linked(os.symlink), f"link: this is survey.csv, {INPUT}"),
    "hard link": (f"{PLAN} link{DATA}", linked(os.link), INPUT),
    "prior": (f"{PLAN} prior.csv --prior answer=prior.csv", lambda: None, INPUT),
    "part of the data": (
        "plan parts.yaml --epsilon 2 --out parts/1.parquet --data parts --accept chosen_by_data",
        lambda: None,
        f"parts/1.parquet: this is in parts, {INPUT}",
    ),
    "data that is not named": (f"{PLAN} survey.csv", lambda: None, f"{OTHER} a plan of deniable"),
    "published plan": (f"{PLAN} made/public/plan.json", lambda: None, "in a published folder"),
    "matrices are the plan": (
        f"{PLAN} new.json --matrices ./new.json",
        lambda: None,
        f"new.json: this is new.json, {INPUT}",
    ),
    "root": (
        f"{ESTIMATE} --out /",
        lambda: None,
        "/: a folder, which a file of estimates cannot replace",
    ),
    "comparison in public": (
        "compare survey.csv survey.yaml --epsilon 1 --out made/public",
        lambda: None,
        "made/public/compare.csv: this file is in a published folder",
    ),
    "release in the ledger": (
        "protect parts parts.json --ledger ledger --out ledger/x",
        lambda: None,
        "ledger/x: this lies in the ledger; name a folder elsewhere",
    ),
    "release is the ledger": (
        "protect parts parts.json --ledger ledger --out ledger",
        lambda: None,
        "ledger: this lies in the ledger",
    ),
    "compared data": (
        "compare compared/compare.csv survey.yaml --epsilon 1 --out compared",
        lambda: None,
        INPUT,
    ),
    "comparison": (
        "compare survey.csv survey.yaml --epsilon 1 --out compared",
        lambda: None,
        f"{OTHER} a comparison of deniable",
    ),
    "specification": ("design spec.yaml --matrix ./spec.yaml", lambda: None, INPUT),
    "matrix": ("design spec.yaml --matrix survey.csv", lambda: None, f"{OTHER} a matrix"),
    "matrix in a folder": ("design spec.yaml --output x", lambda: None, f"{OTHER} a matrix"),
    "properties": ("design spec.yaml --output designed", lambda: None, f"{OTHER} a design"),
    "release in the data": (
        "protect parts parts.json --ledger ledger --out parts/x",
        lambda: None,
        INPUT,
    ),
    "release is the data": (
        "protect parts parts.json --ledger ledger --out parts",
        lambda: None,
        INPUT,
    ),
    "estimates": (f"{ESTIMATE} --out survey.csv", lambda: None, f"{OTHER} a file of estimates"),
    "records": (
        f"{ESTIMATE} --synthetic 5 --out survey.csv",
        lambda: None,
        f"{OTHER} replaced by a file of records",
    ),
    "published": (f"{ESTIMATE} --out made/public/../public/x", lambda: None, INPUT),
}


@pytest.mark.parametrize(("command", "prepare", "words"), CASES.values(), ids=CASES)
def test_no_input_and_no_other_file_is_replaced(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    command: str,
    prepare: Callable[[], object],
    words: str,
) -> None:
    prepare()
    before = content(folder)
    assert main(command.split()) == 2
    said = capsys.readouterr()
    assert words in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""
    after = content(folder)
    after.pop("ledger/log.jsonl", None)  # of refusals
    assert after == before


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "command",
    [
        f"{PLAN} plan.json --split size",
        "compare survey.csv survey.yaml --epsilon 1 --out new",
        "design spec.yaml --output new",
        "design spec.yaml --matrix new.csv",
        *(f"{ESTIMATE} --format {each} --out new.txt" for each in ("text", "csv", "json", "html")),
        f"{ESTIMATE} --query grade=low --format csv --out new.txt",
    ],
)
def test_a_file_of_the_same_command_is_replaced(command: str) -> None:
    assert main(command.split()) == 0
    assert main(command.split()) == 0


@pytest.mark.usefixtures("folder")
def test_a_plan_is_recognized_in_other_white_space() -> None:
    plan = json.loads(Path("plan.json").read_text())
    Path("plan.json").write_text(json.dumps(plan, separators=(",", ":")))
    assert main([*PLAN.split(), "plan.json"]) == 0
