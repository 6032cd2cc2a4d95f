"""``deniable rrba``: three processes, exact distributions, repeated and malformed messages."""

import itertools
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.plans.test_collected import frame_of, schema_of
from tests.rrba.collected_records import some_records

from deniable import CollectedPlan, Released
from deniable.channels import KeepOrReplace
from deniable.cli import main
from deniable.plans import read_plan, write_plan
from deniable.records import Attribute, Domain
from deniable.rrba import Aggregator, Client, Server, TableState, collect, collected_reports

PAIR = Domain((Attribute("a", ("0", "1")), Attribute("b", ("0", "1"))))
DENIABLE = [sys.executable, "-m", "deniable", "rrba"]
RECORDS = 120
PAGE = Path(__file__).resolve().parents[2] / "docs" / "rrba.md"
BLOCK = re.compile(r"^```(python|sh|yaml)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_the_page_can_be_carried_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """docs/rrba.md, with client and aggregator as processes at the same time."""
    monkeypatch.chdir(tmp_path)
    program = tmp_path / "deniable"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m deniable "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    files = iter(("survey.yaml", "plan.yaml", "pooled.yaml", "first.yaml"))
    for language, text in BLOCK.findall(PAGE.read_text("utf-8")):
        if language == "yaml":
            Path(next(files)).write_text(text)
        elif language == "python":
            exec(text, {})
        else:
            subprocess.run(["sh", "-e", "-c", text], check=True, timeout=200)
    released = Released("collected")
    assert released.records == 90
    assert set(released.margins()["column"]) == {"sex", "town", "smokes"}
    assert len(list(Path("state").glob("*.jsonl"))) == 90
    for update in ("pooled", "first"):
        fake = pd.read_csv(f"by-{update}/test/answers.csv", dtype=str)["fake"]
        assert fake.nunique() > 2  # tables follow the answers
        assert np.isfinite(read_plan(f"{update}.json").epsilon)


def collected(plan: CollectedPlan, values: list[tuple[int, ...]], source: Any) -> pd.DataFrame:
    """Run the protocol of a plan in memory; clients are asked in their order."""
    design, server = plan.design, Server()
    keeps = [design.randomized[view[0]].keep for view in design.asked]
    asking = Aggregator(design.domain, design.asked, keeps, np.random.default_rng(0), design.rule)
    for start in range(0, len(values), design.block):
        at = range(start, min(start + design.block, len(values)))
        names = [f"c{each}" for each in at]
        for question in asking.open_block(names, [each % len(design.asked) for each in at]):
            own = values[int(question.client[1:])]
            given = question.client, design.domain, own, np.inf, source
            asking.receive(Client(*given, unbounded=plan.design.floor == 0).answer(question))
        for report in asking.close_block():
            server.receive(report)
    return collected_reports(design, server.reports)


@pytest.mark.parametrize(
    "options",
    [{}, {"floor": 0.2, "update": "first_version"}, {"floor": 0.2, "update": "second_version"}],
)
def test_the_distribution_of_the_servers_file_equals_the_enumeration(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    block = 1 if options.get("update") == "first_version" else 2
    plan = CollectedPlan.from_schema(schema_of(PAIR), keep=0.4, block=block, **options)
    truth, found, expected = [(0, 0), (0, 1), (1, 1), (1, 1)], Counter[Any](), Counter[Any]()
    script, weight = list[int](), [1.0]

    def randomize(self: KeepOrReplace, codes: Any, _: Any) -> Any:
        reported = script.pop(0)
        weight[0] *= self.matrix()[int(codes[0]), reported]
        return np.array([reported])

    monkeypatch.setattr(KeepOrReplace, "randomize", randomize)
    for cells in itertools.product(range(4), repeat=4):
        script[:], weight[0] = cells, 1.0
        table = collected(plan, truth, None)
        found[tuple(table["reports"]), tuple(table["fake"])] += weight[0]
        state, rows, chance = TableState.uniform(4), list[tuple[Any, Any]](), 1.0
        for start in range(0, 4, block):
            counts = np.bincount(cells[start : start + block], minlength=4)
            for (a, b), cell in zip(truth[start:], cells[start : start + block], strict=False):
                chance *= 0.4 * (cell == 2 * a + b) + 0.6 * state.table[cell]
            rows.append((counts, state.table))
            state = state.updated(counts, 0.4, plan.design.rule)
        reports, fake = (tuple(np.concatenate(each)) for each in zip(*rows, strict=True))
        expected[reports, fake] += chance
    assert found.keys() == expected.keys()
    assert max(abs(found[each] - expected[each]) for each in expected) < 1e-12
    assert sum(found.values()) == pytest.approx(1, abs=1e-12)


def test_reports_have_the_distribution_of_the_study() -> None:
    plan = CollectedPlan.from_schema(schema_of(PAIR), keep=0.5, block=10, floor=0.1)
    truth, rng = [(0, 0), (0, 1), (1, 1), (1, 1)] * 5, np.random.default_rng(1)
    mine = np.array(
        [collected(plan, truth, rng)["reports"].to_numpy().reshape(2, 4)[1] for _ in range(400)]
    )
    blocks = [
        np.bincount([2 * a + b for a, b in truth[at : at + 10]], minlength=4) for at in (0, 10)
    ]
    study = collect(np.repeat([blocks], 4000, axis=0), 0.5, rng, plan.design.rule).reported[:, 1]
    errors = np.sqrt(mine.var(axis=0) / 400 + study.var(axis=0) / 4000)
    assert (np.abs(mine.mean(axis=0) - study.mean(axis=0)) < 5.5 * errors).all()  # 1.5e-7 overall


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    frame_of(some_records(RECORDS)).to_feather(tmp_path / "r.arrow", compression="uncompressed")
    names = "".join(f"p-{number}\n" for number in range(1, RECORDS + 1))
    (tmp_path / "names.txt").write_text(names)
    return tmp_path


CLIENT = ["client", "plan.json", "r.arrow", "--name", "p", "--state", "st"]
ASK = ["aggregator", "plan.json", "names.txt", "--reports", "rep.jsonl"]


def run_three(test: list[str]) -> None:
    questions, answers = os.pipe(), os.pipe()
    client = subprocess.Popen(
        [*DENIABLE, *CLIENT, *test], stdin=questions[0], stdout=answers[1], stderr=subprocess.PIPE
    )
    asking = subprocess.Popen(
        [*DENIABLE, *ASK, *test], stdin=answers[0], stdout=questions[1], stderr=subprocess.PIPE
    )
    for end in (*questions, *answers):
        os.close(end)
    assert asking.wait(100) == client.wait(100) == 0
    assert subprocess.run([*DENIABLE, *SERVE, *test], check=True).returncode == 0


SERVE = ["server", "plan.json", "rep.jsonl", "--out", "pub"]


@pytest.mark.parametrize(("answers", "size"), [("view", 2), ("table", 4), ("memory", 3)])
def test_three_processes_make_a_public_folder(folder: Path, answers: Any, size: int) -> None:
    plan = CollectedPlan.from_schema(schema_of(), keep=0.6, size=size, answers=answers, block=50)
    write_plan("plan.json", plan)
    run_three(["--test", "3"])
    released = Released(folder / "pub")
    assert released.records == RECORDS
    assert released.margins()["estimate"].notna().all()
    assert read_plan("plan.json").audit()["holds"].all()


def test_messages_are_counted_once_and_a_client_repeats_its_answer(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_plan("plan.json", CollectedPlan.from_schema(schema_of(), keep=0.6))
    run_three([])
    state = Path("st/p-1.jsonl")
    question, answer = state.read_text().splitlines()
    assert state.stat().st_mode & 0o777 == 0o600
    other = json.dumps(json.loads(question) | {"number": 9999})
    lines = "\n".join([question, question, other, "{", other.replace('"plan": "', '"plan": "x')])
    done = subprocess.run(
        [*DENIABLE, *CLIENT], input=lines, text=True, capture_output=True, check=True
    )
    replies = [json.loads(line) for line in done.stdout.splitlines()]
    assert replies[0] == replies[1] == json.loads(answer)
    assert "above the budget" in replies[2]["reason"]
    assert len(replies) == 3
    assert "malformed: 1" in done.stderr
    reports = Path("rep.jsonl").read_text()
    Path("rep.jsonl").write_text(reports + reports + "[]\n")
    capsys.readouterr()
    assert main(["rrba", *SERVE[:-1], "again"]) == 0
    assert f"a repeated report: {len(reports.splitlines())}" in capsys.readouterr().err
    assert Path("again/answers.arrow").read_bytes() == Path("pub/answers.arrow").read_bytes()
    assert main(["rrba", *SERVE]) == 2
    assert "name a new folder" in capsys.readouterr().err


@pytest.mark.parametrize("budget", ["0", "-1", "nan"])
def test_a_budget_that_is_not_above_0_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], budget: str
) -> None:
    write_plan("plan.json", CollectedPlan.from_schema(schema_of(), keep=0.6))
    assert main(["rrba", *CLIENT, f"--budget={budget}"]) == 2
    assert f"--budget {budget}: give a number above 0" in capsys.readouterr().err
    assert not Path("st").exists()


def test_refused_repeated_malformed_late_and_foreign_answers_in_files(folder: Path) -> None:
    """Two aggregators ask one half of the clients each, and watch a folder that is made later."""
    plan = CollectedPlan.from_schema(schema_of(), keep=0.6, size=3, answers="memory", block=60)
    write_plan("plan.json", plan)
    names, asking = Path("names.txt").read_text().splitlines(), list[Any]()
    for place, name in enumerate("ab"):
        Path(f"{name}.txt").write_text("\n".join(names[60 * place : 60 * place + 60]))
        given = [f"{name}.txt", "--reports", f"{name}.jsonl", "--answers", "late", "--wait", "500"]
        command = [*DENIABLE, "aggregator", "plan.json", *given, "--name", name]
        with Path(f"q-{name}").open("w") as out:
            party = subprocess.Popen(command, stdout=out, stderr=subprocess.PIPE, text=True)
        asking.append(party)
    while any(len(Path(f"q-{name}").read_bytes().splitlines()) < 60 for name in "ab"):
        time.sleep(0.1)
    questions = Path("q-a").read_text() + Path("q-b").read_text()
    done = subprocess.run(
        [*DENIABLE, *CLIENT], input=questions, text=True, capture_output=True, check=True
    )
    lost, *answers = done.stdout.splitlines()
    wrong = {"aggregator": "c"}, {"plan": "0" * 64}, {"client": "p-0"}, {"cells": [0] * 9}, {"x": 1}
    lines = [json.dumps(json.loads(lost) | each) for each in wrong]
    refused = {"kind": "refusal", "reason": "no"}
    lines.append(json.dumps({k: v for k, v in json.loads(lost).items() if k != "cells"} | refused))
    Path("late").mkdir()
    Path("late/own.jsonl").write_text("\n".join([*lines, "{", answers[0], *answers, ""]))
    found = [party.communicate(timeout=200)[1] for party in asking]
    reasons = "another plan: 1", "late or doubled: 1", "malformed: 3", "refused: 1"
    assert all(f"not counted, {each}\n" in found[0] for each in reasons), found[0]
    assert "from another client: 1\n" in found[0]
    assert all("not counted, to another aggregator: " in each for each in found)
    assert main(["rrba", "server", "plan.json", "a.jsonl", "b.jsonl", "--out", "pub"]) == 0
    assert Released("pub").records == RECORDS - 1


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["names.txt", "--wait", "nan"], "--wait nan: give 0 to 1,000,000,000 seconds"),
        (["twice.txt"], "twice.txt names the client 'p-1' twice"),
        (["many.txt"], "over 2,000,000 answers, which a server holds in memory"),
    ],
)
def test_an_impossible_collection_asks_nobody(
    folder: Path, capsys: pytest.CaptureFixture[str], given: list[str], words: str
) -> None:
    write_plan("plan.json", CollectedPlan.from_schema(schema_of(), keep=0.6))
    Path("twice.txt").write_text("p-1\n" * 2 + "p-2\n" * 9)
    Path("many.txt").write_text("\n".join(map(str, range(1_000_001))))
    assert main(["rrba", "aggregator", "plan.json", *given, "--reports", "rep.jsonl"]) == 2
    output = capsys.readouterr()
    assert words in output.err
    assert output.out == ""
    assert not Path("rep.jsonl").exists()


def test_reports_of_another_plan_are_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_plan("plan.json", CollectedPlan.from_schema(schema_of(), keep=0.6))
    other = '{"format": "deniable-rrba", "aggregator": "a", "kind": "report"}'
    Path("rep.jsonl").write_text(f"{other}\n{{\n[]\n")
    assert main(["rrba", *SERVE]) == 2
    assert (
        "; not counted, another version: 1; not counted, malformed: 2\n" in capsys.readouterr().err
    )
