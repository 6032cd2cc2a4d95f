"""docs/threats.md: the table of posterior probabilities is computed again, and rounded up."""

import math
import re
from pathlib import Path

import pytest

from deniable.privacy.amplification import largest_posterior

PAGE = Path(__file__).resolve().parents[1] / "docs" / "threats.md"


def rounded_up(value: float, digits: int) -> float:
    return math.ceil(value * 10**digits) / 10**digits


def test_posterior_probabilities_are_rounded_up() -> None:
    page = PAGE.read_text(encoding="utf-8")
    section = page.partition("## What ε means for a respondent")[2].partition("\n## ")[0]
    table = [line.strip("| ").split(" | ") for line in section.splitlines() if line[:1] == "|"]
    epsilons = [float(cell.removeprefix("ε = ")) for cell in table[0][1:]]
    rows = {row[0]: row[1:] for row in table[2:]}
    factors = [float(cell) for cell in rows.pop("factor of the odds")]
    for epsilon, factor in zip(epsilons, factors, strict=True):
        assert 0 <= factor - math.exp(epsilon) < 0.1
    assert list(rows) == ["1 %", "10 %", "50 %"]
    for prior, cells in rows.items():
        shown = [float(re.sub(" %$", "", cell)) for cell in cells]
        probability = float(prior[:-2]) / 100
        exact = [100 * largest_posterior(probability, math.exp(epsilon)) for epsilon in epsilons]
        assert shown == pytest.approx([rounded_up(value, 1) for value in exact], abs=1e-9)
