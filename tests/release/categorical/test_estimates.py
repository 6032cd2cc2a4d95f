"""What is made from a protected file: weights that meet the estimates, and synthetic records."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from deniable.errors import DeniableError
from deniable.estimation.likelihood import maximum_likelihood
from deniable.files import write_table
from deniable.pram.protocol import StratifiedProtocol
from deniable.randomized_response.adjustment import TOLERANCE, Unreachable
from deniable.randomized_response.synthetic import repeat_cells
from deniable.records.categorical import Microdata, read_parquet
from deniable.release import key_for, release_from
from deniable.release.categorical import design as release, estimates as release_estimates
from deniable.release.categorical.check import distances_from_truth
from deniable.release.categorical.estimates import (
    LIKELIHOOD_TOLERANCE,
    SYNTHETIC_MARKS,
    Basis,
    adjust_reports,
    describe_adjustment,
    estimated_distributions,
    synthesize_release,
)
from deniable.release.keys import hold_to_design
from deniable.release.made import PRODUCTION_MARK, REHEARSAL_MARK, public_source, read_made

COMMON = {"name": "small", "data": "adult", "matrix": "keep", "p": 0.7, "rehearsal": True}
CLUSTERS = {"mechanism": "rr_clusters", "t_v": 12, "t_d": 0.05}
CLUSTERS |= {"dependences": {"by": "true_records"}}
KINDS: dict[str, dict[str, Any]] = {
    "independent": {"mechanism": "rr_independent"},
    "joint clusters": CLUSTERS | {"cluster_mechanism": "joint"},
    "kronecker clusters": CLUSTERS | {"cluster_mechanism": "kronecker"},
    "joint": {"mechanism": "rr_joint", "attributes": ["colour", "smokes", "owner"]},
}


class Lane:
    """A release up to its estimates, and what is made from them."""

    def __init__(
        self, data: Microdata, kind: str, folder: Path | str = "no file", **changes: Any
    ) -> None:
        self.settings = release_from(COMMON | KINDS[kind] | changes)
        self.data = data
        self.key = key_for(self.settings, 1, folder, data)
        self.described = json.loads(
            json.dumps(release.designed(self.settings, data, self.key)["release"])
        )
        self.protocol = StratifiedProtocol.from_json(self.described)
        draws = self.key.draws(self.described)
        self.protected = release.protect(self.settings, self.protocol, data, draws)
        self.estimates = release_estimates.estimate(self.protocol, self.protected)
        self.adjustment = adjust_reports(self.protocol, self.protected, self.estimates)

    def synthetic(self, basis: Basis, source: Any = None) -> Microdata:
        return synthesize_release(
            basis,
            self.protocol,
            self.protected,
            self.estimates,
            self.adjustment.weights,
            source or public_source(self.settings, self.protected, "synthesis"),
        )


@pytest.fixture(scope="module")
def lanes(small_data: Microdata) -> Callable[[str], Lane]:
    # 5,000 records: every cell is reported, every target can be met.
    columns = tuple(np.tile(column, 10) for column in small_data.columns)
    data = Microdata(small_data.domain, columns, small_data.marks)
    made = {kind: Lane(data, kind) for kind in KINDS}
    return made.__getitem__


@pytest.fixture(params=KINDS)
def lane(request: pytest.FixtureRequest, lanes: Callable[[str], Lane]) -> Lane:
    return lanes(request.param)


def weighted(data: Microdata, names: tuple[str, ...], weights: np.ndarray) -> np.ndarray:
    domain = data.domain.project(names)
    cells = domain.ravel(data.project(names).columns)
    return np.bincount(cells, weights=weights, minlength=domain.size)


# -- weights ---------------------------------------------------------------------------------------


def test_targets_are_the_estimated_distributions_of_the_clusters(lane: Lane) -> None:
    found = estimated_distributions(lane.protocol, lane.estimates)
    own = lane.protocol.protocols[()]
    assert [each.size for each in found] == [channel.size for channel in own.channels]
    for counts, channel, distribution in zip(
        own.reported_counts(lane.protected), own.channels, found, strict=True
    ):
        likely = maximum_likelihood(counts, channel, tolerance=LIKELIHOOD_TOLERANCE)
        np.testing.assert_array_equal(distribution, likely.proportions)


def test_weighted_reports_have_the_estimated_distributions(lane: Lane) -> None:
    adjustment = lane.adjustment
    assert adjustment.adjustments[()].unreachable == ()
    assert adjustment.weights.shape == (len(lane.protected),)
    assert adjustment.weights.sum() == pytest.approx(1)
    for cluster, target in zip(
        lane.protocol.blocks, estimated_distributions(lane.protocol, lane.estimates), strict=True
    ):
        found = weighted(lane.protected, cluster, adjustment.weights)
        np.testing.assert_allclose(found, target, atol=1.01 * TOLERANCE)


def test_the_weights_of_rr_joint_are_its_estimate(lanes: Callable[[str], Lane]) -> None:
    lane = lanes("joint")
    names = lane.protocol.domain.names
    (target,) = estimated_distributions(lane.protocol, lane.estimates)
    counts = lane.protected.counts(names).reshape(-1)
    cells = lane.protocol.domain.ravel(lane.protected.columns)
    np.testing.assert_allclose(lane.adjustment.weights, (target / counts)[cells], rtol=1e-9)


def test_estimates_may_come_from_their_file(lane: Lane, tmp_path: Path) -> None:
    write_table(tmp_path / "estimates.csv", lane.estimates.assign(rehearsal=True))
    read = read_made([tmp_path / "estimates.csv"])["estimates"]
    again = adjust_reports(lane.protocol, lane.protected, read)
    np.testing.assert_allclose(again.weights, lane.adjustment.weights, rtol=1e-4)


def test_estimates_of_another_release_are_refused(lanes: Callable[[str], Lane]) -> None:
    alone, joint = lanes("independent"), lanes("joint")
    said = "0 rows for colour x smokes x owner, which has 12 cells; estimate again"
    with pytest.raises(DeniableError, match=said):
        estimated_distributions(joint.protocol, alone.estimates)


def test_weights_say_what_they_are(lane: Lane) -> None:
    said = describe_adjustment(lane.described, lane.protocol, lane.adjustment)
    said = json.loads(json.dumps(said))
    assert said["release"] == "small"
    assert said["notice"] == REHEARSAL_MARK
    assert said["rehearsal"] is True
    assert said["data_source"] == "original"
    assert said["clusters"] == [list(cluster) for cluster in lane.protocol.blocks]
    assert said["records"] == 5000
    assert said["sweeps"] >= 1
    assert 0 <= said["gap"] <= said["tolerance"] == TOLERANCE
    assert said["left_out"] == []
    assert said["records_of_weight_0"] == np.sum(lane.adjustment.weights == 0)
    assert 1 <= said["effective_records"] <= 5000


def test_targets_that_no_report_can_meet_are_named(small_data: Microdata) -> None:
    # Few records, and an estimate that gives every cell something.
    protocol = release.design(release_from(COMMON | KINDS["joint"]), small_data)
    few = Microdata(small_data.domain, tuple(c[:6] for c in small_data.columns))
    reports = few.project(protocol.domain.names)
    estimates = pd.DataFrame(
        {"attributes": "colour x smokes x owner", "stratum": ""}
        | {"maximum_likelihood": np.full(12, 1 / 12)}
    )
    unreported = np.flatnonzero(reports.counts().reshape(-1) == 0)
    with pytest.warns(RuntimeWarning, match="colour x smokes x owner, category .* is left out"):
        adjustment = adjust_reports(protocol, reports, estimates)
    assert adjustment.adjustments[()].unreachable == tuple(
        Unreachable(0, int(cell), pytest.approx(1 / 12)) for cell in unreported
    )
    described = release.describe(release_from(COMMON | KINDS["joint"]), protocol, "original", 500)
    left_out = describe_adjustment(described, protocol, adjustment)["left_out"]
    assert len(left_out) == unreported.size
    assert left_out[0]["attributes"] == ["colour", "smokes", "owner"]
    first = np.unravel_index(unreported[0], protocol.domain.shape)
    assert left_out[0]["categories"] == [
        a.categories[code] for a, code in zip(protocol.domain, first, strict=True)
    ]


# -- synthetic records -----------------------------------------------------------------------------


def test_clusters_are_repeated_as_estimated(lane: Lane) -> None:
    made = lane.synthetic("clusters")
    assert made.domain == lane.protected.domain
    assert len(made) == len(lane.protected)
    for cluster, estimate in zip(
        lane.protocol.blocks, estimated_distributions(lane.protocol, lane.estimates), strict=True
    ):
        counts = made.counts(cluster).reshape(-1)
        np.testing.assert_array_equal(counts, repeat_cells(estimate, len(made)))


def test_weighted_reports_are_repeated_as_weighted(lane: Lane) -> None:
    made = lane.synthetic("adjustment")
    names = lane.protocol.domain.names
    expected = len(made) * weighted(lane.protected, names, lane.adjustment.weights)
    assert np.abs(made.counts().reshape(-1) - expected).max() < 1 + 1e-9
    assert len(made) == len(lane.protected)


@pytest.mark.parametrize("basis", SYNTHETIC_MARKS)
def test_synthetic_records_are_marked_as_such(lane: Lane, basis: Basis, tmp_path: Path) -> None:
    lane.synthetic(basis).write_parquet(tmp_path / "synthetic.parquet")
    marks = read_parquet(tmp_path / "synthetic.parquet").marks
    synthetic = {"synthetic": SYNTHETIC_MARKS[basis], "synthetic_from": basis}
    assert marks == dict(lane.protected.marks) | synthetic
    assert marks["notice"] == REHEARSAL_MARK
    assert marks["data_source"] == "original"
    assert marks["synthetic"].startswith("SYNTHETIC: ")
    assert "synthetic" not in lane.protected.marks


@pytest.mark.parametrize("basis", SYNTHETIC_MARKS)
@pytest.mark.parametrize("rehearsal", [True, False])
def test_synthetic_records_follow_from_the_protected_file(
    small_data: Microdata, basis: Basis, rehearsal: bool, tmp_path: Path
) -> None:
    changes = {"synthetic": basis, "rehearsal": rehearsal, "population": "people"}
    lane = Lane(small_data, "joint clusters", tmp_path / "one", **changes)
    made = lane.synthetic(basis)
    assert same(made, lane.synthetic(basis))
    assert made.marks["notice"] == (REHEARSAL_MARK if rehearsal else PRODUCTION_MARK)
    # Made by the step of the lane, of what it reads: no seed enters.
    lane.estimates.to_csv(tmp_path / "estimates.csv", index=False)
    read = read_made([tmp_path / "estimates.csv"]) | {"release": lane.described}
    read |= {"adjusted_weights": pd.DataFrame({"weight": lane.adjustment.weights})}
    read |= {"protected": lane.protected}
    for _ in range(2):
        step = release_estimates.synthesized(lane.settings, read)
        assert same(made, step["synthetic"])
    # Another file, another step and another release have chance of their own.
    other = Microdata(
        lane.protected.domain, tuple(c[::-1] for c in lane.protected.columns), lane.protected.marks
    )
    for source in (
        public_source(lane.settings, other, "synthesis"),
        public_source(lane.settings, lane.protected, "another step"),
        public_source(release_from(COMMON | KINDS["joint"] | {"name": "b"}), other, "synthesis"),
    ):
        assert not same(made, lane.synthetic(basis, source))


def same(one: Microdata, other: Microdata) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one.columns, other.columns, strict=True))


def test_what_is_made_from_a_protected_file_does_not_change_it(lane: Lane) -> None:
    before = [column.copy() for column in lane.protected.columns]
    lane.synthetic("clusters")
    lane.synthetic("adjustment")
    assert all(np.array_equal(a, b) for a, b in zip(before, lane.protected.columns, strict=True))


def test_another_basis_is_never_a_second_draw(small_data: Microdata, tmp_path: Path) -> None:
    real = COMMON | KINDS["independent"] | {"rehearsal": False, "population": "people"}
    one, other = (release_from(real | {"synthetic": basis}) for basis in ("clusters", "adjustment"))
    assert one != other
    assert release_from(real) == other
    # The file is drawn by all that is stated, so that a begun release is held to its basis, too.
    key = key_for(one, 1, tmp_path, small_data)
    designs = [release.designed(each, small_data, key) for each in (one, other)]
    assert [each["release"]["parameters"]["synthetic"] for each in designs] == [
        "clusters",
        "adjustment",
    ]
    for _ in range(2):
        hold_to_design(one, tmp_path, key, designs[0])
    with pytest.raises(DeniableError, match="a second draw from the same records"):
        hold_to_design(other, tmp_path, key, designs[1])


# -- beside the truth ------------------------------------------------------------------------------


def test_distances_are_those_of_tables(lane: Lane) -> None:
    synthetic = lane.synthetic("clusters")
    found = distances_from_truth(
        lane.protocol, lane.data, lane.protected, synthetic, lane.adjustment.weights
    ).set_index("attributes")
    names = lane.protocol.domain.names
    assert len(found) == len(names) + len(names) * (len(names) - 1) // 2
    true = lane.data.counts(["colour", "owner"]) / 5000
    for file, data in (("protected", lane.protected), ("synthetic", synthetic)):
        table = data.counts(["colour", "owner"]) / 5000
        assert found.loc["colour x owner", file] == pytest.approx(np.abs(table - true).sum() / 2)
    adjusted = weighted(lane.protected, ("colour", "owner"), lane.adjustment.weights)
    distance = np.abs(adjusted - true.reshape(-1)).sum() / 2
    assert found.loc["colour x owner", "adjusted"] == pytest.approx(distance)
    together = [set(c) for c in lane.protocol.blocks]
    assert found.loc["colour x smokes", "one_cluster"] == any(
        {"colour", "smokes"} <= cluster for cluster in together
    )
    assert found["one_cluster"][list(names)].all()


def test_truth_is_no_distance_from_itself(lanes: Callable[[str], Lane]) -> None:
    lane = lanes("independent")
    equal = np.full(5000, 1 / 5000)
    found = distances_from_truth(lane.protocol, lane.data, lane.data, lane.data, equal)
    np.testing.assert_allclose(found[["protected", "synthetic", "adjusted"]], 0, atol=1e-12)


def test_estimating_brings_files_closer_to_the_truth(lanes: Callable[[str], Lane]) -> None:
    # The smallest data on which what the text is after can be seen: margins come from estimation,
    # dependences across clusters from adjustment alone.
    lane = lanes("independent")
    found = distances_from_truth(
        lane.protocol,
        lane.data,
        lane.protected,
        lane.synthetic("clusters"),
        lane.adjustment.weights,
    )
    single = found[~found["attributes"].str.contains(" x ")]
    assert single["synthetic"].mean() < 0.5 * single["protected"].mean()
    assert single["adjusted"].mean() < 0.5 * single["protected"].mean()
    pair = found.set_index("attributes").loc["colour x smokes"]
    assert pair["adjusted"] < 0.7 * pair["synthetic"]


def test_a_protocol_that_was_read_makes_the_same(lanes: Callable[[str], Lane]) -> None:
    lane = lanes("kronecker clusters")
    again = adjust_reports(
        StratifiedProtocol.from_json(lane.described), lane.protected, lane.estimates
    )
    np.testing.assert_array_equal(again.weights, lane.adjustment.weights)
