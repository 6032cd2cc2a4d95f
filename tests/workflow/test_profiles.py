"""The profiles: resources for each rule, sensible groups, a submit command that is enough."""

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.workflow.rules import rules_of_the_workflow

from reproduction.papers import ANALYSES
from reproduction.pipeline import needs

ROOT = Path(__file__).resolve().parents[2]
CLUSTERS = ("slurm", "generic", "kubernetes")
# The chain of one release is one submission, by the group that its rules name.
ESTIMATES = {"plan", "protect", "estimate", "consistency", "two_step", "independence"}
ESTIMATES |= {"item_sets", "joint", "synthesize", "check"}
# They run nothing.
TARGETS = {"all", "fit_surrogates", "releases"}
# A production release is made by a job of its own, which no other job's failure ends.
DRAWN_ONCE = {"publish"}


def profile(name: str) -> dict[str, Any]:
    text = (ROOT / "profiles" / name / "config.yaml").read_text(encoding="utf-8")
    values: dict[str, Any] = yaml.safe_load(text)
    return values


def test_each_rule_says_what_it_needs() -> None:
    for file in sorted((ROOT / "workflow" / "rules").glob("*.smk")):
        rules = re.split(r"^ *rule\b", file.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
        for rule in rules:
            runs = "script:" in rule
            assert ("resources:" in rule and "**needs(" in rule) == runs, f"{file.name}: {rule}"


def test_each_attempt_asks_for_more() -> None:
    assert profile("slurm")["retries"] >= 1
    assert profile("generic")["retries"] >= 1
    asked = needs((3, 4000))
    assert [asked["runtime"](None, attempt) for attempt in (1, 2, 3)] == [3, 6, 9]
    assert [asked["mem_mb"](None, attempt) for attempt in (1, 2, 3)] == [4000, 8000, 12000]


@pytest.mark.parametrize("name", CLUSTERS)
def test_no_key_stands_in_two_profiles_that_apply_together(name: str) -> None:
    assert not profile("default").keys() & profile(name).keys()


def test_groups_hold_rules_that_may_be_made_again() -> None:
    slurm = profile("slurm")
    grouped = set(slurm["groups"])
    assert grouped <= rules_of_the_workflow()
    assert not grouped & DRAWN_ONCE
    # What is forgotten here would go to the queue one by one.
    alone = rules_of_the_workflow() - TARGETS - DRAWN_ONCE - grouped - set(ANALYSES) - ESTIMATES
    # A local rule, and what few runs make.
    few = {"fit_surrogate", "release_sweep"}
    assert alone == {"download"} | few
    # An analysis that a catalog adds has a group by itself.
    assert set(slurm["group-components"]) == {*slurm["groups"].values(), "analyses"}


@pytest.mark.workflow
def test_the_slurm_profile_groups_the_whole_graph(untouched: Any) -> None:
    said = untouched.made("-n", "--profile", "profiles/slurm")
    groups = re.findall(r"Group job (\w+)", said)
    # The chain of each test release is a group by itself.
    assert {group for group in groups if not group.startswith("release")} == set(
        profile("slurm")["group-components"]
    )
    total = int(re.findall(r"^total +(\d+)$", said, re.MULTILINE)[0])
    assert len(groups) < total / 3


# A PBS for these tests. Its first job it ends before that has begun, as for a node that died.
QSUB = """\
#!/bin/sh
echo "$@" >>submitted
job=$(wc -l <submitted)
for script; do :; done
if [ "$job" = 1 ]; then
    echo F 271 >"job.$job"
else
    (sh "$script"; echo F $? >"job.$job") >/dev/null 2>&1 &
fi
echo "$job.pbs"
"""
QSTAT = """\
#!/bin/sh
# qstat -x -f ID
job=job.${3%.pbs}
if [ -f "$job" ]; then
    read -r state status <"$job"
    printf 'Job Id: %s\\n    job_state = %s\\n    Exit_status = %s\\n' "$3" "$state" "$status"
else
    printf 'Job Id: %s\\n    job_state = R\\n' "$3"
fi
"""


def scheduler(folder: Path, **programs: str) -> Path:
    """Write the programs of a scheduler into a folder; return that."""
    folder.mkdir(exist_ok=True)
    for name, text in programs.items():
        (folder / name).write_text(text, encoding="utf-8")
        (folder / name).chmod(0o755)
    return folder


@pytest.mark.workflow
def test_the_generic_profile_submits_again_what_failed_and_what_was_ended(
    untouched: Any, finished: Any
) -> None:
    # A job that fails, in its first attempt only.
    untouched.edit(
        "workflow/scripts/multirr/example1.py",
        "with job(snakemake):",
        "import os\nif not os.path.exists('failed'):\n"
        "    open('failed', 'w').close()\n    raise SystemExit(1)\nwith job(snakemake):",
    )
    target = "results/tables/multirr_example1.csv"
    programs = scheduler(untouched.folder / "pbs", qsub=QSUB, qstat=QSTAT)
    path = f"{programs}{os.pathsep}{untouched.environment()['PATH']}"
    untouched.made(
        *("--profile", "profiles/generic", "--seconds-between-status-checks", "1"),
        *("--configfile", "tiny.yaml", "--", target),
        PATH=path,
    )
    submitted = (untouched.folder / "submitted").read_text(encoding="utf-8")
    asked = re.findall(r"ncpus=(\d+):mem=(\d+)mb -l walltime=(\d+):00", submitted)
    assert asked == [("1", "1000", "3"), ("1", "2000", "6"), ("1", "3000", "9")]
    assert (untouched.folder / target).read_bytes() == (finished[0].folder / target).read_bytes()


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ("Job Id: 7.pbs\n    job_state = Q\n", "running"),
        ("Job Id: 7.pbs\n    job_state = E\n    Exit_status = 0\n", "running"),
        ("Job Id: 7.pbs\n    job_state = F\n    Exit_status = 0\n", "success"),
        ("Job Id: 7.pbs\n    job_state = F\n    Exit_status = 1\n", "failed"),
        ("Job Id: 7.pbs\n    job_state = F\n    Exit_status = -29\n", "failed"),
        ("Job Id: 7.pbs\n    job_state = F\n", "failed"),
        ("Job Id: 7.pbs\n    job_state = C\n    exit_status = 0\n", "success"),
        ("qstat: Unknown Job Id 7.pbs", "failed"),
        ("qstat: cannot connect to server", "running"),
    ],
)
def test_how_a_pbs_job_fares(tmp_path: Path, said: str, status: str) -> None:
    (tmp_path / "said").write_text(said, encoding="utf-8")
    scheduler(tmp_path, qstat=f'#!/bin/sh\ncat "{tmp_path}/said" >&2\n')
    done = subprocess.run(
        ["sh", str(ROOT / "profiles" / "generic" / "status.sh"), "7.pbs"],
        env=os.environ | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"{status}\n"
