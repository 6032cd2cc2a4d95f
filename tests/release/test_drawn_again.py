"""A draw that is made again by its key is the same draw, in every lane."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deniable.files import write_text
from deniable.records.categorical import Microdata
from deniable.records.domain import Attribute, Domain
from deniable.records.numeric import NumericMicrodata
from deniable.release import (
    LANES,
    ReleaseKey,
    key_for,
    key_of_seed,
    read_made,
    release_from,
    write_made,
)
from deniable.release.made import Records
from deniable.release.settings import AnyRelease

DOMAIN = Domain(
    (
        Attribute("a", ("0", "1")),
        Attribute("b", ("x", "y", "z")),
        Attribute("c", ("no", "yes")),
        Attribute("d", ("1", "2", "3", "4")),
    )
)
BOUNDS = {"width": (0.0, 20.0), "height": (1.0, 6.0)}
CLUSTERS = {"mechanism": "rr_clusters", "matrix": "keep", "p": 0.5, "t_v": 8, "t_d": 0.0}
IDP = {"mechanism": "idp", "epsilon": 1.0}
RRBA = {"mechanism": "rrba", "p": 0.5, "block": 70}
KINDS: dict[str, dict[str, Any]] = {
    "independent": {"mechanism": "rr_independent", "matrix": "keep", "p": 0.5},
    "clusters by a half": CLUSTERS
    | {"cluster_mechanism": "joint"}
    | {"dependences": {"by": "attributes", "p": 0.4, "respondents": "half"}},
    "kronecker clusters": CLUSTERS
    | {"cluster_mechanism": "kronecker"}
    | {"dependences": {"by": "pairs_joint", "p": 0.4, "respondents": "half"}},
    "strata": {
        "mechanism": "pram",
        "matrix": {"kind": "two_step", "epsilon": 2.0},
        "strata": ["c"],
        "joint": [["a", "b"]],
    },
    "values": IDP | {"method": "dp"},
    "centroids": IDP | {"method": "idp_cbls", "k": 7},
    "histograms": {"mechanism": "numeric_dp", "epsilon": 1.0, "bins": 8},
    "views": RRBA | {"answers": "view"},
    "pooled tables": RRBA | {"answers": "table", "update": "pooled", "floor": 0.3},
}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def settings(kind: str, **changes: Any) -> AnyRelease:
    return release_from(
        {"name": "small", "data": "made", "rehearsal": False} | KINDS[kind] | changes
    )


def records(lane: str, count: int = 700) -> Records:
    drawn = np.random.default_rng(1)
    marks = {"data_source": "original"}
    if lane != "numeric":
        columns = [drawn.integers(0, attribute.size, count) for attribute in DOMAIN]
        columns[1] = np.where(drawn.random(count) < 0.7, columns[0], columns[1])
        return Microdata(DOMAIN, tuple(columns), marks)
    values = np.stack([drawn.gamma(3, 1.5, count), drawn.uniform(1, 6, count)], axis=1)
    values = np.clip(values.round(1), [0, 1], [20, 6])
    return NumericMicrodata(
        tuple(BOUNDS), values, "size", ("small", "large"), drawn.integers(0, 2, count), marks
    )


def design(release: AnyRelease, key: ReleaseKey, data: Records) -> Mapping[str, Any]:
    bounds = [BOUNDS] if release.lane == "numeric" else []
    return LANES[release.lane].design(release, data, key, *bounds)


def drawn(release: AnyRelease, folder: Path, seed: int = 1) -> dict[str, bytes]:
    """Take the steps of the two scripts, by files; return what was drawn."""
    lane, data = LANES[release.lane], records(release.lane)
    key = key_for(release, seed, folder, data)
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / lane.design.leaves[0]).exists():
        write_made([folder / file for file in lane.design.leaves], design(release, key, data))
    made = read_made([folder / file for file in lane.draw.reads])
    key = key_for(release, seed, folder, data, made)
    write_made([folder / file for file in lane.draw.leaves], lane.draw(release, made, data, key))
    return {file: (folder / file).read_bytes() for file in lane.drawn_once}


def test_a_draw_made_again_leaves_the_same_files(kind: str, tmp_path: Path) -> None:
    release = settings(kind)
    lane = LANES[release.lane]
    first = drawn(release, tmp_path)
    assert len(first) == len(lane.drawn_once)
    # As after jobs that were killed: some of the files, halves of them, others' content, hidden
    # files; and with another seed of the run.
    for file in lane.draw.leaves:
        (tmp_path / file).unlink()
        assert drawn(release, tmp_path, seed=2) == first
        (tmp_path / file).write_bytes(first[file][: len(first[file]) // 2])
        write_text(tmp_path / f".{file}.abcdefgh", "half")
        assert drawn(release, tmp_path, seed=2) == first
    # The design, too, is the same made again.
    for file in lane.drawn_once:
        (tmp_path / file).unlink()
    assert drawn(release, tmp_path, seed=3) == first


def test_what_was_prepared_or_cut_otherwise_changes_no_draw(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = drawn(settings(kind), tmp_path)
    monkeypatch.setattr("deniable.sampling.outcomes.CHUNK_RECORDS", 37)
    for few in (-1, 10**9):
        monkeypatch.setattr("deniable.sampling.outcomes.FEW_RECORDS", few)
        assert drawn(settings(kind), tmp_path) == first


def test_another_folder_has_another_key_and_another_draw(kind: str, tmp_path: Path) -> None:
    one, other = (drawn(settings(kind), tmp_path / name) for name in ("one", "other"))
    for file in LANES[settings(kind).lane].draw.leaves:
        assert one[file] != other[file]


def test_a_rehearsal_is_drawn_by_seed_and_name(kind: str, tmp_path: Path) -> None:
    rehearsal, named = (settings(kind, rehearsal=True, name=name) for name in ("small", "b"))
    first, again = drawn(rehearsal, tmp_path / "1"), drawn(rehearsal, tmp_path / "2")
    assert first == again
    for others in (drawn(rehearsal, tmp_path / "3", 2), drawn(named, tmp_path / "4")):
        for file in LANES[rehearsal.lane].draw.leaves:
            assert others[file] != first[file]


def content(made: Mapping[str, Any]) -> list[Any]:
    """Return what was drawn, without what it says of its release."""
    found: list[Any] = []
    for each in made.values():
        match each:
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
    made = json.loads(
        json.dumps(
            {
                name: value
                for name, value in design(release, key, data).items()
                if f"{name}.json" in lane.draw.reads
            }
        )
    )
    first = content(lane.draw(release, made, data, key))
    assert content(lane.draw(release, made, data, key)) == first
    with_another_key = content(lane.draw(release, made, data, other_key))
    ((name, said),) = made.items()
    # A word in a description is not asked for its meaning.
    with_another_plan = content(lane.draw(release, {name: said | {"word": 1}}, data, key))
    for others in (with_another_key, with_another_plan):
        same = [one == other for one, other in zip(first, others, strict=True)]
        assert sum(same) == len(getattr(release, "strata", ()))


@pytest.mark.parametrize("change", [{"block": 71}, {"update": "pooled", "floor": 0.4}])
def test_settings_that_views_do_not_say_are_in_the_plan(change: dict[str, Any]) -> None:
    """Else two collections by one key would share their numbers, at other tables."""
    release, other = settings("views"), settings("views", **change)
    data, lane = records("collection"), LANES["collection"]
    made = {"views": design(release, key_of_seed(1), data)["views"]}
    one, two = (lane.draw(each, made, data, key_of_seed(1))["clients"] for each in (release, other))
    assert np.mean(one["question"] == two["question"]) < 0.5


def test_strata_and_halves_have_the_numbers_of_the_whole_file() -> None:
    """A record's report hangs on its place in the file, not on who else is in its part of it."""
    release = settings("strata")
    data, lane = records("categorical"), LANES["categorical"]
    assert isinstance(data, Microdata)
    made = {"channels": design(release, key_of_seed(1), data)["channels"]}
    first = lane.draw(release, made, data, key_of_seed(1))["protected"]
    last = data.column("c") == 1
    others = tuple(np.where(last, column, 0).astype(column.dtype) for column in data.columns)
    again = lane.draw(release, made, Microdata(DOMAIN, others, data.marks), key_of_seed(1))
    for name in DOMAIN.names:
        np.testing.assert_array_equal(
            again["protected"].column(name)[last], first.column(name)[last]
        )
