"""What the report's first page says of [pram]."""

import pandas as pd
import pytest

from deniable.records.categorical import Microdata

from reproduction.papers.pram import variance as pram_variance
from reproduction.papers.pram.in_short import in_short


@pytest.mark.parametrize(("verdict", "holds"), [("holds", 2), ("fails", 1)])
def test_bounds_on_breaches_hold_if_all_results_on_privacy_do(verdict: str, holds: int) -> None:
    verdicts = ["fails", "holds", verdict]  # the first is about estimation
    table = {"result": ["(1.1)", "(3.5)", "(3.6)"], "section": [1, 3, 3], "verdict": verdicts}
    said = in_short({"pram_results": pd.DataFrame(table).assign(gap=0.0)})
    (bounds,) = said.privacy
    assert (bounds.verdict, bounds.says) == (verdict, "Bounds on breaches")
    assert bounds.found.startswith(f"{holds} of 2 results")
    assert not said.numbers


def test_an_invariant_matrix_is_told_with_what_its_file_spends(small_data: Microdata) -> None:
    data = small_data.project(["colour", "smokes"])
    whole = pram_variance.whole_file_epsilons(data, [1.0])
    tables = {
        "pram_variance": pram_variance.variance_inflation(data, [1.0]),
        "pram_whole_file": whole,
    }
    (matrix,) = in_short(tables).privacy
    assert matrix.verdict == "our finding"
    assert matrix.found.startswith("[pram] claims no ε for it.")
    for mechanism, words in (("two_step", "two steps"), ("lazy", "keep or redraw")):
        made = whole[whole["mechanism"] == f"invariant_{mechanism}"]
        beyond = int((made["whole_file_epsilon"] > made["epsilon"]).sum())
        assert f"in {beyond} of {len(made)} cases with {words}" in matrix.found
    assert "optimization" not in matrix.useful
    assert matrix.worst
    kept_secret = whole[whole["mechanism"] != "resampling"]
    assert matrix.worst.exact == kept_secret["whole_file_epsilon"].max()


def test_nothing_is_said_without_tables() -> None:
    assert not in_short({}).privacy
    assert not in_short({}).numbers
