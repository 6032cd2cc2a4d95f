"""PRAM in the release lane: matrices by stratum, what they promise, estimates, what follows."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from deniable.channels import DenseChannel, KeepOrReplace
from deniable.channels.files import read_channel, write_channel
from deniable.channels.invariant import INVARIANCE_TOLERANCE, conditional_covariance, invariance_gap
from deniable.errors import DeniableError
from deniable.files import write_table
from deniable.pram.protocol import StratifiedProtocol, parts_by_stratum, shares
from deniable.records.categorical import Microdata
from deniable.records.domain import Attribute, Domain
from deniable.release import key_for, release_from
from deniable.release.categorical import design as release
from deniable.release.categorical.check import (
    audit_release,
    audit_release_samplers,
    check_against_truth,
    coverage_of_redraws,
    distances_from_truth,
    pair_distances,
)
from deniable.release.categorical.design import matrices_table, write_matrices
from deniable.release.categorical.estimates import (
    adjust_reports,
    describe_adjustment,
    estimate,
    synthesize_release,
)
from deniable.release.categorical.pairs import estimate_pairs
from deniable.release.made import read_made
from deniable.release.settings import PramRelease

from reproduction.report.contents import ReleaseFiles
from reproduction.report.render import Contents, render

COMMON = {"name": "small", "data": "adult", "mechanism": "pram", "rehearsal": True}
BY_SMOKES = {"strata": ["smokes"], "joint": [["region", "owner"]]}
KINDS: dict[str, dict[str, Any]] = {
    "epsilon": {"matrix": {"kind": "epsilon", "epsilon": 1.5}},
    "retention by stratum": {"matrix": {"kind": "retention", "retention": 0.7}} | BY_SMOKES,
    "two steps by stratum": {"matrix": {"kind": "two_step", "epsilon": 2.0}} | BY_SMOKES,
    "designed": {
        "matrix": {"kind": "designed", "epsilon": 1.5, "loss": "changed"},
        "attributes": ["colour", "smokes", "region"],
        "strata": ["smokes"],
    },
    "two steps by two": {
        "matrix": {"kind": "two_step", "retention": 0.8},
        "strata": ["owner", "smokes"],
    },
}


def settings(kind: str, **changes: Any) -> PramRelease:
    found = release_from(COMMON | KINDS[kind] | changes)
    assert isinstance(found, PramRelease)
    return found


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def drawn(
    chosen: PramRelease, data: Microdata, folder: Path | str = "no file"
) -> tuple[StratifiedProtocol, Microdata]:
    protocol = release.design(chosen, data)
    draws = key_for(chosen, 1, folder, data).draws("plan")
    return protocol, release.protect(chosen, protocol, data, draws)


def described(chosen: PramRelease, protocol: StratifiedProtocol) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(
        json.dumps(release.describe(chosen, protocol, "original", 500), allow_nan=False)
    )
    return said


# -- design ----------------------------------------------------------------------------------------


def test_blocks_are_those_named_and_the_rest_one_by_one(small_data: Microdata) -> None:
    protocol = release.design(settings("retention by stratum"), small_data)
    assert protocol.blocks == (("colour",), ("region", "owner"))
    assert set(protocol.protocols) == {("no",), ("yes",)}
    two = release.design(settings("two steps by two"), small_data)
    assert two.strata == ("owner", "smokes")
    assert two.blocks == (("colour",), ("region",))
    assert set(two.protocols) <= {(a, b) for a in ("no", "yes") for b in ("no", "yes")}


def test_matrices_are_made_for_the_frequencies_of_their_own_stratum(
    small_data: Microdata, kind: str
) -> None:
    chosen = settings(kind)
    protocol = release.design(chosen, small_data)
    assert protocol.invariant == (kind.startswith(("two steps", "designed")))
    for stratum, rows in parts_by_stratum(small_data, protocol.strata):
        part = Microdata(small_data.domain, tuple(c[rows] for c in small_data.columns))
        for block, matrix in protocol.matrices()[stratum].items():
            assert (
                invariance_gap(DenseChannel(matrix), shares(part, block)) <= INVARIANCE_TOLERANCE
            ) == protocol.invariant


def test_what_is_asked_for_holds_in_every_stratum(small_data: Microdata) -> None:
    floors = release.design(settings("retention by stratum"), small_data)
    for matrices in floors.matrices().values():
        assert all((np.diag(matrix) >= 0.7).all() for matrix in matrices.values())
    epsilon = release.design(settings("epsilon"), small_data)
    assert max(epsilon.epsilon_by_changed_attribute().values()) <= 1.5
    assert epsilon.epsilon == pytest.approx(4 * 1.5)
    for protocol in release.design(settings("two steps by stratum"), small_data).protocols.values():
        assert max(channel.epsilon for channel in protocol.channels) <= 2.0


def test_the_users_own_matrices_are_used_as_they_are(small_data: Microdata, tmp_path: Path) -> None:
    P = np.array([[0.6, 0.4, 0.0], [0.1, 0.9, 0.0], [0.2, 0.0, 0.8]])
    colours = ["blue", "red", "green"]
    write_channel(tmp_path / "colour.csv", DenseChannel(P), colours)
    write_channel(tmp_path / "owner.csv", KeepOrReplace.uniform(2, 0.5), ["no", "yes"])
    files = {name: str(tmp_path / f"{name}.csv") for name in ("colour", "owner")}
    chosen = release_from(
        COMMON
        | {"matrix": {"kind": "file", "files": files}, "strata": ["smokes"]}
        | {"attributes": ["colour", "smokes", "owner"]}
    )
    assert isinstance(chosen, PramRelease)
    assert chosen.matrix_files == list(files.values())
    protocol, reports = drawn(chosen, small_data)
    for matrices in protocol.matrices().values():
        np.testing.assert_array_equal(matrices[("colour",)], P)
    # Zeros are zeros: nobody is reported green who is not.
    true, reported = small_data.column("colour"), reports.column("colour")
    assert (true[reported == 2] == 2).all()
    said = described(chosen, protocol)
    # Where they lie on their owner's machine is nobody's business.
    named = {"colour": "colour.csv", "owner": "owner.csv"}
    assert said["parameters"]["matrix"] == {"kind": "file", "files": named}
    assert not [part for part in tmp_path.parts[1:] if part in json.dumps(said)]
    assert said["privacy"]["epsilon"] == "infinity"
    assert said["privacy"]["epsilon_by_changed_attribute"]["colour"] == "infinity"
    assert said["privacy"]["epsilon_by_changed_attribute"]["owner"] == pytest.approx(math.log(3))
    audited = audit_release(said)
    assert audited["holds"].all()
    assert np.isinf(audited.set_index("of").loc["colour", "exact_epsilon"])


@pytest.mark.parametrize(
    ("P", "said"),
    [
        (np.eye(3), "colour: the matrix never changes a record; choose a smaller epsilon"),
        (np.full((3, 3), 1 / 3), "colour: the matrix is singular, so nothing could be estimated"),
    ],
)
def test_a_matrix_that_protects_or_tells_nothing_is_refused(
    small_data: Microdata, tmp_path: Path, P: np.ndarray, said: str
) -> None:
    file = tmp_path / "colour.csv"
    write_channel(file, DenseChannel(P), ["blue", "red", "green"])
    matrix = {"kind": "file", "files": {"colour": str(file)}}
    chosen = release_from(COMMON | {"matrix": matrix, "attributes": ["colour"]})
    with pytest.raises(DeniableError, match=f"release 'small': {said}"):
        release.design(chosen, small_data)


def test_a_fault_names_block_and_stratum(small_data: Microdata) -> None:
    chosen = settings("retention by stratum", matrix={"kind": "retention", "retention": 1 / 3})
    with pytest.raises(DeniableError, match="colour in the stratum smokes = no: the matrix is sin"):
        release.design(chosen, small_data)


# -- what is said ----------------------------------------------------------------------------------


def test_a_description_holds_every_stratums_matrices(small_data: Microdata, kind: str) -> None:
    chosen = settings(kind)
    protocol = release.design(chosen, small_data)
    said = described(chosen, protocol)
    again = StratifiedProtocol.from_json(said)
    assert again.strata == protocol.strata
    assert again.invariant == protocol.invariant
    for stratum, matrices in protocol.matrices().items():
        for block, matrix in matrices.items():
            np.testing.assert_array_equal(again.matrices()[stratum][block], matrix)
    assert said["privacy"]["epsilon"] == protocol.epsilon
    assert ("never of (1.3)" in said["estimates"]) == protocol.invariant
    assert release_from(said["parameters"]).model_dump() == chosen.model_dump()


def test_what_is_not_protected_is_said(small_data: Microdata) -> None:
    alone = settings("epsilon")
    privacy = described(alone, release.design(alone, small_data))["privacy"]
    assert privacy["unit"] == "the whole record of one respondent"
    assert privacy["not_counted"] == "nothing"
    assert "not_protected" not in privacy
    chosen = settings("two steps by stratum")
    privacy = described(chosen, release.design(chosen, small_data))["privacy"]
    assert privacy["unit"].endswith("but for the stratum attribute smokes")
    assert privacy["epsilon_by_changed_attribute"]["smokes"] == "infinity"
    assert float(privacy["epsilon_by_changed_attribute"]["smokes"]) == math.inf
    assert "infinite epsilon" in privacy["not_protected"]
    assert "discloses them" in privacy["not_counted"]
    assert "No finite epsilon" in privacy["not_counted"]


def test_an_invariant_matrix_discloses_its_margin(small_data: Microdata) -> None:
    # What a description says, done: the counts of a stratum, from its published matrix alone.
    protocol = release.design(settings("two steps by stratum"), small_data)
    for stratum, rows in parts_by_stratum(small_data, protocol.strata):
        matrix = protocol.matrices()[stratum][("colour",)]
        values, vectors = np.linalg.eig(matrix.T)
        stationary = np.real(vectors[:, np.argmax(np.real(values))])
        disclosed = len(rows) * stationary / stationary.sum()
        true = np.bincount(small_data.column("colour")[rows], minlength=3)
        np.testing.assert_array_equal(np.round(disclosed), true)


def test_another_record_makes_another_invariant_matrix(small_data: Microdata) -> None:
    # Why no finite epsilon holds for the matrices: of two neighbours one alone publishes them.
    changed = [column.copy() for column in small_data.columns]
    colours = changed[small_data.domain.position("colour")]
    colours[0] = (colours[0] + 1) % 3
    neighbour = Microdata(small_data.domain, tuple(changed), small_data.marks)
    stratum = ("no", "yes")[small_data.column("smokes")[0]]
    own, other = (
        release.design(settings("two steps by stratum"), data).matrices()[stratum,][("colour",)]
        for data in (small_data, neighbour)
    )
    assert np.abs(own - other).max() > 1e-6


def test_every_claim_is_audited_and_holds(small_data: Microdata, kind: str) -> None:
    chosen = settings(kind)
    protocol = release.design(chosen, small_data)
    said = described(chosen, protocol)
    audited = audit_release(said)
    assert audited["holds"].all()
    disclosed = ["the matrices, made from the true frequencies"] if protocol.invariant else []
    without = [*protocol.strata, *disclosed]  # a finite epsilon: said, and so
    randomized = [*protocol.randomized.names, "all attributes"]
    assert audited["of"].tolist() == [*randomized, *without]
    assert np.isinf(audited["exact_epsilon"][len(randomized) :]).all()
    units = audited.set_index("of")["unit"]
    assert units["all attributes"].startswith(
        "record whose stratum" if protocol.strata else "record"
    )
    by_truth = protocol.invariant or chosen.matrix.kind == "designed"
    assert units["all attributes"].endswith("the matrices given") == by_truth
    np.testing.assert_allclose(
        audited["exact_epsilon"], audited["claimed_epsilon"], rtol=1e-9, atol=1e-9
    )
    broken = json.loads(json.dumps(said))
    broken["privacy"]["epsilon"] *= 0.99
    holds = audit_release(broken).set_index("of")["holds"]
    assert holds[~holds].index.tolist() == ["all attributes"]
    for name in protocol.strata:
        bounded = json.loads(json.dumps(said))
        bounded["privacy"]["epsilon_by_changed_attribute"][name] = 30.0
        holds = audit_release(bounded).set_index("of")["holds"]
        assert holds[~holds].index.tolist() == [name]
    samplers = audit_release_samplers(said, 1, draws=20_000)
    assert len(samplers) == len(protocol.protocols) * len(protocol.blocks)
    assert samplers["holds"].all()


# -- chance ----------------------------------------------------------------------------------------


def test_strata_are_released_as_they_are_and_order_is_kept(
    small_data: Microdata, kind: str
) -> None:
    protocol, reports = drawn(settings(kind), small_data)
    assert reports.domain == small_data.domain.project(protocol.domain.names)
    for name in protocol.strata:
        np.testing.assert_array_equal(reports.column(name), small_data.column(name))
    for name in protocol.randomized.names:
        agree = np.mean(reports.column(name) == small_data.column(name))
        assert 0.3 < agree < 1


def test_a_rehearsal_is_repeated_and_a_release_is_its_keys(
    small_data: Microdata, tmp_path: Path
) -> None:
    chosen = settings("two steps by stratum")
    first, again = (drawn(chosen, small_data)[1] for _ in range(2))
    assert all(np.array_equal(a, b) for a, b in zip(first.columns, again.columns, strict=True))
    real = settings("two steps by stratum", rehearsal=False, population="people")
    one, again, other = (
        drawn(real, small_data, tmp_path / name)[1] for name in ("one", "one", "other")
    )
    assert all(np.array_equal(a, b) for a, b in zip(one.columns, again.columns, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(one.columns, other.columns, strict=True))


# -- estimates -------------------------------------------------------------------------------------


def test_estimates_for_the_whole_are_the_weighted_sum_of_the_strata(
    small_data: Microdata, kind: str
) -> None:
    protocol, reports = drawn(settings(kind), small_data)
    table = estimate(protocol, reports)
    whole = table[table["stratum"] == ""]
    assert (whole["records"] == len(small_data)).all()
    singular = table["estimate"].isna()
    assert singular.any() == (kind == "designed")  # as few changes as possible tell less
    assert (table["maximum_likelihood"].isna() == singular).all()
    assert not table["reported"].isna().any()
    # One stratum without an estimate leaves the whole without.
    table = table[~table["attributes"].isin(table.loc[singular, "attributes"])]
    whole = table[table["stratum"] == ""]
    sums = table.groupby(["attributes", "stratum"])[["reported", "estimate", "maximum_likelihood"]]
    np.testing.assert_allclose(sums.sum(), 1.0, rtol=1e-9)
    if not protocol.strata:
        assert (table["stratum"] == "").all()
        return
    keys = ["attributes", "categories"]
    parts = table[table["stratum"] != ""].copy()
    share = parts["records"] / len(small_data)
    names = ["reported", "estimate", "maximum_likelihood"]
    added = parts.assign(**{name: share * parts[name] for name in names}).groupby(keys)[names].sum()
    of_strata = whole.set_index(keys).loc[added.index]
    np.testing.assert_allclose(of_strata[names], added, atol=1e-12)
    variance = (share * parts["standard_error_file"]) ** 2
    added = variance.groupby([parts[key] for key in keys]).sum()
    np.testing.assert_allclose(of_strata["standard_error_file"] ** 2, added, rtol=1e-9)


def test_stratum_attributes_are_known_but_for_sampling(small_data: Microdata) -> None:
    protocol, reports = drawn(settings("two steps by two"), small_data)
    table = estimate(protocol, reports)
    own = table[table["cluster"] == "owner x smokes"]
    assert set(own["attributes"]) == {"owner", "smokes", "owner x smokes"}
    assert (own["stratum"] == "").all()
    assert (own["standard_error_file"] == 0).all()
    true = np.mean(small_data.column("owner"))
    row = own[(own["attributes"] == "owner") & (own["categories"] == "yes")].iloc[0]
    assert row["estimate"] == pytest.approx(true, abs=1e-15)
    expected = math.sqrt(true * (1 - true) / (len(small_data) - 1))
    assert row["standard_error_population"] == pytest.approx(expected)


def test_reported_shares_have_the_errors_of_an_invariant_matrix(small_data: Microdata) -> None:
    protocol, reports = drawn(settings("two steps by stratum"), small_data)
    table = estimate(protocol, reports).set_index(["attributes", "stratum"])
    for stratum, rows in parts_by_stratum(reports, ("smokes",)):
        counts = np.bincount(reports.column("colour")[rows], minlength=3)
        channel = protocol.protocols[stratum].channel_of(("colour",))
        # [pram], (2.4), with what is reported for what is true.
        expected = np.sqrt(np.diag(conditional_covariance(channel, counts)))
        found = table.loc[("colour", stratum[0])]
        np.testing.assert_allclose(found["reported_standard_error_file"], expected)
        # The inverse of the matrix costs more.
        assert (found["standard_error_file"] > found["reported_standard_error_file"]).all()
    plain = estimate(*drawn(settings("retention by stratum"), small_data))
    assert not any(column.startswith("reported_") for column in plain)


def test_where_matrices_are_singular_the_reports_own_shares_are_estimates(
    small_data: Microdata,
) -> None:
    protocol, reports = drawn(settings("designed"), small_data)
    assert any(c.singular for own in protocol.protocols.values() for c in own.channels)
    coverage = coverage_of_redraws(protocol, small_data, np.random.default_rng(8), redraws=500)
    checked = check_against_truth(estimate(protocol, reports), coverage)
    singular = checked["estimate"].isna()
    assert checked.loc[singular, ["coverage", "covered"]].isna().all(axis=None)
    assert checked.loc[singular, "standard_error_file"].isna().all()
    assert checked.loc[singular, "reported_coverage"].min() > 0.8
    assert not checked.loc[~singular, ["coverage", "covered"]].isna().any(axis=None)
    assert not checked["reported_covered"].isna().any()


def test_intervals_of_both_estimators_cover_at_their_rate(small_data: Microdata) -> None:
    data = Microdata(small_data.domain, tuple(np.tile(c, 20) for c in small_data.columns))
    chosen = settings("two steps by stratum")
    protocol, reports = drawn(chosen, data)
    coverage = coverage_of_redraws(protocol, data, np.random.default_rng(8), redraws=4000)
    common = coverage[coverage["true"].between(0.05, 0.95) & (coverage["coverage"] < 1)]
    assert len(common) > 25
    # Four standard errors of 4,000 redraws are .014; the normal approximation is good to .01.
    for column in ("coverage", "reported_coverage"):
        assert common[column].between(0.95 - 0.024, 0.95 + 0.024).all()
    checked = check_against_truth(estimate(protocol, reports), coverage)
    assert not checked["true"].isna().any()
    assert checked["covered"].mean() > 0.8
    assert checked["reported_covered"].mean() > 0.8
    whole = checked[(checked["stratum"] == "") & (checked["attributes"] == "colour")]
    true = np.bincount(data.column("colour"), minlength=3) / len(data)
    assert whole["true"].tolist() == true.tolist()
    part = checked[(checked["stratum"] == "yes") & (checked["attributes"] == "colour")]
    own = data.column("colour")[data.column("smokes") == 1]
    assert part["true"].tolist() == (np.bincount(own, minlength=3) / own.size).tolist()


def test_a_stratum_of_one_record_is_released_and_estimated() -> None:
    domain = Domain((Attribute("colour", ("blue", "red")), Attribute("sex", ("F", "M", "X"))))
    data = Microdata(domain, (np.array([0, 1, 0, 1, 1, 0]), np.array([0, 0, 0, 0, 0, 2])))
    for matrix in ({"kind": "two_step", "epsilon": 1.0}, {"kind": "epsilon", "epsilon": 1.0}):
        chosen = release_from(COMMON | {"matrix": matrix, "strata": ["sex"]})
        assert isinstance(chosen, PramRelease)
        protocol, reports = drawn(chosen, data)
        assert set(protocol.protocols) == {("F",), ("X",)}
        table = estimate(protocol, reports)
        single = table[table["stratum"] == "X"]
        assert single["standard_error_population"].isna().all()
        assert not table.loc[table["stratum"] == "F", "standard_error_population"].isna().all()
        weights = adjust_reports(protocol, reports, table).weights
        assert weights.sum() == pytest.approx(1)


def test_a_warning_names_its_stratum(small_data: Microdata) -> None:
    chosen = settings("retention by stratum")
    protocol, reports = drawn(chosen, small_data)
    estimates = estimate(protocol, reports)
    few = Microdata(reports.domain, tuple(c[:8] for c in reports.columns))
    with pytest.warns(RuntimeWarning, match="stratum (yes|no): .* is left out"):
        adjusted = adjust_reports(protocol, few, estimates)
    left_out = describe_adjustment(described(chosen, protocol), protocol, adjusted)["left_out"]
    assert {each["stratum"]["smokes"] for each in left_out} <= {"yes", "no"}
    assert left_out


def test_estimates_survive_their_file(small_data: Microdata, tmp_path: Path) -> None:
    protocol, reports = drawn(settings("two steps by two"), small_data)
    table = estimate(protocol, reports)
    write_table(tmp_path / "estimates.csv", table)
    read = read_made([tmp_path / "estimates.csv"])["estimates"]
    pd.testing.assert_frame_equal(read, table, check_dtype=False, rtol=1e-8)


# -- matrices --------------------------------------------------------------------------------------


def test_every_matrix_is_written_to_the_last_digit(
    small_data: Microdata, kind: str, tmp_path: Path
) -> None:
    protocol = release.design(settings(kind), small_data)
    write_matrices(protocol, tmp_path)
    index = pd.read_csv(tmp_path / "index.csv", keep_default_na=False)
    assert len(index) == len(protocol.protocols) * len(protocol.blocks)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*index["file"], "index.csv"])
    table = matrices_table(protocol)
    for row in index.itertuples():
        stratum = tuple(row.stratum.split(" x ")) if row.stratum else ()
        block = tuple(row.block.split(" x "))
        used = protocol.matrices()[stratum][block]
        named = read_channel(tmp_path / row.file)
        np.testing.assert_array_equal(named.channel.entries, used)
        own = table[(table["stratum"] == row.stratum) & (table["block"] == row.block)]
        entries = own.pivot(index="true", columns="reported", values="probability")
        ordered = entries.loc[list(named.categories), list(named.categories)]
        np.testing.assert_array_equal(ordered.to_numpy().astype(float), used)
        assert row.epsilon == pytest.approx(protocol.protocols[stratum].channel_of(block).epsilon)
        assert row.least_retention == pytest.approx(used.diagonal().min())


def test_names_of_files_are_safe_and_differ(tmp_path: Path) -> None:
    odd = Attribute("a/b", ("../x", "*", "ü"))
    domain = Domain((odd, Attribute("s", ("1/2", "1 2", "<1"))))
    left = domain.project(["a/b"])
    own = release.rr_independent(left, 0.5, "keep")
    protocol = StratifiedProtocol(domain, ("s",), {(c,): own for c in ("1/2", "1 2", "<1")})
    write_matrices(protocol, tmp_path)
    files = pd.read_csv(tmp_path / "index.csv")["file"]
    assert files.is_unique
    assert files.str.fullmatch(r"[A-Za-z0-9_.-]+").all()
    assert not files.str.startswith(".").any()


# -- what is made of the protected file ------------------------------------------------------------


@pytest.mark.parametrize("basis", ["clusters", "adjustment"])
def test_weights_and_synthetic_records_are_made_within_strata(
    small_data: Microdata, kind: str, basis: Any
) -> None:
    data = Microdata(
        small_data.domain, tuple(np.tile(c, 10) for c in small_data.columns), small_data.marks
    )
    chosen = settings(kind)
    protocol, reports = drawn(chosen, data)
    estimates = estimate(protocol, reports)
    adjusted = adjust_reports(protocol, reports, estimates)
    assert adjusted.weights.sum() == pytest.approx(1)
    column = "reported" if protocol.invariant else "maximum_likelihood"
    synthetic = synthesize_release(
        basis, protocol, reports, estimates, adjusted.weights, np.random.default_rng(1)
    )
    assert synthetic.domain == reports.domain
    assert synthetic.marks["synthetic"].startswith("SYNTHETIC")
    for stratum, rows in parts_by_stratum(reports, protocol.strata):
        weights = adjusted.weights[rows]
        assert weights.sum() == pytest.approx(len(rows) / len(reports))
        own = estimates[estimates["stratum"] == " x ".join(stratum)].set_index("attributes")
        for block in protocol.blocks:
            target = own.loc[" x ".join(block), column].to_numpy(float)
            part = data.domain.project(block)
            cells = part.ravel([reports.column(name)[rows] for name in block])
            found = np.bincount(cells, weights=weights / weights.sum(), minlength=part.size)
            np.testing.assert_allclose(found, target, atol=1e-5)
            if basis == "clusters":
                cells = part.ravel([synthetic.column(name)[rows] for name in block])
                found = np.bincount(cells, minlength=part.size)
                assert np.abs(found - len(rows) * target).max() <= 1 + 1e-6
    for name in protocol.strata:
        np.testing.assert_array_equal(synthetic.column(name), reports.column(name))
    said = describe_adjustment(described(chosen, protocol), protocol, adjusted)
    assert said["clusters"] == [list(block) for block in protocol.blocks]
    assert said["left_out"] == []
    assert ("in each stratum" in said["targets"]) == bool(protocol.strata)
    if protocol.invariant:
        np.testing.assert_allclose(adjusted.weights, 1 / len(reports), rtol=1e-6)
    checked = distances_from_truth(protocol, data, reports, synthetic, adjusted.weights)
    pairs = checked.set_index("attributes")["one_cluster"]
    for name in protocol.strata:
        assert checked.set_index("attributes").loc[name, "protected"] == 0
        assert all(pairs[label] for label in pairs.index if name in label.split(" x "))


# -- the page --------------------------------------------------------------------------------------


def test_the_page_shows_strata_matrices_and_what_they_disclose(
    small_data: Microdata, kind: str, tmp_path: Path
) -> None:
    chosen = settings(kind)
    protocol, reports = drawn(chosen, small_data)
    estimates = estimate(protocol, reports)
    adjusted = adjust_reports(protocol, reports, estimates)
    said = described(chosen, protocol)
    generator = np.random.default_rng(1)
    coverage = coverage_of_redraws(protocol, small_data, generator, redraws=20)
    distances = distances_from_truth(protocol, small_data, reports, reports, adjusted.weights)
    pairs = pair_distances(estimate_pairs(protocol, reports), small_data)
    tables = {
        "estimates": estimates,
        "check": check_against_truth(estimates, coverage),
        "synthetic_check": distances.assign(
            synthetic_from="clusters", pairs=distances["attributes"].map(pairs)
        ),
    }
    for name, table in tables.items():
        write_table(tmp_path / f"{name}.csv", table)
    read = {
        name: pd.read_csv(tmp_path / f"{name}.csv", keep_default_na=False, na_values=[""])
        for name in tables
    }
    files = ReleaseFiles(said, read, describe_adjustment(said, protocol, adjusted))
    page = render(
        Contents(
            tables={},
            figures={},
            releases=[files],
            sources=[],
            findings="",
            facts={},
            seed=1,
            config="",
        )
    )
    matrix = chosen.matrix.kind
    assert f"matrices of the kind {matrix}" in " ".join(page.split())
    assert 'href="releases/small/public/matrices.csv"' in page
    assert "None" not in page
    assert "nan" not in page
    assert page.count('<td class="l">colour</td>') == 3  # the whole file's rows alone
    assert ("reports' own shares" in page) == protocol.invariant
    assert ("discloses them" in page) == protocol.invariant
    assert ("not protected" in page.lower()) == bool(protocol.strata)
    assert ("smokes infinite" in " ".join(page.split())) == bool(protocol.strata)
