"""Example 1 of RR-Adjustment: its steps in fractions, by hand and by the compiled sweeps."""

import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from deniable.files import write_table
from deniable.randomized_response.adjustment import adjust

from reproduction.papers.multirr import example_1 as example1
from reproduction.papers.multirr.example_1 import GROUPS, HALF, SIZES, example_1, steps

WEIGHTS = ["weight_1_4", "weight_5_6", "weight_7_10"]
SWEEPS = 50


def test_the_first_steps_are_those_of_the_text() -> None:
    table = example_1(1).set_index(["sweep", "adjusted"])
    assert table.loc[(0, "start"), WEIGHTS].tolist() == ["1/10", "1/10", "1/10"]
    first = table.loc[(1, "1")]
    assert first[WEIGHTS].tolist() == ["1/8", "1/12", "1/12"]
    assert first["lambda_1"] == "(1/2, 1/2)"
    assert first["lambda_2"] == "(2/3, 1/3)"
    second = table.loc[(1, "2")]
    assert second["lambda_2"] == "(1/2, 1/2)"
    assert second["lambda_1"] == "(3/8, 5/8)"  # "will no longer be (1/2, 1/2)"
    assert "pi-hat^2" in second["note"]
    assert set(table["verdict"]) == {"agrees"}


def test_the_share_that_must_vanish_is_one_in_four_t_plus_four() -> None:
    after = [step for step in steps(SWEEPS) if step.attribute == 2]
    shares = [step.shares[1, 0] for step in after]
    assert shares == [Fraction(1, 4 * (t + 1)) for t in range(1, SWEEPS + 1)]
    assert [step.gap for step in after] == shares
    table = example_1(SWEEPS)
    products = table.loc[table["adjusted"] == "2", "sweep_times_share"].astype(float)
    assert products.is_monotonic_increasing
    assert products.iloc[-1] == pytest.approx(1 / 4, abs=0.006)


def test_the_limit_is_approached_and_said_to_be_no_more() -> None:
    limit = example_1(SWEEPS).set_index("adjusted").loc["limit"]
    assert limit["published"] == "weight (1/8, 0, 1/8); joint (1/2, 0, 0, 1/2)"
    assert limit["regenerated"] == limit["published"]
    assert limit["verdict"] == "agrees"
    assert "never reached" in limit["note"]
    assert f"1/{4 * (SWEEPS + 1)} after {SWEEPS}" in limit["note"]
    last = list(steps(2000))[-1]
    assert np.allclose(last.shares.astype(float), [[0.5, 0], [0, 0.5]], atol=2e-4)


def test_weights_always_have_sum_1_and_meet_the_margin_just_adjusted() -> None:
    for step in steps(SWEEPS):
        sizes = [SIZES[cell] for cell in GROUPS.values()]
        assert sum(n * w for n, w in zip(sizes, step.found["weight"], strict=True)) == 1
        if step.attribute:
            assert step.found[f"lambda_{step.attribute}"] == (HALF, HALF)


@pytest.mark.parametrize("sweeps", [1, 2, 3, 10, SWEEPS])
def test_the_compiled_sweeps_give_the_same_weights(sweeps: int) -> None:
    sizes = [SIZES[cell] for cell in GROUPS.values()]
    columns = [np.repeat(codes, sizes) for codes in zip(*GROUPS.values(), strict=True)]
    targets = [[0.5, 0.5]] * 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # that the sweeps end with a gap
        found = adjust(columns, targets, most_sweeps=sweeps)
    *_, last = steps(sweeps)
    exact = np.repeat([float(weight) for weight in last.found["weight"]], sizes)
    np.testing.assert_allclose(found.weights, exact, rtol=1e-13)
    assert found.gap == pytest.approx(float(last.gap), rel=1e-12)
    assert found.sweeps == sweeps


def test_the_table_is_tidy_and_survives_its_file(tmp_path: Path) -> None:
    table = example_1(4)
    assert len(table) == 1 + 2 * 4 + 2
    assert set(table["verdict"]) == {"agrees", "not published"}
    assert not table.duplicated(["sweep", "adjusted"]).any()
    write_table(tmp_path / "table.csv", table)
    read = pd.read_csv(tmp_path / "table.csv", keep_default_na=False, dtype=str)
    assert list(read) == list(table)
    assert {"published", "regenerated", "verdict"} <= set(read)
    assert read.loc[1, "sweep"] == "1"
    values = table[[name.replace("weight", "value") for name in WEIGHTS]].dropna()
    exact = table[WEIGHTS].dropna().map(lambda text: float(Fraction(text)))
    np.testing.assert_array_equal(values, exact)


def test_what_differs_is_called_so(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = {(1, 1): {"weight": (Fraction(1, 8), Fraction(1, 12), Fraction(1, 11))}}
    monkeypatch.setattr(example1, "PRINTED", wrong)
    table = example_1(2).set_index(["sweep", "adjusted"])
    assert table.loc[(1, "1"), "verdict"] == "differs"
    assert table.loc[(1, "2"), "verdict"] == "not published"
