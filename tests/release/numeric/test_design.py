"""Releases of numbers: what is promised, drawn, estimated and audited, on small files."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from deniable.errors import DeniableError
from deniable.files import write_table
from deniable.records.numeric import NumericMicrodata, read_numeric_parquet
from deniable.release import audited_releases, key_for, key_of_seed, release_from, shown_of
from deniable.release.made import REHEARSAL_MARK, read_made, write_made
from deniable.release.numeric import design as release_numeric
from deniable.release.numeric.check import checked
from deniable.release.numeric.design import (
    HISTOGRAMS,
    SAMPLER_MARK,
    Domains,
    domains,
)
from deniable.release.numeric.estimates import (
    estimate_numbers,
)
from deniable.release.numeric.promises import (
    FOR_ALL,
    FOR_THE_OWNER,
    audit_numeric_release,
    audited,
    describe,
    designed,
)
from deniable.release.settings import NumericRelease

BOUNDS = {"width": (-2.0, 18.0), "height": (1.0, 6.0)}
KINDS: dict[str, dict[str, Any]] = {
    "histograms": {"mechanism": "numeric_dp", "bins": 8},
    "dp": {"mechanism": "idp", "method": "dp"},
    "dp_um": {"mechanism": "idp", "method": "dp_um", "k": 7},
    "idp_ls": {"mechanism": "idp", "method": "idp_ls", "k": 7},
    "idp_cbls": {"mechanism": "idp", "method": "idp_cbls", "k": 7},
}
HONEST = ("histograms", "dp")
CLUSTERED = ["no_epsilon_for_records"]
ACCEPT = {"dp_um": CLUSTERED, "idp_ls": CLUSTERED, "idp_cbls": [*CLUSTERED, "true_values_released"]}
"""What fails of a kind, with domains from public bounds."""


def settings(kind: str, **changes: Any) -> NumericRelease:
    common = {"name": "small", "data": "made", "epsilon": 1.0, "rehearsal": True}
    accept = ACCEPT.get(kind, []) + ["largest_values_shown"] * ("domain_factor" in changes)
    release = release_from(common | KINDS[kind] | {"accept": accept} | changes)
    assert release.data_kind == "numeric"
    return release  # type: ignore[return-value]


def made(seed: int = 1, records: int = 152) -> NumericMicrodata:
    """Return numbers with ties, within their bounds; one cluster of 7 has 3 values more."""
    drawn = np.random.default_rng(seed)
    values = np.stack([drawn.gamma(3, 1.5, records), drawn.uniform(1, 6, records)], axis=1)
    values = np.clip(values.round(1), [-2, 1], [18, 6])
    labels = np.arange(records) % 3 == 0
    marks = {"data_source": "original", "source_sha256": "0" * 64}
    return NumericMicrodata(
        tuple(BOUNDS), values, "size", ("small", "large"), labels.astype(int), marks
    )


@pytest.fixture(scope="module")
def data() -> NumericMicrodata:
    return made()


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def stated_for(release: NumericRelease, data: NumericMicrodata) -> Domains:
    return domains(release, data, BOUNDS)


def drawn(
    release: NumericRelease,
    data: NumericMicrodata,
    seed: int = 1,
    folder: Path | str = "no file",
) -> NumericMicrodata:
    """Return the protected file of a release in a folder, as its script makes it."""
    key = key_for(release, seed, folder, data)
    own = release_numeric.chosen(release, data)
    said = describe(release, stated_for(release, own), own, "original")
    made = {"release": json.loads(json.dumps(said))}
    return release_numeric.protected(release, made, data, key)["protected"]


# -- domains ---------------------------------------------------------------------------------------


def test_domains_are_the_stated_bounds_whatever_the_records(kind: str) -> None:
    for seed in (1, 2):
        stated = stated_for(settings(kind), made(seed))
        assert stated.lower.tolist() == [-2, 1]
        assert stated.upper.tolist() == [18, 6]


def test_values_outside_bounds_are_taken_as_the_nearer_bound(data: NumericMicrodata) -> None:
    values = data.values.copy()
    values[:2, 0] = 30, -30
    with pytest.warns(UserWarning, match="2 values of 'width' lie outside"):
        stated = stated_for(settings("dp"), data.with_values(values))
    assert stated.inner(values)[:2, 0].tolist() == [20, 0]


def test_bounds_that_are_missing_are_named(data: NumericMicrodata) -> None:
    with pytest.raises(DeniableError, match="'small': the manifest has no bounds of 'height'"):
        domains(settings("dp"), data, {"width": (0.0, 1.0)})


# -- chance ----------------------------------------------------------------------------------------


def test_a_rehearsal_is_repeated_and_depends_on_seed_and_name(
    data: NumericMicrodata, kind: str
) -> None:
    first, again = drawn(settings(kind), data), drawn(settings(kind), data)
    np.testing.assert_array_equal(first.values, again.values)
    assert (first.values != drawn(settings(kind), data, 2).values).any()
    assert (first.values != drawn(settings(kind, name="other"), data).values).any()


def test_a_release_uses_no_seed(
    data: NumericMicrodata, kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("a release must not be seeded")

    monkeypatch.setattr("deniable.release.keys.key_of_seed", refuse)
    monkeypatch.setattr("deniable.sampling.SeededNoise", refuse)
    real = settings(kind, rehearsal=False, population="people")
    first = drawn(real, data, 1, tmp_path / "one").values
    assert (first != drawn(real, data, 1, tmp_path / "other").values).any()
    # Begun, it is drawn by its own key, whatever the seed is then.
    np.testing.assert_array_equal(first, drawn(real, data, 2, tmp_path / "one").values)


@pytest.mark.parametrize("rehearsal", [True, False])
def test_marks_travel_with_the_file(
    data: NumericMicrodata, kind: str, rehearsal: bool, tmp_path: Any
) -> None:
    release = settings(kind, rehearsal=rehearsal, population="people")
    drawn(release, data, 1, tmp_path).write_parquet(tmp_path / "p.parquet")
    marks = dict(read_numeric_parquet(tmp_path / "p.parquet").marks)
    assert (HISTOGRAMS in marks) == (marks.pop("synthetic", "") == "yes") == (kind == "histograms")
    marks.pop(HISTOGRAMS, None)
    notice = REHEARSAL_MARK if rehearsal else SAMPLER_MARK
    # No digest of the true file among them.
    assert marks == {"data_source": "original", "release": "small", "notice": notice}
    assert describe(release, stated_for(release, data), data, "original")["notice"] == notice


def test_classes_stay_and_numbers_keep_to_their_bounds(data: NumericMicrodata, kind: str) -> None:
    before = data.values.copy()
    protected = drawn(settings(kind, order="as_in_file"), data)
    np.testing.assert_array_equal(protected.labels, data.labels)
    permuted = drawn(settings(kind), data)
    assert (permuted.labels != data.labels).any()
    assert permuted.labels.sum() == data.labels.sum()
    np.testing.assert_array_equal(data.values, before)
    for name, (lower, upper) in BOUNDS.items():
        assert lower <= protected.column(name).min() <= protected.column(name).max() <= upper


def test_attributes_that_are_not_named_do_not_enter(data: NumericMicrodata, kind: str) -> None:
    release = settings(kind, attributes=["height"])
    own = data.select(["height"])
    stated = domains(release, own, BOUNDS)
    protected = drawn(release, data)
    assert protected.names == stated.names == ("height",)
    assert len(audit_numeric_release(release, stated, own))
    assert set(estimate_numbers(release, stated, protected)["attribute"]) == {"height"}


def test_records_without_classes_are_of_one(data: NumericMicrodata, kind: str) -> None:
    plain = NumericMicrodata(data.names, data.values)

    release = settings(kind)
    protected = drawn(release, plain)
    assert protected.values.shape == data.values.shape
    table = estimate_numbers(release, stated_for(release, plain), protected)
    assert set(table["class"].fillna("")) == {""}
    said = describe(release, stated_for(release, plain), plain, "original")
    assert said["privacy"]["not_protected"].startswith("the number of records")


# -- promises --------------------------------------------------------------------------------------


def test_a_description_tells_nothing_of_the_records(kind: str, tmp_path: Path) -> None:
    """Two files of the same size are described alike: all of it may be published."""
    release = settings(kind, rehearsal=False, population="people")
    said = [
        describe(release, stated_for(release, records), records, "original")
        for records in (made(1), made(2))
    ]
    assert said[0] == said[1]
    assert said[0]["privacy"]["depends_on_the_records"] == []
    json.dumps(said[0], allow_nan=False)
    # What the audit finds on the records is left out of what is shown of a release.
    shown, passed_on = [], []
    for seed in (1, 2):
        folder = tmp_path / str(seed)
        made_by_design = designed(release, made(seed), key_of_seed(1), BOUNDS)
        write_made([folder / "public" / "release.json"], made_by_design)
        write_made([folder / "private" / "audit.csv"], made_by_design)
        write_table(folder / "public" / "estimates.csv", pd.DataFrame({"estimate": [0.0]}))
        shown.append(shown_of(folder)["audit"])
        passed_on += audited_releases([folder / "private" / "receipt.json"])
        audit = read_made([folder / "private" / "audit.csv"])["audit"]
        assert len(audited(made_by_design)) == len(audit) > 0
        assert list(shown[-1]) == list(audit)
        assert len(shown[-1]) == (len(audit) if kind == "histograms" else 0)
    pd.testing.assert_frame_equal(*shown, check_dtype=False)
    assert len(passed_on) == (2 if kind == "histograms" else 0)


def test_a_description_that_tells_of_the_records_says_so() -> None:
    release = settings("idp_cbls", rehearsal=False, population="people", domain_factor=1.5)
    said = [
        describe(release, stated_for(release, records), records, "original")
        for records in (made(1), made(2))
    ]
    different = {key for key in said[0] if said[0][key] != said[1][key]}
    assert different == {"domains"}
    (text,) = said[0]["privacy"]["depends_on_the_records"]
    assert "divided by domain_factor they are the largest value" in text


def test_a_rehearsal_is_shown_with_the_figures_of_the_audit(
    data: NumericMicrodata, tmp_path: Path
) -> None:
    release = settings("idp_cbls")
    stated = stated_for(release, data)
    files = [tmp_path / "release.json", tmp_path / "audit.csv"]
    write_made(files, designed(release, data, key_of_seed(1), BOUNDS))
    read = read_made(files)
    said, audit = read["release"], audited(read)
    assert len(audit) == len(audit_numeric_release(release, stated, data))
    assert np.isinf(audit["exact_or_lower_bound"].iloc[-1])
    assert str(audit["holds"].iloc[-1]) == "False"
    # Not in what is public, be it a rehearsal.
    assert said == json.loads(json.dumps(describe(release, stated, data, "original")))
    restored = release_numeric.domains_from_json(said["domains"])
    np.testing.assert_array_equal(restored.upper, stated.upper)
    assert restored.names == stated.names


def test_rows_of_the_audit_say_who_may_see_them(data: NumericMicrodata, kind: str) -> None:
    audit = audit_numeric_release(settings(kind), stated_for(settings(kind), data), data)
    assert set(audit["use"]) == {FOR_ALL if kind == "histograms" else FOR_THE_OWNER}
    assert {"dataset", "method", "reading", "unit", "k", "claimed_epsilon"} <= set(audit)
    assert audit["dataset"].unique().tolist() == ["made"]


# -- estimates -------------------------------------------------------------------------------------


# -- checks ----------------------------------------------------------------------------------------


def test_a_check_sets_records_beside_their_own_whatever_their_order(data: NumericMicrodata) -> None:
    release = settings("dp", epsilon=30.0, attributes=["height"])
    key = key_of_seed(1)
    made = designed(release, data, key, BOUNDS)
    made |= release_numeric.protected(release, made, data, key)
    stated = release_numeric.domains_from_json(made["release"]["domains"])
    estimates = estimate_numbers(release, stated, made["protected"])
    found = checked(release, made | {"estimates": estimates}, data, key, 1)
    of_file = found["utility"].set_index("measure")["value"]
    assert of_file["mean SSE"] < 0.1
