"""The lanes' table: every step can be taken, and reads what an earlier one leaves."""

from importlib import import_module

import numpy as np
import pytest

from deniable.records import Attribute, Domain, Microdata, NumericMicrodata
from deniable.release import LANES, Lane, Step, left_by, read_by, release_from


def estimates(lane: Lane) -> list[Step]:
    return [step for steps in lane.estimates.values() for step in steps]


@pytest.mark.parametrize("lane", LANES.values(), ids=LANES)
def test_every_step_names_a_function(lane: Lane) -> None:
    for step in (lane.design, lane.draw, *estimates(lane), lane.check):
        module, _, name = step.run.partition(":")
        assert callable(getattr(import_module(f"deniable.{module}"), name))


@pytest.mark.parametrize("lane", LANES.values(), ids=LANES)
def test_a_step_reads_what_is_left_before_it(lane: Lane) -> None:
    assert not lane.design.reads
    assert set(lane.draw.reads) <= set(lane.design.leaves)
    left = set(lane.drawn_once)
    for steps in lane.estimates.values():
        assert set(read_by(steps)) <= left
        for step in steps:
            assert set(step.reads) <= left
            left |= set(step.leaves)
        assert set(left_by(steps)) <= left
    assert set(lane.check.reads) <= set(lane.left)
    assert set(lane.shown) <= set(lane.left)


@pytest.mark.parametrize("lane", LANES.values(), ids=LANES)
def test_no_two_steps_leave_the_same_file(lane: Lane) -> None:
    files = [*lane.left, *lane.check.leaves]
    assert len(files) == len(set(files))


CODES = np.resize([0, 1], 400)
MARKS = {"data_source": "original"}
CATEGORIES = Microdata(
    Domain((Attribute("a", ("0", "=1+1")), Attribute("b", ("0", "1")))), (CODES, CODES), MARKS
)
NUMBERS = NumericMicrodata(("=x",), CODES[:, None].astype(float), marks=MARKS)


@pytest.mark.parametrize(
    ("lane", "settings", "named"),
    [
        ("categorical", {"mechanism": "rr_independent", "matrix": "keep", "p": 0.5}, "=1+1"),
        ("numeric", {"mechanism": "numeric_dp", "epsilon": 1.0}, "=x"),
        ("collection", {"mechanism": "rrba", "p": 0.5}, "=1+1"),
    ],
)
def test_every_lane_says_what_a_spreadsheet_computes(
    lane: str, settings: dict[str, object], named: str
) -> None:
    release = release_from({"name": "r", "data": "d", "rehearsal": True} | settings)
    numeric = lane == "numeric"
    given = (NUMBERS, 1, {"=x": (0.0, 1.0)}) if numeric else (CATEGORIES, 1)
    with pytest.warns(UserWarning, match="formulas"):
        made = LANES[lane].design(release, *given)
    said = made["channels" if lane == "categorical" else "release"]
    assert f"formulas of spreadsheets do ({named})" in said["spreadsheets"]
