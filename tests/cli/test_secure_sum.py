"""``deniable secure-sum``: docs/secure-sum.md carried out, streams, counts, and refusals."""

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from deniable.cli import main
from deniable.plans import read_plan
from deniable.randomized_response import SumMessage, summed_tables
from deniable.schema import read_schema

PAGE = Path(__file__).resolve().parents[2] / "docs" / "secure-sum.md"
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```", re.MULTILINE | re.DOTALL)
SHARE = "secure-sum share north.csv survey.yaml --session may --party 1 --parties 3"


@pytest.fixture(scope="module")
def carried_out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, before = tmp_path_factory.mktemp("page"), Path.cwd()
    (folder / "bin").mkdir()
    (folder / "bin" / "deniable").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m deniable "$@"')
    (folder / "bin" / "deniable").chmod(0o755)
    variables = os.environ | {"PATH": f"{folder}/bin{os.pathsep}{os.environ['PATH']}"}
    os.chdir(folder)
    try:
        for language, text in BLOCK.findall(PAGE.read_text("utf-8")):
            if language == "python":
                exec(text, {})
            else:
                subprocess.run(["sh", "-e", "-c", text], env=variables, check=True)
    finally:
        os.chdir(before)
    return folder


@pytest.fixture
def folder(carried_out: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(carried_out)
    return carried_out


def test_the_page_counts_all_files_and_plans_by_them(folder: Path) -> None:
    frame = pd.concat([pd.read_csv(f"{name}.csv") for name in ("north", "south", "west")])
    total = Path("total.json").read_text()
    assert total == Path("piped.json").read_text()
    tables = summed_tables(SumMessage.read(total, "total"), read_schema("survey.yaml").domain())
    for (first, second), table in tables.items():
        direct = pd.crosstab(frame[first], frame[second])
        expected = direct.reindex(["no", "yes"] if first == "smokes" else direct.index)
        order = {"cough": ["never", "often", "daily"], "sex": ["F", "M"]}
        expected = expected[order[second]].reindex(order.get(first, expected.index))
        np.testing.assert_array_equal(table, expected)
    plan = read_plan("plan.json")
    assert ("smokes", "cough") in plan.record_protocol.clusters  # type: ignore[union-attr]
    assert plan.chosen_from == "the data, by a secure sum"
    assert Path("north").stat().st_mode & 0o077 == 0


def test_a_file_of_counts_is_a_file_of_records(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = pd.read_csv("north.csv")
    counts = frame.value_counts().rename("n").reset_index()
    counts.to_csv("counts.csv", index=False)
    weight = "  - {name: n, kind: weight}\n"
    Path("counts.yaml").write_text(Path("survey.yaml").read_text() + weight)
    lines = ""
    for party, file in enumerate(("counts.csv", "south.csv", "west.csv"), 1):
        schema, more = ("counts.yaml", "--count n") if party == 1 else ("survey.yaml", "")
        options = f"{file} {schema} --session may --party {party} --parties 3 {more}"
        assert main(f"secure-sum share {options}".split()) == 0
        lines += capsys.readouterr().out
    sums = ""
    for party in (1, 2, 3):
        own = [line for line in lines.splitlines() if json.loads(line)["receiver"] == party]
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("\n".join(own).encode())))
        assert main(["secure-sum", "add"]) == 0
        sums += capsys.readouterr().out
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(sums.encode())))
    assert main(["secure-sum", "total", "survey.yaml", "--out", "again.json"]) == 0
    assert Path("again.json").read_text() == Path("total.json").read_text()
    counts.assign(n=0.5).to_csv("counts.csv", index=False)
    assert main(f"{SHARE} --count n".replace("north.csv survey", "counts.csv counts").split()) == 2
    assert "column n: give numbers of records as integers" in capsys.readouterr().err


ADD = "secure-sum add north/share-1-to-1.jsonl south/share-2-to-1.jsonl"
REFUSED = {
    f"{SHARE} --out north": "north: it exists; name a new folder for the shares",
    f"{SHARE} --table smokes,age": "unknown column 'age'",
    f"{SHARE} --table smokes": "tables of two columns",
    f"{SHARE} --count sex": "unknown weight 'sex'",
    SHARE.replace("--party 1", "--party 4"): "allowed: party 1 to 3",
    ADD: "no message came from party 3; wait for it",
    f"{ADD} west/share-3-to-2.jsonl --out x": "party 3 has receiver 2, and the first message 1",
    f"{ADD} south/share-2-to-1.jsonl": "from party 2 is repeated",
    f"{ADD} north.csv": "north.csv, line 1: not a message of a secure sum",
    f"{ADD} gone.jsonl": "gone.jsonl: No such file",
    f"{ADD} west/share-3-to-1.jsonl --out north.csv": "a file exists there that is not a sum",
    f"{ADD} west/share-3-to-1.jsonl --out north/share-1-to-1.jsonl": "an input of the command",
    "secure-sum add sum-1.jsonl sum-2.jsonl sum-3.jsonl": "total takes partial sums",
    "secure-sum total other.yaml sum-1.jsonl sum-2.jsonl sum-3.jsonl --out x": "not a total for",
}


@pytest.mark.parametrize("command", REFUSED)
def test_errors_have_one_message_and_write_nothing(
    command: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = Path("survey.yaml").read_text()
    Path("other.yaml").write_text(text.replace("[F, M]", "[F, X]"))
    before = sorted(folder.rglob("*"))
    assert main(command.split()) == 2
    said = capsys.readouterr()
    assert REFUSED[command] in said.err
    assert said.err.count("\n") == 1
    assert (said.out, sorted(folder.rglob("*"))) == ("", before)
