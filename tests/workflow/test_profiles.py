"""The profiles: resources for each rule, sensible groups, a submit command that is enough."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
CLUSTERS = ("slurm", "generic", "kubernetes")
# They run nothing.
TARGETS = {"all", "fit_surrogates"}
# A release that is no rehearsal is drawn once: no other job's failure may take it away.
DRAWN_ONCE = {"draw_release", "draw_numeric_release", "draw_collection"}


def profile(name: str) -> dict[str, Any]:
    text = (ROOT / "profiles" / name / "config.yaml").read_text(encoding="utf-8")
    values: dict[str, Any] = yaml.safe_load(text)
    return values


def rules() -> set[str]:
    text = "\n".join(file.read_text("utf-8") for file in sorted(ROOT.glob("workflow/rules/*.smk")))
    text += (ROOT / "Snakefile").read_text(encoding="utf-8")
    pattern = r"^rule (\w+):|^use rule \w+ as (\w+) with:"
    return {one or other for one, other in re.findall(pattern, text, re.MULTILINE)}


def test_each_rule_has_its_resources_and_no_line_is_left_over() -> None:
    assert set(profile("default")["set-resources"]) == rules() - TARGETS


def test_each_attempt_asks_for_more() -> None:
    for rule, needs in profile("default")["set-resources"].items():
        assert set(needs) == {"runtime", "mem_mb"}, rule
        for name, expression in needs.items():
            base, growing = expression.split(" * ")
            assert (base.isdecimal(), growing) == (True, "attempt"), f"{rule}: {name}"
    assert profile("slurm")["retries"] >= 1
    assert profile("generic")["retries"] >= 1


@pytest.mark.parametrize("name", CLUSTERS)
def test_no_key_stands_in_two_profiles_that_apply_together(name: str) -> None:
    assert not profile("default").keys() & profile(name).keys()


def test_groups_hold_rules_that_may_be_made_again() -> None:
    slurm = profile("slurm")
    grouped = set(slurm["groups"])
    assert grouped <= rules()
    assert not grouped & DRAWN_ONCE
    # What is forgotten here would go to the queue one by one.
    assert rules() - TARGETS - DRAWN_ONCE - grouped == {"fit_surrogate"}
    assert set(slurm["group-components"]) == set(slurm["groups"].values())


@pytest.mark.workflow
def test_the_slurm_profile_groups_the_whole_graph(untouched: Any) -> None:
    said = untouched.made("-n", "--profile", "profiles/slurm")
    groups = re.findall(r"Group job (\w+)", said)
    assert set(groups) == set(profile("slurm")["groups"].values())
    total = int(re.findall(r"^total +(\d+)$", said, re.MULTILINE)[0])
    assert len(groups) < total / 3


@pytest.mark.workflow
def test_a_submit_command_is_enough(untouched: Any) -> None:
    submit = untouched.folder / "submit.sh"
    # What a scheduler does: note what is asked for, take the script, say an id, run it later.
    submit.write_text('echo "$@" >>submitted\nsh "$3" >/dev/null 2>&1 &\necho $!\n')
    # A job that fails, in its first attempt only.
    untouched.edit(
        "workflow/scripts/work_example.py",
        "with job(snakemake):",
        "import os\nif not os.path.exists('failed'):\n"
        "    open('failed', 'w').close()\n    raise SystemExit(1)\nwith job(snakemake):",
    )
    command = f"sh {submit} {{resources.runtime}} {{resources.mem_mb}}"
    target = "results/tables/multirr_example1.csv"
    (untouched.folder / "failed").touch()
    untouched.made("--cores", "1", "--configfile", "tiny.yaml", "--", target)
    made_here = (untouched.folder / target).read_bytes()
    (untouched.folder / "failed").unlink()
    (untouched.folder / target).unlink()
    untouched.made(
        *("--profile", "profiles/generic", "--cluster-generic-submit-cmd", command),
        *("--seconds-between-status-checks", "1", "--configfile", "tiny.yaml", "--", target),
    )
    asked = [line.split()[:2] for line in (untouched.folder / "submitted").read_text().splitlines()]
    assert asked == [["3", "1000"], ["6", "2000"]]
    assert (untouched.folder / target).read_bytes() == made_here
