"""A draw that is made again by its key is the same draw, in every lane."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.release.small_releases import (
    DOMAIN,
    KINDS,
    content as files,
    known_key,
    records,
    settings,
    source,
)

from deniable.randomized_response import assessment_protocol
from deniable.records.categorical import Microdata
from deniable.records.numeric import NumericMicrodata
from deniable.release import LANES, Ledger, ReleaseKey, key_of_seed, make_release
from deniable.release.keys import Records
from deniable.release.settings import AnyRelease


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def design(release: AnyRelease, key: ReleaseKey, data: Records) -> Mapping[str, Any]:
    return LANES[release.lane].design(release, data, key, *source(release).designing)


def described(release: AnyRelease, key: ReleaseKey, data: Records) -> dict[str, Any]:
    """Return what a draw reads of the design, as from its files."""
    read = {Path(file).stem for file in LANES[release.lane].draw.reads}
    made = design(release, key, data)
    return {name: json.loads(json.dumps(made[name])) for name in made if name in read}


def published(kind: str, at: Path, seed: int = 1) -> dict[str, bytes]:
    """Make a release by the known key; return what is public."""
    release, place = settings(kind), known_key(at / "keys")
    given = source(release, seed=seed)
    make_release(release, given, at / "small", Ledger(at / "ledger"), place)
    return files(at / "small" / "public")


def test_the_same_key_makes_the_same_files_whatever_the_seed(kind: str, tmp_path: Path) -> None:
    first = published(kind, tmp_path / "1")
    assert published(kind, tmp_path / "2", seed=2) == first


def test_what_was_prepared_or_cut_otherwise_changes_no_draw(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = published(kind, tmp_path / "first")
    monkeypatch.setattr("deniable.sampling.outcomes.CHUNK_RECORDS", 37)
    for few in (-1, 10**9):
        monkeypatch.setattr("deniable.sampling.outcomes.FEW_RECORDS", few)
        assert published(kind, tmp_path / str(few)) == first


def content(made: Mapping[str, Any]) -> list[Any]:
    """Return what was drawn, without what it says of its release."""
    found: list[Any] = []
    for name, each in made.items():
        match each:
            case _ if name == "exact_cells":
                continue
            case Microdata():
                found += [column.tolist() for column in each.columns]
            case NumericMicrodata():
                found.append(each.values.tolist())
            case table:
                found.append(table.to_csv())
    return found


def test_key_and_plan_both_count(kind: str) -> None:
    """The same key with another plan, or another key with the same, draws other numbers."""
    release = settings(kind)
    data, lane = records(release.lane), LANES[release.lane]
    key, other_key = key_of_seed(1), key_of_seed(2)
    made = described(release, key, data)
    first = content(lane.draw(release, made, data, key))
    assert content(lane.draw(release, made, data, key)) == first
    with_another_key = content(lane.draw(release, made, data, other_key))
    name, said = list(made.items())[-1]
    # A word in a description is not asked for its meaning.
    with_another_plan = content(lane.draw(release, {name: said | {"word": 1}}, data, key))
    for others in (with_another_key, with_another_plan):
        same = [one == other for one, other in zip(first, others, strict=True)]
        assert not any(same)


@pytest.mark.parametrize("change", [{"block": 71}, {"update": "pooled", "floor": 0.4}])
def test_settings_that_views_do_not_say_are_in_the_plan(change: dict[str, Any]) -> None:
    """Else two collections by one key would share their numbers, at other tables."""
    release, other = settings("views"), settings("views", **change)
    data, lane = records("collection"), LANES["collection"]
    made = described(release, key_of_seed(1), data)
    one, two = (lane.draw(each, made, data, key_of_seed(1))["clients"] for each in (release, other))
    assert np.mean(one["question"] == two["question"]) < 0.5


def test_strata_and_halves_have_the_numbers_of_the_whole_file() -> None:
    """A record's report hangs on its place in the file, not on who else is in its part of it."""
    release = settings("strata", order="as_in_file")
    data, lane = records("categorical"), LANES["categorical"]
    assert isinstance(data, Microdata)
    made = described(release, key_of_seed(1), data)
    first = lane.draw(release, made, data, key_of_seed(1))["protected"]
    last = data.column("c") == 1
    others = tuple(np.where(last, column, 0).astype(column.dtype) for column in data.columns)
    again = lane.draw(release, made, Microdata(DOMAIN, others, data.marks), key_of_seed(1))
    for name in DOMAIN.names:
        np.testing.assert_array_equal(
            again["protected"].column(name)[last], first.column(name)[last]
        )


@pytest.mark.parametrize("by", ["attributes", "pairs_joint"])
def test_answers_of_a_half_have_the_numbers_of_the_whole_file(by: str) -> None:
    data, draws = records("categorical"), key_of_seed(1).draws("plan")
    assert isinstance(data, Microdata)
    protocol = assessment_protocol(by, data.domain, 0.4, "keep")
    half = np.flatnonzero(np.random.default_rng(2).random(len(data)) < 0.5)
    answered = protocol.reports(data.take(half), draws, half)
    others = np.setdiff1d(np.arange(len(data)), half)
    whole, rest = protocol.reports(data, draws), protocol.reports(data.take(others), draws, others)
    for pair, counts in answered.items():
        np.testing.assert_array_equal(counts + rest[pair], whole[pair])
