"""The GitHub workflow: it runs make targets that exist, may do little, and comments once."""

import json
import os
import re
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from baseline.told import MARK

ROOT = Path(__file__).resolve().parents[1]
WORKFLOW = ROOT / ".github" / "workflows" / "regenerate.yml"
JOBS: dict[str, Any] = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"]
OWN_SCRIPTS = {
    "quick": "GITHUB_STEP_SUMMARY",
    "slurm": "sudo chmod --recursive a+rX /tmp/deniable-slurm-*",
    "comment": "comparison.md",
}

GH = """#!/bin/sh
echo "$@" >> "$CALLS"
case "$*" in *--paginate*) cat "$FOUND" ;; esac
"""


def scripts(job: str) -> list[str]:
    return [step["run"] for step in JOBS[job]["steps"] if "run" in step]


@pytest.mark.parametrize("job", JOBS)
def test_a_job_runs_make_targets(job: str) -> None:
    targets = (ROOT / "Makefile").read_text(encoding="utf-8")
    for script in scripts(job):
        if OWN_SCRIPTS.get(job, "no script") in script:
            continue
        found = re.fullmatch(r"(?:sudo env \S+ )?make ([a-z-]+)(?: [A-Z]+=\w+)*", script.strip())
        assert found, script
        assert re.search(rf"^{found[1]}:", targets, re.MULTILINE), found[1]


def test_actions_and_base_image_are_pinned_by_digest() -> None:
    uses = re.findall(r"uses: (.*)", WORKFLOW.read_text(encoding="utf-8"))
    assert len(uses) > 10
    pinned = r"actions/[a-z-]+@[0-9a-f]{40}  # v[0-9]+\.[0-9]+\.[0-9]+"
    assert [line for line in uses if not re.fullmatch(pinned, line)] == []
    # One commit an action: a renewed one is renewed everywhere.
    assert len(set(uses)) == len({line.split("@")[0] for line in uses})
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    bases = re.findall(r"^FROM (.*)", dockerfile, re.MULTILINE)
    assert [bool(re.fullmatch(r"\S+@sha256:[0-9a-f]{64}", base)) for base in bases] == [True]


def test_image_and_quick_run_have_what_runs_and_no_more() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert "RUN make environment DEVELOPING=0 " in dockerfile
    assert "requirements-dev.lock" not in dockerfile
    assert "make environment DEVELOPING=0 PYTHON=python" in scripts("quick")


def test_all_tests_are_run_here_and_there() -> None:
    assert "make test-all" in scripts("test")
    # README's own command first; the other goes on where it ends.
    assert "\nmake test test-all 2>&1" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    done = subprocess.run(
        ["make", "--dry-run", "test", "test-all"],
        cwd=ROOT,
        env={name: text for name, text in os.environ.items() if not name.startswith("MAKE")},
        capture_output=True,
        text=True,
        check=True,
    )
    calls = [line for line in done.stdout.splitlines() if "-m pytest" in line]
    assert [re.split(" -m ", call)[-1] for call in calls] == ['"not slow"', "slow"]


def test_only_the_comment_may_write_and_it_runs_no_code_of_the_pull_request() -> None:
    workflow = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    assert {name for name in JOBS if "permissions" in JOBS[name]} == {"comment"}
    assert JOBS["comment"]["permissions"] == {"pull-requests": "write"}
    assert not any("checkout" in step.get("uses", "") for step in JOBS["comment"]["steps"])
    assert "head.repo.full_name == github.repository" in JOBS["comment"]["if"]


@pytest.mark.parametrize(
    ("comments", "call"),
    [
        ([], "--method POST repos/o/r/issues/7/comments --field body=@comparison.md --silent"),
        (
            [(1, "User", MARK), (2, "Bot", "other"), (3, "Bot", MARK + "\nold"), (4, "Bot", MARK)],
            "--method PATCH repos/o/r/issues/comments/3 --field body=@comparison.md --silent",
        ),
    ],
)
def test_a_comment_is_written_once(
    tmp_path: Path, comments: list[tuple[int, str, str]], call: str
) -> None:
    if shutil.which("jq") is None:
        pytest.skip("no jq")
    gh = tmp_path / "gh"
    gh.write_text(GH, encoding="utf-8")
    gh.chmod(gh.stat().st_mode | stat.S_IXUSR)
    (tmp_path / "comparison.md").write_text(f"{MARK}\n\nnew\n", encoding="utf-8")
    found = [{"id": i, "user": {"type": kind}, "body": body} for i, kind, body in comments]
    (tmp_path / "found").write_text(json.dumps(found), encoding="utf-8")
    (step,) = [step for step in JOBS["comment"]["steps"] if "run" in step]
    assert step["env"]["MARK"] == MARK
    environment = os.environ | {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "CALLS": str(tmp_path / "calls"),
        "FOUND": str(tmp_path / "found"),
        "MARK": step["env"]["MARK"],
        "COMMENTS": "repos/o/r/issues/7/comments",
        "OF_REPOSITORY": "repos/o/r/issues/comments",
    }
    subprocess.run(["bash", "-e", "-c", step["run"]], cwd=tmp_path, env=environment, check=True)
    calls = (tmp_path / "calls").read_text(encoding="utf-8").splitlines()
    assert calls == ["api --paginate repos/o/r/issues/7/comments", f"api {call}"]
