"""Estimates from protected numbers: bias, standard errors, coverage and notes."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import integrate
from tests.idp.numeric_files import METHODS, mechanism_by, numeric_file, stated_domains
from tests.slow_variants import all_but_first, slow

from deniable.idp import (
    DEVIATION,
    MEAN,
    SHARE,
    NumericMechanism,
    estimate_numbers,
    protect_numbers,
    statistics,
)
from deniable.idp.estimates import (
    ESTIMATE_COLUMNS,
    UNKNOWN_SCALE,
    NoisyHistogram,
    _deviation,
    discrete_half_width,
    discrete_variance,
    unbiased_power,
)
from deniable.records import NumericMicrodata
from deniable.sampling import Noise, SeededNoise


def estimates_of(
    mechanism: NumericMechanism,
    data: NumericMicrodata,
    noise: Noise,
    generator: np.random.Generator,
) -> pd.DataFrame:
    values, counts = protect_numbers(mechanism, data, noise, generator)
    return estimate_numbers(mechanism, replace(data, values=values), counts)


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


def test_a_deviation_with_hardly_any_noise_is_that_of_the_values() -> None:
    inner = numeric_file().column("width") + 2
    nowhere = np.zeros(len(inner), dtype=bool)
    row = _deviation(inner, nowhere, nowhere, 1e-9, 20.0)
    assert row["estimate"] == pytest.approx(inner.std(ddof=1), rel=1e-9)
    assert row["ci_low_file"] <= row["estimate"] <= row["ci_high_file"]
    assert row["ci_high_file"] - row["ci_low_file"] < 1e-6


def repeated(method: str, statistic: str, replicates: int, **changes: Any) -> pd.DataFrame:
    """Return the estimates of a statistic of each attribute, one release after the other."""
    mechanism = mechanism_by(method, **changes)
    records = numeric_file(records=360 if method != "dp_um" else 152)
    generator = np.random.default_rng(20211121)
    noise, tables = SeededNoise(generator), []
    for _ in range(replicates):
        table = estimates_of(mechanism, records, noise, generator)
        tables.append(table[table["statistic"] == statistic])
    found = pd.concat(tables)
    true = {
        name: statistics(column)[statistic]
        for name, column in zip(records.names, records.values.T, strict=True)
    }
    return found.assign(true=found["attribute"].map(true))


@pytest.mark.parametrize(("method", "epsilon"), [("dp", 1.0), slow("dp", 20.0), slow("dp_um", 1.0)])
def test_means_are_unbiased_and_their_intervals_cover(method: str, epsilon: float) -> None:
    # For dp_um the last cluster is larger: 152 = 21 x 7 + 5.
    found = repeated(method, MEAN, 600, epsilon=epsilon)
    for _, rows in found.groupby("attribute"):
        errors = rows["estimate"] - rows["true"]
        squares = rows["standard_error_file"] ** 2
        # 4.9 standard errors: wrong once in a million; the variance's own error is below 20 %.
        assert abs(errors.sum()) < 4.9 * np.sqrt(squares.sum())
        assert errors.var() == pytest.approx(squares.mean(), rel=0.35)
        inside = (rows["ci_low_file"] <= rows["true"]) & (rows["true"] <= rows["ci_high_file"])
        assert inside.mean() > 0.95 - 4.9 * np.sqrt(0.95 * 0.05 / 600) - 0.01


@pytest.mark.parametrize(
    ("method", "statistic"),
    [
        *[("dp", DEVIATION), ("histograms", MEAN), slow("histograms", DEVIATION)],
        *[("histograms", "quantile 0.25"), slow("histograms", "quantile 0.5")],
    ],
)
@pytest.mark.parametrize("epsilon", all_but_first([1.0, 12.0]))
def test_intervals_cover_at_least_at_their_rate(
    method: str, statistic: str, epsilon: float
) -> None:
    found = repeated(method, statistic, 300, epsilon=epsilon)
    inside = (found["ci_low_file"] <= found["true"]) & (found["true"] <= found["ci_high_file"])
    rates = inside.groupby(found["attribute"]).mean()
    # 4.9 standard errors of 300 runs are .062; normal approximations are good to .015 here.
    assert (rates > 0.95 - 0.062 - 0.015).all()
    assert (found["ci_low_file"] <= found["ci_high_file"]).all()


def test_shares_of_a_class_in_a_bin_are_unbiased_with_exact_intervals() -> None:
    records, generator = numeric_file(records=360), np.random.default_rng(5)
    given = mechanism_by("histograms"), records, SeededNoise(generator), generator
    tables = [estimates_of(*given) for _ in range(300)]
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
    one = NoisyHistogram(counts, counts.sum(axis=1), 8.0, 1e-3)
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


@pytest.mark.parametrize("method", METHODS)
def test_estimates_have_one_row_per_statistic(method: str) -> None:
    data, generator = numeric_file(), np.random.default_rng(1)
    values, counts = protect_numbers(mechanism_by(method), data, SeededNoise(generator), generator)
    protected = replace(data, values=values)
    table = estimate_numbers(mechanism_by(method), protected, counts)
    assert list(table) == list(ESTIMATE_COLUMNS)
    assert not table.duplicated(["attribute", "statistic", "class", "from"]).any()
    of_file = table[table["statistic"] != SHARE]
    assert len(of_file) == 2 * 7
    first = statistics(protected.column("width"))
    assert of_file["released"].tolist()[:7] == list(first.values())
    known = set(of_file.loc[of_file["ci_low_file"].notna(), "statistic"])
    expected = {"dp": {MEAN, DEVIATION}, "dp_um": {MEAN}, "idp_ls": set(), "idp_cbls": set()}
    assert known == expected.get(method, set(of_file["statistic"]))
    if method in ("idp_ls", "idp_cbls"):
        assert set(of_file["note"]) == {UNKNOWN_SCALE}


@pytest.mark.parametrize("method", METHODS)
def test_attributes_that_are_not_named_have_no_estimates(method: str) -> None:
    data, generator = numeric_file().select(["height"]), np.random.default_rng(1)
    mechanism = mechanism_by(method, domains=stated_domains("height"))
    table = estimates_of(mechanism, data, SeededNoise(generator), generator)
    assert set(table["attribute"]) == {"height"}


@pytest.mark.parametrize("method", METHODS)
def test_records_without_classes_have_estimates_without_classes(method: str) -> None:
    data, generator = numeric_file(), np.random.default_rng(1)
    plain = NumericMicrodata(data.names, data.values)
    table = estimates_of(mechanism_by(method), plain, SeededNoise(generator), generator)
    assert set(table["class"].fillna("")) == {""}
