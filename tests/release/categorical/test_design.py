"""The release lane on a small file: what is designed, drawn, estimated and said of it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.slow_variants import all_but_first

from deniable.arrays import Counts
from deniable.errors import DeniableError
from deniable.estimation.likelihood import Likelihood
from deniable.estimation.strata import Reduced
from deniable.pram.protocol import StratifiedProtocol
from deniable.randomized_response.protocols import Protocol
from deniable.records.categorical import Microdata
from deniable.release import key_for, key_of_seed, release_from
from deniable.release.categorical import design as release
from deniable.release.categorical.check import check_against_truth, coverage_of_redraws
from deniable.release.categorical.estimates import TARGETS, estimate
from deniable.release.made import PRODUCTION_MARK, REHEARSAL_MARK, read_made
from deniable.release.settings import AnyRelease
from deniable.sampling import generator_for

KEY = key_of_seed("tests of the lane")
COMMON = {"name": "small", "data": "adult", "matrix": "keep", "p": 0.6, "rehearsal": True}
CLUSTERS = {"mechanism": "rr_clusters", "t_v": 12, "t_d": 0.05}
CLUSTERS |= {"dependences": {"by": "true_records"}}
KINDS: dict[str, dict[str, Any]] = {
    "independent": {"mechanism": "rr_independent"},
    "joint clusters": CLUSTERS | {"cluster_mechanism": "joint"},
    "kronecker clusters": CLUSTERS | {"cluster_mechanism": "kronecker"},
    "joint": {"mechanism": "rr_joint", "attributes": ["colour", "smokes", "owner"]},
}


def settings(kind: str, **changes: Any) -> AnyRelease:
    return release_from(COMMON | KINDS[kind] | changes)


def described(chosen: AnyRelease, data: Microdata) -> dict[str, Any]:
    """Return what a release says of itself, as its file has it."""
    said: dict[str, Any] = json.loads(json.dumps(release.designed(chosen, data, KEY)["release"]))
    return said


def design(chosen: AnyRelease, data: Microdata) -> StratifiedProtocol:
    """Return the protocol of a release, as its file has it."""
    return StratifiedProtocol.from_json(described(chosen, data))


def only(protocol: StratifiedProtocol) -> Protocol:
    """Return the protocol of a release without strata."""
    assert list(protocol.protocols) == [()]
    return protocol.protocols[()]


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


# -- design and description ------------------------------------------------------------------------


def test_clusters_are_as_the_mechanism_says(small_data: Microdata) -> None:
    designed = {kind: only(design(settings(kind), small_data)) for kind in KINDS}
    assert [len(c) for c in designed["independent"].clusters] == [1, 1, 1, 1]
    assert designed["joint"].clusters == (("colour", "smokes", "owner"),)
    assert designed["joint clusters"].clusters == designed["kronecker clusters"].clusters
    assert any(len(c) > 1 for c in designed["joint clusters"].clusters)


def test_attributes_that_are_not_named_do_not_enter(small_data: Microdata) -> None:
    chosen = settings("independent", attributes=["owner", "colour"])
    protocol = design(chosen, small_data)
    assert protocol.domain.names == ("owner", "colour")
    protected = release.protect(chosen, protocol, small_data, KEY.draws("plan"))
    assert protected.domain.names == ("owner", "colour")


def test_a_description_holds_all_that_an_estimate_needs(small_data: Microdata, kind: str) -> None:
    chosen = settings(kind)
    protocol = design(chosen, small_data)
    said = described(chosen, small_data)
    again = Protocol.from_json(said)
    assert again.clusters == protocol.blocks
    for ours, theirs in zip(only(protocol).channels, again.channels, strict=True):
        np.testing.assert_array_equal(ours.matrix(), theirs.matrix())
    privacy = said["privacy"]
    assert privacy["epsilon"] == protocol.epsilon
    assert set(privacy["epsilon_by_changed_attribute"]) == set(protocol.domain.names)
    assert said["data_source"] == "original"
    assert ("no finite epsilon" in privacy["not_counted"]) == ("clusters" in kind)


def test_one_attribute_in_one_matrix_has_the_whole_epsilon(small_data: Microdata) -> None:
    joint = described(settings("joint"), small_data)["privacy"]
    assert set(joint["epsilon_by_changed_attribute"].values()) == {joint["epsilon"]}
    alone = described(settings("independent"), small_data)["privacy"]
    by_attribute = alone["epsilon_by_changed_attribute"]
    assert sum(by_attribute.values()) == pytest.approx(alone["epsilon"])


@pytest.mark.parametrize(
    ("kind", "p"), [("independent", 1 / 3), ("kronecker clusters", 1 / 3), ("independent", 0.25)]
)
def test_a_singular_design_is_refused(small_data: Microdata, kind: str, p: float) -> None:
    chosen = settings(kind, matrix="printed", p=p)
    with pytest.raises(DeniableError, match=r"release 'small'.* is singular.*choose another p"):
        design(chosen, small_data)


# -- chance ----------------------------------------------------------------------------------------


def drawn(
    chosen: AnyRelease, data: Microdata, seed: int, folder: Path | str = "no file"
) -> Microdata:
    """Return the protected file of a release in a folder, as its scripts make it."""
    key = key_for(chosen, seed, folder, data)
    made = json.loads(json.dumps(release.designed(chosen, data, key)))
    return release.protected(chosen, made, data, key)["protected"]


def same(one: Microdata, other: Microdata) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one.columns, other.columns, strict=True))


def test_a_rehearsal_is_repeated_and_depends_on_seed_and_name(
    small_data: Microdata, kind: str, tmp_path: Any
) -> None:
    chosen = settings(kind)
    first, again = drawn(chosen, small_data, 1), drawn(chosen, small_data, 1)
    assert same(first, again)
    first.write_csv(tmp_path / "one.csv")
    again.write_csv(tmp_path / "two.csv")
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()
    assert not same(first, drawn(chosen, small_data, 2))
    assert not same(first, drawn(settings(kind, name="other"), small_data, 1))


def test_a_release_uses_no_seed(
    small_data: Microdata, kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    chosen = settings(kind, rehearsal=False, population="people")

    def refuse(*_: Any) -> None:
        raise AssertionError("a release must not be seeded")

    monkeypatch.setattr("deniable.release.keys.key_of_seed", refuse)
    one, other = tmp_path / "one", tmp_path / "other"
    first = drawn(chosen, small_data, 1, one)
    assert not same(first, drawn(chosen, small_data, 1, other))
    # Begun, it is drawn by its own key, whatever the seed is then.
    assert same(first, drawn(chosen, small_data, 2, one))


@pytest.mark.parametrize("rehearsal", [True, False])
def test_marks_travel_with_the_file(small_data: Microdata, rehearsal: bool, tmp_path: Path) -> None:
    chosen = settings("independent", rehearsal=rehearsal, population="people")
    mark = REHEARSAL_MARK if rehearsal else PRODUCTION_MARK
    protected = drawn(chosen, small_data, 1, tmp_path)
    assert protected.marks == {"data_source": "original", "release": "small", "notice": mark}
    assert described(chosen, small_data)["notice"] == mark
    assert ("REHEARSAL" in mark) == rehearsal


def test_the_true_records_are_left_alone(small_data: Microdata) -> None:
    before = [column.copy() for column in small_data.columns]
    drawn(settings("independent"), small_data, 1)
    assert all(np.array_equal(a, b) for a, b in zip(before, small_data.columns, strict=True))
    assert small_data.marks == {"data_source": "original"}


# -- estimates -------------------------------------------------------------------------------------


def test_estimates_have_a_row_for_every_category_and_cell(small_data: Microdata, kind: str) -> None:
    chosen = settings(kind)
    protocol = design(chosen, small_data)
    reports = drawn(chosen, small_data, 1)
    table = estimate(protocol, reports)
    rows = sum(protocol.domain.shape) + sum(
        protocol.domain.project(c).size for c in protocol.blocks if len(c) > 1
    )
    assert len(table) == rows
    assert not table.duplicated(["attributes", "categories"]).any()
    sums = table.groupby("attributes")[["reported", "estimate", "maximum_likelihood"]].sum()
    np.testing.assert_allclose(sums, 1.0, rtol=1e-9)
    assert (table["maximum_likelihood"] >= 0).all()
    for target in TARGETS:
        half = table["estimate"] - table[f"ci_low_{target}"]
        np.testing.assert_allclose(half, 1.959963985 * table[f"standard_error_{target}"])
    assert (table["standard_error_population"] > table["standard_error_file"] - 1e-3).all()


def test_a_margin_is_the_sum_of_its_cells(small_data: Microdata) -> None:
    chosen = settings("joint")
    protocol = design(chosen, small_data)
    table = estimate(protocol, drawn(chosen, small_data, 1)).set_index("attributes")
    joint = table.loc["colour x smokes x owner"].set_index("categories")["estimate"]
    for category, margin in table.loc["smokes"].set_index("categories")["estimate"].items():
        inside = [name.split(" x ")[1] == category for name in joint.index]
        assert joint[inside].sum() == pytest.approx(margin)


def checked_against_truth(
    estimates: pd.DataFrame, protocol: StratifiedProtocol, data: Microdata
) -> pd.DataFrame:
    coverage = coverage_of_redraws(protocol, data, np.random.default_rng(2), redraws=10)
    return check_against_truth(estimates, coverage)


def test_the_truth_stands_beside_the_estimate_of_its_own_cell(
    small_data: Microdata, kind: str
) -> None:
    chosen = settings(kind, p=0.9999)
    protocol = design(chosen, small_data)
    estimates = estimate(protocol, drawn(chosen, small_data, 1))
    checked = checked_against_truth(estimates, protocol, small_data)
    np.testing.assert_allclose(checked["true"], checked["estimate"], atol=2e-3)
    # And one of them by hand.
    row = checked[(checked["attributes"] == "colour") & (checked["categories"] == "green")]
    assert row["true"].tolist() == [np.mean(small_data.column("colour") == 2)]


def test_coverage_of_redraws_is_that_of_the_intervals(small_data: Microdata) -> None:
    columns = tuple(np.tile(c, 20) for c in small_data.columns)
    data = Microdata(small_data.domain, columns, small_data.marks)
    designed = design(settings("kronecker clusters"), data)
    coverage = coverage_of_redraws(designed, data, np.random.default_rng(8), redraws=4000)
    # Four standard errors of 4,000 redraws are .014; the normal approximation is good to .01.
    assert coverage["coverage"].between(0.95 - 0.024, 0.95 + 0.024).all()
    assert (coverage["redraws"] == 4000).all()


def test_a_file_that_would_hardly_change_is_refused(small_data: Microdata) -> None:
    # 1 - p is lost beside 1 in a joint matrix: nothing would ever be replaced.
    with pytest.raises(DeniableError, match=r"never changes a record.*choose a smaller p"):
        design(settings("joint", p=1 - 1e-12), small_data)


@pytest.mark.parametrize(
    "kind", all_but_first(["independent", "joint clusters", "kronecker clusters"])
)
def test_intervals_for_the_file_cover_at_their_rate(
    small_data: Microdata, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def skip(_: Reduced, counts: Counts, tolerance: float) -> Likelihood:
        return Likelihood(np.full(counts.shape, 1 / counts.size), 0, 0.0)

    monkeypatch.setattr(Reduced, "likelihood", skip)
    columns = tuple(np.tile(c, 20) for c in small_data.columns)
    data = Microdata(small_data.domain, columns, small_data.marks)
    protocol = design(settings(kind), data)
    generator = generator_for(20211121, {"test": "coverage", "kind": kind})
    runs = 200
    covered, total, variance = 0.0, 0.0, 0.0
    for _ in range(runs):
        reports = protocol.randomize(data, generator).reports
        table = checked_against_truth(estimate(protocol, reports), protocol, data)
        covered += table["covered"].to_numpy()
        error = (table["estimate"] - table["true"]).to_numpy()
        total += error
        variance += table["standard_error_file"].to_numpy() ** 2
    rates = covered / runs
    # The normal approximation is good to about .01 here; four standard errors of 200 runs are .062.
    assert rates.min() > 0.95 - 0.01 - 0.062
    assert rates.mean() == pytest.approx(0.95, abs=0.02)
    # Unbiased: the mean error of each cell is within 4.5 of its own standard errors.
    assert (np.abs(total) / np.sqrt(variance) < 4.5).all()


def test_the_intervals_for_the_file_are_not_those_for_the_population(
    small_data: Microdata,
) -> None:
    chosen = settings("independent", p=0.95)
    protocol = design(chosen, small_data)
    table = estimate(protocol, drawn(chosen, small_data, 1))
    assert (table["standard_error_file"] < 0.75 * table["standard_error_population"]).all()


def test_estimates_survive_their_file(small_data: Microdata, tmp_path: Any) -> None:
    chosen = settings("kronecker clusters")
    protocol = design(chosen, small_data)
    table = estimate(protocol, drawn(chosen, small_data, 1))
    table.to_csv(tmp_path / "t.csv", index=False)
    read = read_made([tmp_path / "t.csv"])["t"]
    checked = checked_against_truth(read, protocol, small_data)
    assert checked["covered"].dtype == bool
