"""The names of all rules."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def rules_of_the_workflow() -> set[str]:
    """Return the names of the rules in the workflow's files."""
    files = [ROOT / "Snakefile", *(ROOT / "workflow" / "rules").glob("*.smk")]
    return {
        rule
        for file in files
        for rule in re.findall(r"^rule (\w+):", file.read_text(encoding="utf-8"), re.MULTILINE)
    }
