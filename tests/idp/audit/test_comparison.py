"""Test releases compared with the original records."""

from dataclasses import replace

import numpy as np
import pytest
from tests.idp.numeric_files import METHODS, mechanism_by, numeric_file, stated_domains

from deniable.idp import MEAN, SHARE, estimate_numbers, protect_numbers
from deniable.idp.audit import compare_estimates, measure_utility
from deniable.records import NumericMicrodata
from deniable.sampling import SeededNoise


def protected_by(method: str, data: NumericMicrodata) -> NumericMicrodata:
    mechanism, generator = mechanism_by(method), np.random.default_rng(1)
    return replace(
        data, values=protect_numbers(mechanism, data, SeededNoise(generator), generator)[0]
    )


@pytest.mark.parametrize("method", METHODS)
def test_original_statistics_are_compared_with_their_estimates(method: str) -> None:
    mechanism, data, generator = (
        mechanism_by(method, 30.0),
        numeric_file(),
        np.random.default_rng(1),
    )
    values, counts = protect_numbers(mechanism, data, SeededNoise(generator), generator)
    estimates = estimate_numbers(mechanism, replace(data, values=values), counts)
    table = compare_estimates(mechanism, data, estimates, generator, redraws=3)
    assert len(table) == len(estimates)
    row = table[(table["attribute"] == "height") & (table["statistic"] == MEAN)].iloc[0]
    assert row["true"] == pytest.approx(data.column("height").mean())
    known = table["ci_low_file"].notna()
    assert table["coverage"].notna().equals(known)
    assert table["covered"].isna().equals(~known)
    if method == "histograms":
        of_bins = table[table["statistic"] == SHARE]
        np.testing.assert_allclose(of_bins.groupby(["attribute", "class"])["true"].sum(), 1)
        np.testing.assert_allclose(of_bins["true"], of_bins["estimate"], atol=0.05)


@pytest.mark.parametrize("method", METHODS)
def test_utility_is_measured_with_the_original_records(method: str) -> None:
    data, mechanism = numeric_file(), mechanism_by(method)
    values = measure_utility(mechanism, data, protected_by(method, data), 1)
    values = values.set_index(["measure", "class"])
    assert values.loc[("mean SSE", ""), "value"] > 0
    assert values.loc[("proportion of records linked", ""), "reference"] == 1 / len(data)
    for name in data.classes:
        assert 0 <= values.loc[("F-measure", name), "value"] <= 1
    training, test = data.training_split()
    majority = int(np.bincount(training.labels).argmax())
    share = float(np.mean(test.labels == majority))
    always = values.xs("F-measure of the majority class")["value"]
    assert always[data.classes[majority]] == pytest.approx(2 * share / (1 + share), abs=1e-12)
    assert always.drop(data.classes[majority]).eq(0).all()
    same = measure_utility(mechanism, data, data, 1).set_index(["measure", "class"])
    assert same.loc[("mean SSE", ""), "value"] == 0
    assert np.isinf(same.loc[("epsilon proved by the numbers", ""), "value"])
    of_class = same.loc[("F-measure", "small")]
    assert of_class["value"] == of_class["reference"]


def test_records_without_classes_have_no_f_measures() -> None:
    data = numeric_file()
    plain = NumericMicrodata(data.names, data.values)
    table = measure_utility(mechanism_by("dp"), plain, protected_by("dp", plain), 1)
    assert set(table["class"]) == {""}


def test_distances_depend_on_the_order_of_records() -> None:
    data, generator = numeric_file().select(["height"]), np.random.default_rng(1)
    mechanism = mechanism_by("dp", 30.0, domains=stated_domains("height"))
    values, _ = protect_numbers(mechanism, data, SeededNoise(generator), generator)
    protected = replace(data, values=values)
    own = measure_utility(mechanism, data, protected, 1).set_index("measure")["value"]
    assert own["mean SSE"] < 0.1
    reversed_order = replace(protected, values=values[::-1])
    other = measure_utility(mechanism, data, reversed_order, 1).set_index("measure")["value"]
    assert other["mean SSE"] > 1
