"""What is worst, and the extremes of a table in words."""

import math

import pandas as pd
import pytest

from reproduction.study import extremes, worst_first

CASES = pd.DataFrame(
    [
        ("a", 0.1, 0.001, 0.05),  # fifty times, and harmless
        ("b", 0.5, 2.0, 9.0),
        ("c", 0.5, 2.0, 9.0),
        ("c", 0.7, 2.0, 3.0),
        ("d", 0.1, 0.0, 0.511),
        ("e", 0.1, 0.0, 0.0),
        ("f", 0.1, math.inf, math.inf),
    ],
    columns=["of", "p", "claimed", "exact"],
)
AT = {"p": "p = {:g}"}


def test_the_odds_decide_and_not_the_ratio() -> None:
    ordered = worst_first(CASES, "claimed", "exact")
    assert [*ordered["of"][:4]] == ["b", "c", "c", "d"]
    assert [*ordered["beyond"][:4]] == [7, 7, 1, 0.511]
    times = dict(zip(ordered["of"] + ordered["p"].astype(str), ordered["times"], strict=True))
    assert (times["b0.5"], times["d0.1"]) == (4.5, math.inf)
    assert math.isnan(times["e0.1"])
    assert math.isnan(times["f0.1"])


def test_an_infinite_epsilon_is_worst_unless_it_is_claimed() -> None:
    endless = pd.concat([CASES, CASES[:1].assign(of="g", exact=math.inf)])
    assert worst_first(endless, "claimed", "exact")["of"].iloc[0] == "g"
    assert "(g, p = 0.1: no finite ε)" in extremes(endless, "claimed", "exact", "of", AT)


def test_extremes_cover_all_rows_and_name_them() -> None:
    said = extremes(CASES, "claimed", "exact", "of", AT)
    assert said == (
        "2.00 → 9.00 at worst (b or c, p = 0.5: odds × 1,100), at most 50.0 times the claimed ε "
        "(0.00100 → 0.0500: a, p = 0.1) and up to 0.511 where 0 is claimed (d, p = 0.1)"
    )


def test_claims_that_are_kept_have_no_extremes() -> None:
    assert not extremes(CASES[5:], "claimed", "exact", "of", AT)
    assert not extremes(CASES[:0], "claimed", "exact", "of", AT)


@pytest.mark.parametrize("row", range(5))
def test_every_row_counts(row: int) -> None:
    """A larger ε in any row changes what is said."""
    raised = CASES.copy()
    raised.loc[row, "exact"] += 20
    said = extremes(raised, "claimed", "exact", "of", AT)
    assert said.partition(" → ")[2].startswith(f"{raised.loc[row, 'exact']:.3g}"[:4])
