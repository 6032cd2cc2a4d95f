"""The tables of breaches and factors: by hand, against all sets, and on Adult."""

import os
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from deniable.channels import DenseChannel, KeepOrReplace
from deniable.datasets.manifest import load_manifest
from deniable.datasets.published import read_published

from reproduction.papers.pram import breaches
from reproduction.papers.pram.breaches import (
    CHANNELS,
    EPSILONS,
    PRIORS,
    approach_table,
    bound_table,
    intruder_table,
    threshold_table,
    worst_set_table,
)

ROOT = Path(__file__).resolve().parents[4]
ADULT = load_manifest(ROOT / "resources" / "datasets.yaml")["adult"]


def test_bounds(monkeypatch):
    found = bound_table()
    assert len(found) == len(PRIORS) * len(EPSILONS)
    monkeypatch.setattr(breaches, "EPSILONS", (np.log(9),))
    row = bound_table().set_index("rho_1").loc[0.1]
    assert row["largest_posterior"] == pytest.approx(0.5, rel=1e-14)
    assert row["smallest_posterior"] == pytest.approx(1 / 82, rel=1e-14)  # .1 / (9 - 8 * .1)
    assert row["largest_factor"] == pytest.approx(5, rel=1e-14)
    # More epsilon, more to learn; never beyond the parity.
    assert found.groupby("rho_1")["largest_posterior"].is_monotonic_increasing.all()
    assert found.groupby("rho_1")["smallest_posterior"].is_monotonic_decreasing.all()
    assert (found["largest_factor"] < found["parity"]).all()


def test_thresholds():
    every = threshold_table()
    found = every[(every["rho_1"] == 0.1) & (every["rho_2"] == 0.5) & (every["categories"] < 16)]
    assert found["largest_parity"].tolist() == [9, 9]
    assert found["diagonal"].to_numpy() == pytest.approx([9 / 10, 9 / 13], rel=1e-14)
    assert found["largest_epsilon"].to_numpy() == pytest.approx(np.log(9), rel=1e-15)
    # (3.5) asks for less than Theorem 3.2 does.
    assert (every["largest_parity"] > every["largest_factor"]).all()


def test_priors_approach_the_bound():
    found = approach_table()
    assert set(found["channel"]) == set(CHANNELS)
    assert found["bound"].round(9).isin([15, round(1 / 15, 9)]).all()
    for _, part in found.groupby(["channel", "side"]):
        assert part["gap"].is_monotonic_decreasing
        assert part["gap"].iloc[-1] < 1e-4
    beyond = np.where(
        found["side"] == "largest", found["ratio"] - found["bound"], found["bound"] - found["ratio"]
    )
    assert (beyond < 0).all()


def test_the_approach_by_hand(monkeypatch):
    # p = (3, 1)/4: 3 / (3 (1 - a) + a) at a = .9 is 3/1.2; its mirror 1 / (.9 * 3 + .1).
    coin = {"coin": DenseChannel(np.array([[0.75, 0.25], [0.25, 0.75]]))}
    monkeypatch.setattr(breaches, "CHANNELS", coin)
    found = approach_table().query("mass == 0.9")
    assert found["ratio"].to_numpy() == pytest.approx([2.5, 1 / 2.8], rel=1e-14)
    assert found["gap"].to_numpy() == pytest.approx([1 / 6, 3 / 2.8 - 1], rel=1e-12)


def test_what_reports_tell_by_hand(small_data):
    # smokes: prior (a, b); kept with .5: column (3, 1)/4.
    found = intruder_table(small_data, ["smokes"]).query("p == 0.5")
    a = small_data.counts(["smokes"])[0] / len(small_data)
    expected = [3 * a / (1 + 2 * a), 3 * (1 - a) / (3 - 2 * a)]
    assert found["posterior"].to_numpy() == pytest.approx(expected, rel=1e-14)
    assert found["parity"].to_numpy() == pytest.approx([3, 3])
    np.testing.assert_allclose(found["factor"], found["posterior"] / found["prior"])


def test_the_posterior_of_what_is_reported_is_the_bound(small_data):
    found = intruder_table(small_data, small_data.domain.names)
    eta, prior = found["parity"], found["prior"]
    np.testing.assert_allclose(found["posterior"], eta * prior / (1 + (eta - 1) * prior))
    assert (found["likeliest_posterior"] >= found["posterior"]).all()


def test_worst_sets_are_those_of_all_sets(small_data, monkeypatch):
    monkeypatch.setattr(breaches, "PRIORS", (0.2, 0.3, 0.6))
    found = worst_set_table(small_data, ["region"])
    margin = small_data.counts(["region"]) / len(small_data)
    sets = [list(s) for number in (1, 2, 3) for s in combinations(range(4), number)]
    for row in found.to_dict("records"):
        posterior = KeepOrReplace.uniform(4, row["p"]).posterior(margin)
        below = [s for s in sets if margin[s].sum() < row["rho_1"]]
        expected = max((posterior[:, s].sum(axis=1).max() for s in below), default=np.nan)
        np.testing.assert_allclose(row["posterior"], expected, rtol=1e-12)
        assert row["exact"]
        assert not row["posterior"] > row["bound"]
        assert bool(row["members"]) == bool(below)


@pytest.mark.real_data
def test_an_intruder_of_adult():
    mirror = Path(os.environ.get("DENIABLE_DATA_MIRROR", ROOT.parent / "shared" / "data"))
    if not (mirror / ADULT.file).exists():
        pytest.skip("Adult is not there: set DENIABLE_DATA_MIRROR")
    data = read_published(ADULT, mirror / ADULT.file)
    found = intruder_table(data, ["education", "occupation"]).set_index(
        ["attribute", "p", "category"]
    )
    # A report of the rarest category is most often a lie, of the commonest nearly always true.
    rare, common = found.loc["education", 0.7, "Preschool"], found.loc["education", 0.7, "HS-grad"]
    assert rare["likeliest"] == "HS-grad"
    assert rare["posterior"] == pytest.approx(0.0567, abs=5e-5)
    assert common["posterior"] == pytest.approx(0.9480, abs=5e-5)
    assert rare["factor"] == pytest.approx(36.2, abs=0.05)
    worst = worst_set_table(data, ["education"]).query("p == 0.7 and rho_1 == 0.25").iloc[0]
    assert worst["members"] == "5th-6th + 9th + Some-college"
    assert worst["posterior"] == pytest.approx(0.9199, abs=5e-5)
    assert worst["bound"] == pytest.approx(0.9274, abs=5e-5)
