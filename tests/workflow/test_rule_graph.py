"""The graph in the README is the graph of the rules, by stages."""

import itertools
import re
import subprocess
import sys
from pathlib import Path

import pytest

from reproduction.papers import ANALYSES

ROOT = Path(__file__).resolve().parents[2]
STAGES = {
    "data": ("download", "prepare", "draw_network"),
    "simulate": ("simulate",),
    "collect": ("collect",),
    "analyse": tuple(ANALYSES),
    "plot": ("plot",),
    "release": (
        "plan",
        "protect",
    ),  # a plan may follow from the randomized values of another release
    "estimate": ("estimate", "consistency", "two_step", "independence", "joint", "synthesize"),
    "check": ("check",),
    "audit": ("audit_privacy", "audit_samplers"),
    "report": ("report",),
}
"""The stages of the README, and the rules of each."""
Arrows = set[tuple[str, str]]


def without_detours(arrows: Arrows) -> Arrows:
    """Return the arrows between stages that no other way leads along."""

    def leads(start: str, end: str, left: Arrows) -> bool:
        onward = [to for at, to in left if at == start]
        return end in onward or any(leads(to, end, left) for to in onward)

    return {arrow for arrow in arrows if not leads(*arrow, arrows - {arrow})}


def test_an_arrow_with_a_detour_is_left_out() -> None:
    assert without_detours({("a", "b"), ("b", "c"), ("a", "c")}) == {("a", "b"), ("b", "c")}
    assert without_detours({("a", "b"), ("c", "b")}) == {("a", "b"), ("c", "b")}


@pytest.mark.workflow
def test_the_readme_shows_the_stages_as_the_rules_have_them(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "snakemake", "--rulegraph", "mermaid-js", "--forceall"]
    command += ["--config", "data={source: surrogate}"]
    for name in ("Snakefile", "workflow", "config", "resources", "docs", "src", "profiles"):
        (tmp_path / name).symlink_to(ROOT / name)
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    names = dict(re.findall(r"^\s*(id\d+)\[(\w+)\]", done.stdout, re.MULTILINE))
    stage_of = {rule: stage for stage, rules in STAGES.items() for rule in rules}
    assert set(names.values()) == {*stage_of, "all"}
    arrows = {
        (stage_of[names[one]], stage_of[names[other]])
        for one, other in re.findall(r"^\s*(id\d+) --> (id\d+)", done.stdout, re.MULTILINE)
        if names[other] != "all"
    }
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown: Arrows = set()
    for line in readme.split("```mermaid")[1].split("```")[0].splitlines():
        chain = [part.strip() for part in line.split("-->")]
        shown |= set(itertools.pairwise(chain))
    assert shown == without_detours({(one, other) for one, other in arrows if one != other})


def test_rules_with_the_settings_of_a_part_name_its_section() -> None:
    """`make check` finds the settings of a result again by this name."""
    found = []
    for file in sorted((ROOT / "workflow" / "rules").glob("*.smk")):
        for rule in re.split(r"^rule ", file.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
            for part in re.findall(r'plan\.settings\("(studies|analyses)", "(\w+)"\)', rule):
                found.append(part)
                assert f'section="{".".join(part)}"' in rule, f"{file.name}: rule {rule[:30]}"
    assert len(found) > 5
