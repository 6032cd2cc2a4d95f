"""Measures of dependence against SciPy and pandas."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.stats import contingency

from deniable.errors import DataError, DeniableError
from deniable.randomized_response.dependence import (
    absolute_correlation,
    cramers_v,
    dependence_of_tables,
    dependences,
    dependences_from_tables,
    pair_measures,
)
from deniable.records.categorical import Microdata
from deniable.records.domain import Attribute, Domain


@pytest.mark.parametrize("shape", [(2, 2), (2, 5), (7, 3), (16, 15)])
def test_against_scipy(shape):
    rng = np.random.default_rng(4)
    for _ in range(20):
        table = rng.poisson(rng.gamma(1, 20, shape)) + 1
        assert cramers_v(table) == pytest.approx(contingency.association(table), rel=1e-12)
        assert cramers_v(table.T) == pytest.approx(cramers_v(table), rel=1e-12)
        x, y = (axis.ravel() for axis in np.indices(shape))
        x, y = np.repeat(x, table.ravel()), np.repeat(y, table.ravel())
        expected = abs(stats.pearsonr(x, y).statistic)
        assert absolute_correlation(table) == pytest.approx(expected, rel=1e-9)


def test_by_hand():
    # Expected counts 15, 15, 15, 15: chi-square = 4 * 25 / 15 = 20/3; V = sqrt(20/3 / 60) = 1/3.
    table = [[20, 10], [10, 20]]
    assert cramers_v(table) == pytest.approx(1 / 3, rel=1e-15)
    assert absolute_correlation(table) == pytest.approx(1 / 3, rel=1e-14)
    # The third category never occurs but is the attribute's: min(3, 3) - 1 = 2, V = 1 / sqrt(18).
    with_empty = [[20, 10, 0], [10, 20, 0], [0, 0, 0]]
    assert cramers_v(with_empty) == pytest.approx(1 / np.sqrt(18), rel=1e-14)


def test_extremes():
    for n in (1, 3, 7, 10**12):
        assert cramers_v(np.eye(5) * n) == pytest.approx(1, rel=1e-15)
        assert cramers_v(np.eye(5) * n) <= 1
        assert absolute_correlation(np.eye(5) * n) == pytest.approx(1, rel=1e-15)
        assert absolute_correlation(np.eye(5)[::-1] * n) <= 1
    assert cramers_v(np.outer([1, 2, 3], [4, 5])) == pytest.approx(0, abs=1e-15)
    assert cramers_v([[3, 4, 5]]) == 0
    assert cramers_v([[3, 4, 5], [0, 0, 0]]) == 0
    for constant in ([[3, 4, 5]], [[0, 0], [7, 9]], [[0, 3], [0, 9]], [[0, 0], [0, 11]]):
        assert absolute_correlation(constant) == pytest.approx(0, abs=1e-12)
    for measure in (cramers_v, absolute_correlation):
        with pytest.raises(DeniableError, match="an empty table says nothing"):
            measure(np.zeros((2, 3)))


def test_dependences_of_every_pair():
    domain = Domain(
        (
            Attribute("a", ("0", "1")),
            Attribute("b", ("0", "1", "2"), "ordinal"),
            Attribute("c", ("0", "1", "2"), "ordinal"),
        )
    )
    rng = np.random.default_rng(3)
    data = Microdata(domain, tuple(rng.integers(0, size, 500) for size in domain.shape))
    found = dependences(data)
    assert found.columns.tolist() == ["attribute_1", "attribute_2", "measure", "dependence"]
    assert found.iloc[:, :3].to_numpy().tolist() == [
        ["a", "b", "cramers_v"],
        ["a", "c", "cramers_v"],
        ["b", "c", "pearson"],
    ]
    assert found["dependence"][0] == cramers_v(data.counts(["a", "b"]))
    assert found["dependence"][2] == absolute_correlation(data.counts(["b", "c"]))
    assert dependences(data, ordinal=["a"])["measure"].tolist() == ["pearson"] * 3
    with pytest.raises(DataError, match="no attribute 'z'"):
        dependences(data, ordinal=["z"])
    assert dependences(data.project(["a"])).empty


# -- many tables at once ---------------------------------------------------------------------------


@pytest.mark.parametrize("measure", ["cramers_v", "pearson"])
def test_many_tables_are_measured_as_each_alone(measure):
    rng = np.random.default_rng(8)
    tables = rng.gamma(0.5, 1, (2, 7, 3, 5))  # any positive numbers
    tables[0, 0, 1], tables[0, 1, :, 2] = 0, 0
    found = dependence_of_tables(tables, measure)
    assert found.shape == (2, 7)
    for place in np.ndindex(2, 7):
        for table in (tables[place], 9 * tables[place]):
            alone = float(dependence_of_tables(table, measure))
            assert found[place] == pytest.approx(alone, rel=1e-9)
    single = {"cramers_v": cramers_v, "pearson": absolute_correlation}[measure]
    assert single(tables[1, 3]) == pytest.approx(found[1, 3], rel=1e-9)
    assert dependence_of_tables(tables[:, :, :1], measure) == pytest.approx(0, abs=1e-12)


def test_what_was_not_projected():
    with pytest.raises(DeniableError, match="without negative entries; project it first"):
        dependence_of_tables([[[1.0, 2.0], [3.0, -0.1]]], "cramers_v")
    with pytest.raises(DeniableError, match="an empty table"):
        dependence_of_tables([[[1.0, 2.0], [3.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]]], "cramers_v")
    # Correlation takes negative entries as long as both variances are positive.
    table = np.array([[0.5, -0.02], [0.22, 0.3]])
    x = y = np.array([0.0, 1.0])
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    covariance = x @ table @ y - (rows @ x) * (columns @ y)
    scale = np.sqrt((rows @ x**2 - (rows @ x) ** 2) * (columns @ y**2 - (columns @ y) ** 2))
    assert absolute_correlation(table) == pytest.approx(abs(covariance / scale), rel=1e-12)
    # Both variances are below 0 here (1.5 and -.5 on the ends): their product is not.
    assert absolute_correlation([[1.5, 0, 0], [0, 0, 0], [0, 0, -0.5]]) == 0


def test_a_frame_from_tables_is_that_of_the_records(small_data: Microdata):
    measures = pair_measures(small_data.domain, ["colour", "region"])
    assert list(measures)[:2] == [("colour", "smokes"), ("colour", "region")]
    assert [pair for pair, how in measures.items() if how == "pearson"] == [("colour", "region")]
    tables = {pair: small_data.counts(pair) for pair in measures}
    pd.testing.assert_frame_equal(
        dependences_from_tables(tables, measures), dependences(small_data, ["colour", "region"])
    )
