"""The names of all rules: those in the text, and those of loops over catalogs."""

import re
from pathlib import Path

from reproduction.papers import ANALYSES

ROOT = Path(__file__).resolve().parents[2]


def rules_of_the_workflow() -> set[str]:
    """Return the rules that a config which asks for everything has."""
    files = [ROOT / "Snakefile", *(ROOT / "workflow" / "rules").glob("*.smk")]
    named = {
        rule
        for file in files
        for rule in re.findall(r"^rule (\w+):", file.read_text(encoding="utf-8"), re.MULTILINE)
    }
    return named | set(ANALYSES)
