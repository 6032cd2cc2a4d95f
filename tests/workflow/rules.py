"""The names of all rules: those in the text, and those of loops over catalogs and lanes."""

import re
from pathlib import Path

from deniable.papers import ANALYSES
from deniable.release import LANES

ROOT = Path(__file__).resolve().parents[2]
STEPS = ("design", "protect", "draw", "check")


def rules_of_the_workflow() -> set[str]:
    """Return the rules that a config which asks for everything has."""
    files = [ROOT / "Snakefile", *(ROOT / "workflow" / "rules").glob("*.smk")]
    named = {
        rule
        for file in files
        for rule in re.findall(r"^rule (\w+):", file.read_text(encoding="utf-8"), re.MULTILINE)
    }
    of_lanes = {
        f"{step}_{name}" for name, lane in LANES.items() for step in (*STEPS, *lane.estimates)
    }
    return named | of_lanes | set(ANALYSES)
