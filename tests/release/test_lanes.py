"""The lanes' table: every step can be taken, and reads what an earlier one leaves."""

from importlib import import_module
from typing import Any

import numpy as np
import pytest

from deniable.records import Attribute, Domain, Microdata, NumericMicrodata
from deniable.release import LANES, PRIVATE, PUBLIC, Lane, key_of_seed, release_from
from deniable.release.settings import LANE_OF

KEY = key_of_seed(1)
SETTINGS: dict[str, dict[str, Any]] = {
    "rr_independent": {"matrix": "keep", "p": 0.5},
    "rr_joint": {"matrix": "keep", "p": 0.5},
    "rr_clusters": {"matrix": "keep", "p": 0.5, "cluster_mechanism": "joint", "t_v": 9, "t_d": 0.1}
    | {"dependences": {"by": "true_records"}},
    "rr_epsilon": {"epsilon": 1.0},
    "pram": {"matrix": {"kind": "epsilon", "epsilon": 1.0}},
    "idp": {"method": "dp", "epsilon": 1.0},
    "numeric_dp": {"epsilon": 1.0},
    "rrba": {"p": 0.5},
}
"""Of each mechanism."""


def settings(mechanism: str, rehearsal: bool = True) -> Any:
    given = {"name": "r", "data": "d", "mechanism": mechanism, "population": "people"}
    return release_from(given | SETTINGS[mechanism] | {"rehearsal": rehearsal})


def test_every_mechanism_has_a_lane() -> None:
    # Files of one's own have tests of their own, in tests/release/planned.
    assert set(LANE_OF) - {"plan"} == set(SETTINGS)
    assert set(LANE_OF.values()) == set(LANES)
    for mechanism, lane in LANE_OF.items():
        if mechanism == "plan":
            continue
        assert settings(mechanism).lane == lane


@pytest.mark.parametrize("lane", LANES.values(), ids=LANES)
def test_every_step_names_a_function(lane: Lane) -> None:
    for step in (lane.design, lane.draw, lane.audit, *lane.estimates, lane.check):
        module, _, name = step.run.partition(":")
        assert callable(getattr(import_module(f"deniable.{module}"), name))


@pytest.mark.parametrize("rehearsal", [True, False])
@pytest.mark.parametrize("mechanism", SETTINGS)
def test_a_step_reads_what_is_left_before_it(mechanism: str, rehearsal: bool) -> None:
    release = settings(mechanism, rehearsal)
    lane = LANES[release.lane]
    steps = lane.steps(release)
    assert steps[:3] == (lane.design, lane.draw, lane.audit)
    assert not lane.design.reads
    assert not lane.audit.leaves  # it tells of what was drawn, and makes nothing
    left: set[str] = set()
    for step in steps:
        assert set(step.reads) <= left
        left |= set(step.leaves)
    assert set(lane.shown) <= left
    # The true records are read again of a rehearsal alone.
    assert (lane.check in steps) == rehearsal
    # Whoever has what is public can make all estimates again.
    for step in lane.estimates:
        assert {file.split("/")[0] for file in (*step.reads, *step.leaves)} == {PUBLIC}


@pytest.mark.parametrize("mechanism", SETTINGS)
def test_matrices_one_by_one_are_those_of_pram(mechanism: str) -> None:
    release = settings(mechanism)
    left = tuple(file for step in LANES[release.lane].steps(release) for file in step.leaves)
    assert ("public/channels" in left) == (mechanism == "pram")
    assert ("public/matrices.csv" in left) == (mechanism in ("pram", "rr_epsilon"))


@pytest.mark.parametrize("lane", LANES.values(), ids=LANES)
def test_no_two_steps_leave_the_same_file(lane: Lane) -> None:
    steps = (lane.design, lane.draw, lane.audit, *lane.estimates, lane.check)
    files = tuple(file for step in steps for file in step.leaves)
    assert len(files) == len(set(files))
    assert {file.split("/")[0] for file in files} == {PUBLIC, PRIVATE}
    # Steps know them by their names alone.
    names = [file.split("/")[1].split(".")[0] for file in files if not file.endswith(".csv")]
    tables = [file.split("/")[1].split(".")[0] for file in files if file.endswith(".csv")]
    assert len(set(names)) == len(names)
    assert len(set(tables)) == len(tables)


@pytest.mark.parametrize("lane", LANES.values(), ids=LANES)
def test_what_knows_the_true_records_is_private(lane: Lane) -> None:
    assert all(file.startswith(f"{PRIVATE}/") for file in lane.check.leaves)
    # Of what is drawn nothing else but what went through a channel.
    drawn = {"protected.parquet", "protected.csv", "protected.*", "collection.csv"}
    assert {file for file in lane.draw.leaves if file.startswith(PUBLIC)} <= {
        f"{PUBLIC}/{name}" for name in drawn
    }


@pytest.mark.parametrize("lane", LANES.values(), ids=LANES)
def test_a_release_asks_for_what_its_largest_step_does(lane: Lane) -> None:
    steps = [lane.design, lane.draw, *lane.estimates, lane.check]
    assert lane.resources.minutes == max(step.resources.minutes for step in steps)
    assert lane.resources.memory_mb == max(step.resources.memory_mb for step in steps)


CODES = np.resize([0, 1], 400)
MARKS = {"data_source": "original"}
CATEGORIES = Microdata(
    Domain((Attribute("a", ("0", "=1+1")), Attribute("b", ("0", "1")))), (CODES, CODES), MARKS
)
NUMBERS = NumericMicrodata(("=x",), CODES[:, None].astype(float), marks=MARKS)


@pytest.mark.parametrize(
    ("mechanism", "named"),
    [("rr_independent", "=1+1"), ("rr_epsilon", "=1+1"), ("numeric_dp", "=x"), ("rrba", "=1+1")],
)
def test_every_lane_says_what_a_spreadsheet_computes(mechanism: str, named: str) -> None:
    release = settings(mechanism)
    numeric = release.data_kind == "numeric"
    given = (NUMBERS, KEY, {"=x": (0.0, 1.0)}) if numeric else (CATEGORIES, KEY)
    with pytest.warns(UserWarning, match="formulas"):
        made = LANES[release.lane].design(release, *given)
    assert f"formulas of spreadsheets do ({named})" in made["release"]["spreadsheets"]
