"""Releases of numbers: what is promised, drawn, estimated and audited, on small files."""

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from scipy import integrate
from tests.slow_variants import all_but_first, slow

from deniable.channels.exact import rounded_down, rounded_up
from deniable.errors import DeniableError
from deniable.files import write_table
from deniable.idp.audit.report import AS_IT_RUNS, FROZEN
from deniable.records.numeric import NumericMicrodata, read_numeric_parquet
from deniable.release import audited_releases, key_for, key_of_seed, release_from, shown_of
from deniable.release.made import REHEARSAL_MARK, read_made, write_made
from deniable.release.numeric import design as release_numeric
from deniable.release.numeric.check import check_numbers, checked, measure_utility
from deniable.release.numeric.design import (
    HISTOGRAMS,
    SAMPLER_MARK,
    Domains,
    class_codes,
    domains,
    protect,
)
from deniable.release.numeric.estimates import (
    COLUMNS,
    DEVIATION,
    MEAN,
    SHARE,
    UNKNOWN_SCALE,
    _deviation,
    _Histogram,
    discrete_half_width,
    discrete_variance,
    estimate_numbers,
    statistics,
    unbiased_power,
)
from deniable.release.numeric.promises import (
    CENTROID,
    CENTROIDS,
    FOR_ALL,
    FOR_THE_OWNER,
    INFINITE,
    RECORD,
    audit_numeric_release,
    audited,
    describe,
    designed,
    exact_epsilons,
    proved_epsilon,
    verdicts,
)
from deniable.release.settings import NumericRelease
from deniable.sampling import SeededNoise

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


def test_a_domain_factor_takes_the_largest_value(data: NumericMicrodata) -> None:
    stated = stated_for(settings("idp_ls", domain_factor=1.5), data)
    assert stated.lower.tolist() == [0, 0]
    np.testing.assert_array_equal(stated.upper, 1.5 * data.values.max(axis=0))
    below = data.with_values(data.values - 3)
    with pytest.raises(DeniableError, match=r"'width' go from .* needs values of 0 and above"):
        stated_for(settings("idp_ls", domain_factor=1.5), below)
    with pytest.raises(DeniableError, match="all 0"):
        stated_for(settings("idp_ls", domain_factor=1.5), data.with_values(0 * data.values))


def test_values_outside_bounds_are_taken_as_the_nearer_bound(data: NumericMicrodata) -> None:
    values = data.values.copy()
    values[:2, 0] = 30, -30
    with pytest.warns(UserWarning, match="2 values of 'width' lie outside"):
        stated = stated_for(settings("dp"), data.with_values(values))
    assert stated.inner(values)[:2, 0].tolist() == [20, 0]


def test_bounds_that_are_missing_are_named(data: NumericMicrodata) -> None:
    with pytest.raises(DeniableError, match="'small': the manifest has no bounds of 'height'"):
        domains(settings("dp"), data, {"width": (0.0, 1.0)})


@given(
    st.floats(-1e6, 1e6),
    st.floats(1e-3, 1e6),
    st.lists(st.floats(0, 1), min_size=1, max_size=20),
)
def test_what_lies_at_an_end_is_exactly_there(
    lower: float, width: float, places: list[float]
) -> None:
    stated = Domains(("a",), np.array([lower]), np.array([lower + width]))
    inner = np.array([[0.0], [stated.widths[0]], *([place * stated.widths[0]] for place in places)])
    outer = stated.outer(inner)
    assert outer[0] == stated.lower
    assert outer[1] == stated.upper
    assert ((outer >= stated.lower) & (outer <= stated.upper)).all()


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
    assert class_codes(plain).tolist() == [0] * len(plain)
    release = settings(kind)
    protected = drawn(release, plain)
    assert protected.values.shape == data.values.shape
    table = estimate_numbers(release, stated_for(release, plain), protected)
    assert set(table["class"].fillna("")) == {""}
    assert set(measure_utility(release, plain, protected, 1)["class"]) == {""}
    said = describe(release, stated_for(release, plain), plain, "original")
    assert said["privacy"]["not_protected"].startswith("the number of records")


def test_scales_of_a_release_are_those_of_its_method(data: NumericMicrodata) -> None:
    release = settings("idp_cbls")
    stated = stated_for(release, data)
    masked = release_numeric.masking_of(release, stated, data)  # type: ignore[arg-type]
    assert masked.method == "idp_cbls"
    assert masked.epsilons.tolist() == [0.5, 0.5]
    np.testing.assert_array_equal(masked.upper, [20, 5])
    assert sum(masked.clusters.sizes) == len(data)


# -- promises --------------------------------------------------------------------------------------


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=10**9))
def test_rounding_goes_up_to_the_next_float(exact: Fraction) -> None:
    found = rounded_up(exact)
    assert Fraction(found) >= exact > Fraction(math.nextafter(found, -math.inf))


@given(st.floats(0.01, 30), st.integers(1, 12), st.sampled_from(HONEST))
def test_the_proved_epsilon_is_the_claimed_one_but_for_rounding(
    epsilon: float, attributes: int, kind: str
) -> None:
    names = tuple(f"a{i}" for i in range(attributes))
    upper = np.linspace(0.3, 7.0, attributes)
    stated = Domains(names, np.zeros(attributes), upper)
    release = settings(kind, epsilon=epsilon)
    found = proved_epsilon(release, stated)
    assert found == pytest.approx(epsilon, rel=1e-14)
    # By hand: two counts, or the width, over the scale that the noise is drawn with.
    share = rounded_down(Fraction(epsilon) / attributes)
    scales = [2 / share] * attributes if kind == "histograms" else [u / share for u in upper]
    changes = [2.0] * attributes if kind == "histograms" else upper.tolist()
    by_hand = [Fraction(c) / Fraction(s) for c, s in zip(changes, scales, strict=True)]
    assert exact_epsilons(release, stated) == by_hand
    assert found == rounded_up(sum(by_hand, Fraction(0)))


def test_only_honest_releases_of_records_have_a_proved_epsilon(
    data: NumericMicrodata, kind: str
) -> None:
    stated = stated_for(settings(kind), data)
    assert (proved_epsilon(settings(kind), stated) == INFINITE) == (kind not in HONEST)
    if kind != "histograms":
        assert proved_epsilon(settings(kind, domain_factor=1.5), stated) == INFINITE


@pytest.mark.parametrize(
    ("kind", "factor"), [(kind, None) for kind in KINDS] + [(kind, 1.5) for kind in list(KINDS)[1:]]
)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_verdicts_agree_with_the_audit(kind: str, factor: float | None, seed: int) -> None:
    """What holds for all records holds for these; what fails for all fails for these, too."""
    release = settings(kind) if factor is None else settings(kind, domain_factor=factor)
    records = made(seed)
    stated = stated_for(release, records)
    audit = audit_numeric_release(release, stated, records)
    assert (audit["domain"] == "from the data").any() == (factor is not None)
    units = {CENTROID: ["centroid"], CENTROIDS: ["attribute"], RECORD: ["record"]}
    for verdict in verdicts(release, stated):
        rows = audit[audit["unit"].isin(units[verdict.what])]
        rows = rows[rows["reading"].isin(verdict.reading.split(", "))]
        if verdict.what != RECORD:
            rows = rows[(rows["clusters"] != "fixed") & (rows["attribute"] != "all attributes")]
        if verdict.holds:
            public = rows[rows["domain"] == "public"]
            assert len(public)
            assert (public["holds"].astype(str) == "True").all()
            if verdict.proved_epsilon is not None:
                assert public["exact_or_lower_bound"].max() <= verdict.proved_epsilon * (1 + 1e-9)
        else:
            assert (rows["holds"].astype(str) == "False").any()
        if verdict.proved_epsilon == INFINITE:
            assert np.isinf(rows["exact_or_lower_bound"]).any()


def test_no_unit_is_said_both_to_hold_and_to_fail(data: NumericMicrodata, kind: str) -> None:
    for factor in (None, 1.5) if kind != "histograms" else (None,):
        release = settings(kind) if factor is None else settings(kind, domain_factor=factor)
        found: dict[tuple[str, str], set[bool]] = {}
        for verdict in verdicts(release, stated_for(release, data)):
            for reading in verdict.reading.split(", "):
                found.setdefault((verdict.what, reading), set()).add(verdict.holds)
        assert all(len(each) == 1 for each in found.values())
        assert (RECORD, AS_IT_RUNS) in found
        assert (RECORD, FROZEN) in found


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
    restored = Domains.from_json(said["domains"])
    np.testing.assert_array_equal(restored.upper, stated.upper)
    assert restored.names == stated.names


def test_rows_of_the_audit_say_who_may_see_them(data: NumericMicrodata, kind: str) -> None:
    audit = audit_numeric_release(settings(kind), stated_for(settings(kind), data), data)
    assert set(audit["use"]) == {FOR_ALL if kind == "histograms" else FOR_THE_OWNER}
    assert {"dataset", "method", "reading", "unit", "k", "claimed_epsilon"} <= set(audit)
    assert audit["dataset"].unique().tolist() == ["made"]


def test_clusters_without_noise_are_counted_for_the_owner() -> None:
    values = np.repeat([[1.0], [2.0], [3.0], [4.5]], 7, axis=0)
    values[-7:, 0] += np.arange(7) / 10
    same = NumericMicrodata(("width",), values)
    release = settings("idp_cbls", attributes=["width"])
    stated = domains(release, same, BOUNDS)
    audit = audit_numeric_release(release, stated, same)
    assert audit["without_noise"].unique().tolist() == [0.75]


# -- estimates -------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [0.3, 2.0, 40.0])
@pytest.mark.parametrize("true", [0.0, 0.4, 2.7, 5.0])
def test_powers_of_a_clipped_value_are_unbiased(scale: float, true: float) -> None:
    """The expectation, integrated: density inside, atoms at either end."""
    width = 5.0

    def expected(of: Any) -> float:
        def inside(y: float) -> float:
            return of(y, False, False) * math.exp(-abs(y - true) / scale) / (2 * scale)

        parts = [(0.0, true), (true, width)]
        found = sum(integrate.quad(inside, *part, epsabs=1e-12)[0] for part in parts)
        found += math.exp(-true / scale) / 2 * of(0.0, True, False)
        return found + math.exp(-(width - true) / scale) / 2 * of(width, False, True)

    def power(p: int) -> Any:
        def of(y: float, at_0: bool, at_upper: bool) -> float:
            where = np.array([at_0]), np.array([at_upper])
            return unbiased_power(p, np.array([y]), *where, scale, width).item()

        return of

    for p in (1, 2, 3, 4):
        assert expected(power(p)) == pytest.approx(true**p, abs=1e-7 * max(1, scale) ** p)
    first, second = power(1), power(2)
    variance = expected(lambda *y: first(*y) ** 2) - true**2
    known = expected(lambda y, low, high: scale**2 * (1 if low or high else 2))
    assert variance == pytest.approx(known, rel=1e-6)
    assert expected(lambda *y: first(*y) ** 2 - second(*y)) == pytest.approx(variance, rel=1e-6)


def test_a_deviation_with_hardly_any_noise_is_that_of_the_values(data: NumericMicrodata) -> None:
    inner = data.column("width") + 2
    nowhere = np.zeros(len(inner), dtype=bool)
    row = _deviation(inner, nowhere, nowhere, 1e-9, 20.0)
    assert row["estimate"] == pytest.approx(inner.std(ddof=1), rel=1e-9)
    assert row["ci_low_file"] <= row["estimate"] <= row["ci_high_file"]
    assert row["ci_high_file"] - row["ci_low_file"] < 1e-6


def repeated(kind: str, statistic: str, runs: int, **changes: Any) -> pd.DataFrame:
    """Return the estimates of a statistic of each attribute, release by release."""
    release, records = settings(kind, **changes), made(records=360 if kind != "dp_um" else 152)
    stated = stated_for(release, records)
    generator = np.random.default_rng(20211121)
    noise, tables = SeededNoise(generator), []
    for _ in range(runs):
        again = protect(release, stated, records, noise, generator)
        table = estimate_numbers(release, stated, again)
        tables.append(table[table["statistic"] == statistic])
    found = pd.concat(tables)
    true = {
        name: statistics(column)[statistic]
        for name, column in zip(records.names, records.values.T, strict=True)
    }
    return found.assign(true=found["attribute"].map(true))


@pytest.mark.parametrize(("kind", "epsilon"), [("dp", 1.0), slow("dp", 20.0), slow("dp_um", 1.0)])
def test_means_are_unbiased_and_their_intervals_cover(kind: str, epsilon: float) -> None:
    # For dp_um the last cluster is larger: 152 = 21 x 7 + 5.
    found = repeated(kind, MEAN, 600, epsilon=epsilon)
    for _, rows in found.groupby("attribute"):
        errors = rows["estimate"] - rows["true"]
        squares = rows["standard_error_file"] ** 2
        # 4.9 standard errors: wrong once in a million; the variance's own error is below 20 %.
        assert abs(errors.sum()) < 4.9 * np.sqrt(squares.sum())
        assert errors.var() == pytest.approx(squares.mean(), rel=0.35)
        inside = (rows["ci_low_file"] <= rows["true"]) & (rows["true"] <= rows["ci_high_file"])
        assert inside.mean() > 0.95 - 4.9 * np.sqrt(0.95 * 0.05 / 600) - 0.01


@pytest.mark.parametrize(
    ("kind", "statistic"),
    [
        *[("dp", DEVIATION), ("histograms", MEAN), slow("histograms", DEVIATION)],
        *[("histograms", "quantile 0.25"), slow("histograms", "quantile 0.5")],
    ],
)
@pytest.mark.parametrize("epsilon", all_but_first([1.0, 12.0]))
def test_intervals_cover_at_least_at_their_rate(kind: str, statistic: str, epsilon: float) -> None:
    found = repeated(kind, statistic, 300, epsilon=epsilon)
    inside = (found["ci_low_file"] <= found["true"]) & (found["true"] <= found["ci_high_file"])
    rates = inside.groupby(found["attribute"]).mean()
    # 4.9 standard errors of 300 runs are .062; normal approximations are good to .015 here.
    assert (rates > 0.95 - 0.062 - 0.015).all()
    assert (found["ci_low_file"] <= found["ci_high_file"]).all()


def test_shares_of_a_class_in_a_bin_are_unbiased_with_exact_intervals() -> None:
    release, records = settings("histograms"), made(records=360)
    stated = stated_for(release, records)
    generator = np.random.default_rng(5)
    given = release, stated, records, SeededNoise(generator), generator
    tables = [estimate_numbers(release, stated, protect(*given)) for _ in range(300)]
    shares = [table[table["statistic"] == SHARE] for table in tables]
    assert len(shares[0]) == 2 * 2 * 8
    row = shares[0].iloc[3]
    column = records.column("width")[records.labels == 0]
    true = np.mean((column >= row["from"]) & (column < row["to"]))
    estimates = np.array([table["estimate"].iloc[3] for table in shares])
    inside = [t["ci_low_file"].iloc[3] <= true <= t["ci_high_file"].iloc[3] for t in shares]
    error = shares[0]["standard_error_file"].iloc[3]
    assert abs(estimates.mean() - true) < 4.9 * error / np.sqrt(300)
    assert np.mean(inside) > 0.95 - 0.062


@pytest.mark.parametrize("scale", [0.2, 1.0, 18.0])
def test_discrete_noise_has_the_variance_and_the_tails_that_are_said(scale: float) -> None:
    q = math.exp(-1 / scale)
    z = np.arange(-4000, 4001)
    shares = (1 - q) / (1 + q) * q ** np.abs(z)
    assert discrete_variance(scale) == pytest.approx((shares * z**2).sum(), rel=1e-12)
    m = discrete_half_width(scale, 0.95)
    assert shares[np.abs(z) > m].sum() <= 0.05 + 1e-12
    assert m == 0 or shares[np.abs(z) > m - 1].sum() > 0.05 - 1e-12


def test_a_histogram_without_noise_gives_its_middles() -> None:
    counts = np.array([[1, 0, 3, 0], [0, 2, 2, 2]])
    one = _Histogram(counts, counts.sum(axis=1), 8.0, 1e-3)
    middles = np.repeat([1, 3, 5, 7], counts.sum(axis=0))
    assert one.mean()[0] == pytest.approx(middles.mean())
    row = one.deviation()
    assert row["estimate"] == pytest.approx(middles.std(ddof=1))
    # Wider by half a bin, in the same units: sqrt(n / (n - 1)) times 1.
    assert row["ci_high_file"] - row["estimate"] == pytest.approx(np.sqrt(10 / 9))
    # 3 of 10 lie below 4, 8 below 6.
    median = one.quantile(0.5, counts.sum(axis=0) / 10)
    assert (median["ci_low_file"], median["ci_high_file"]) == (4, 6)
    assert median["estimate"] == pytest.approx(4 + 2 * 2 / 5)


def test_estimates_have_a_row_for_each_statistic(data: NumericMicrodata, kind: str) -> None:
    release = settings(kind)
    stated, protected = stated_for(release, data), drawn(release, data)
    table = estimate_numbers(release, stated, protected)
    assert list(table) == list(COLUMNS)
    assert not table.duplicated(["attribute", "statistic", "class", "from"]).any()
    of_file = table[table["statistic"] != SHARE]
    assert len(of_file) == 2 * 7
    first = statistics(protected.column("width"))
    assert of_file["released"].tolist()[:7] == list(first.values())
    known = set(of_file.loc[of_file["ci_low_file"].notna(), "statistic"])
    expected = {"dp": {MEAN, DEVIATION}, "dp_um": {MEAN}, "idp_ls": set(), "idp_cbls": set()}
    assert known == expected.get(kind, set(of_file["statistic"]))
    if kind in ("idp_ls", "idp_cbls"):
        assert set(of_file["note"]) == {UNKNOWN_SCALE}


# -- checks ----------------------------------------------------------------------------------------


def test_the_truth_stands_beside_its_own_estimate(data: NumericMicrodata, kind: str) -> None:
    release = settings(kind, epsilon=30.0)
    stated, protected = stated_for(release, data), drawn(release, data)
    estimates = estimate_numbers(release, stated, protected)
    table = check_numbers(release, stated, data, estimates, np.random.default_rng(1), redraws=3)
    assert len(table) == len(estimates)
    row = table[(table["attribute"] == "height") & (table["statistic"] == MEAN)].iloc[0]
    assert row["true"] == pytest.approx(data.column("height").mean())
    known = table["ci_low_file"].notna()
    assert table["coverage"].notna().equals(known)
    assert table["covered"].isna().equals(~known)
    if kind == "histograms":
        of_bins = table[table["statistic"] == SHARE]
        np.testing.assert_allclose(of_bins.groupby(["attribute", "class"])["true"].sum(), 1)
        np.testing.assert_allclose(of_bins["true"], of_bins["estimate"], atol=0.05)


def test_utility_is_measured_against_the_truth(data: NumericMicrodata, kind: str) -> None:
    release = settings(kind)
    table = measure_utility(release, data, drawn(settings(kind, order="as_in_file"), data), 1)
    values = table.set_index(["measure", "class"])
    assert values.loc[("mean SSE", ""), "value"] > 0
    assert values.loc[("share of records linked", ""), "reference"] == 1 / len(data)
    for name in data.classes:
        assert 0 <= values.loc[("F-measure", name), "value"] <= 1
    same = measure_utility(release, data, data, 1).set_index(["measure", "class"])
    assert same.loc[("mean SSE", ""), "value"] == 0
    assert np.isinf(same.loc[("epsilon proved by the numbers", ""), "value"])
    of_class = same.loc[("F-measure", "small")]
    assert of_class["value"] == of_class["reference"]


def test_a_check_sets_records_beside_their_own_whatever_their_order(data: NumericMicrodata) -> None:
    release = settings("dp", epsilon=30.0, attributes=["height"])
    key = key_of_seed(1)
    made = designed(release, data, key, BOUNDS)
    made |= release_numeric.protected(release, made, data, key)
    stated = Domains.from_json(made["release"]["domains"])
    estimates = estimate_numbers(release, stated, made["protected"])
    found = checked(release, made | {"estimates": estimates}, data, key, 1)
    of_file = found["utility"].set_index("measure")["value"]
    assert of_file["mean SSE"] < 0.1
    # Beside records of others they would be as far apart as any two.
    apart = measure_utility(release, data, made["protected"], 1).set_index("measure")["value"]
    assert apart["mean SSE"] > 1
