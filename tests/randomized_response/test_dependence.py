"""Measures of dependence against SciPy and pandas; joints of pairs from RR-Independent data."""

import math
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.stats import contingency

from deniable.channels import DenseChannel, KeepOrReplace, ProductChannel
from deniable.errors import ChannelError, DataError, DeniableError
from deniable.estimation import (
    clip_and_rescale,
    estimate_or_uniform as unbiased,
    euclidean_projection,
    likelihood_or_uniform,
)
from deniable.randomized_response.dependence import (
    absolute_correlation,
    cluster_attributes,
    cramers_v,
    dependence_of_tables,
    dependences,
    dependences_from_tables,
    pair_measures,
)
from deniable.randomized_response.protocols import rr_channel, rr_independent
from deniable.records.categorical import Microdata
from deniable.records.domain import Attribute, Domain

# Each statistical test fails by chance less than once in 10,000 times.
ERROR_RATE = 1e-4
PAIR = ("colour", "region")
TRUE = np.array([[60, 5, 20, 15], [10, 70, 10, 10], [30, 20, 40, 10]]).reshape(-1)


# -- measures --------------------------------------------------------------------------------------


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
        with pytest.raises(DeniableError, match="a table is empty"):
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
    with pytest.raises(DeniableError, match="a table is empty"):
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


# -- Algorithm 1, by hand --------------------------------------------------------------------------


def domain_of(**sizes: int) -> Domain:
    return Domain(
        tuple(Attribute(name, tuple(map(str, range(size)))) for name, size in sizes.items())
    )


def measured(**pairs: float) -> pd.DataFrame:
    rows = [(pair[0], pair[1], "cramers_v", value) for pair, value in pairs.items()]
    return pd.DataFrame(rows, columns=["attribute_1", "attribute_2", "measure", "dependence"])


DOMAIN = domain_of(A=4, B=5, C=2, D=2)
DEPENDENCES = measured(AB=0.9, AC=0.8, AD=0.1, BC=0.1, BD=0.25, CD=0.3)


@pytest.mark.parametrize(
    ("largest_cells", "least_dependence", "clusters"),
    [
        # AB has 20 cells: else the next element, AC with 8. Start over: AC with B (still .9) 40,
        # AC with D (.3, from CD) 16, both over 12; else BD (.25) with 10. Then AC with BD: 80.
        (12, 0.2, ("AC", "BD")),
        (12, 0.25, ("AC", "BD")),  # .25 is not below .25
        (12, 0.26, ("AC", "B", "D")),
        # 16 cells are allowed: AC takes D before BD is looked at, and ACD with B has 80.
        (16, 0.2, ("ACD", "B")),
        (16, 0.31, ("AC", "B", "D")),
        # AB first; then AB with C 40 at .8, over 20; AB with D 40 at .25; CD 4 at .3 is before it.
        (20, 0.2, ("AB", "CD")),
        (40, 0.2, ("ABC", "D")),
        (80, 0.2, ("ABCD",)),
        (80, 0.91, ("A", "B", "C", "D")),
        (3, 0.0, ("A", "B", "C", "D")),
        (4, 0.0, ("A", "B", "CD")),
    ],
)
def test_clusters_by_hand(largest_cells, least_dependence, clusters):
    found = cluster_attributes(DOMAIN, DEPENDENCES, largest_cells, least_dependence)
    assert found == tuple(tuple(cluster) for cluster in clusters)


def test_ties_are_taken_in_the_domains_order():
    domain = domain_of(A=2, B=2, C=2, D=2)
    equal = measured(AB=0.5, AC=0.5, AD=0.5, BC=0.5, BD=0.5, CD=0.5)
    assert cluster_attributes(domain, equal, 4, 0.1) == (("A", "B"), ("C", "D"))
    # The order of the rows, or of a row's two names, changes nothing.
    shuffled = equal.iloc[[5, 2, 0, 4, 1, 3]].rename(
        columns={"attribute_1": "attribute_2", "attribute_2": "attribute_1"}
    )
    assert cluster_attributes(domain, shuffled, 4, 0.1) == (("A", "B"), ("C", "D"))


def test_clusters_keep_the_domains_order():
    domain = domain_of(D=2, C=2, B=2, A=2)
    found = cluster_attributes(
        domain, measured(AB=0.1, AC=0.9, AD=0.1, BC=0.1, BD=0.8, CD=0.1), 4, 0.5
    )
    assert found == (("D", "B"), ("C", "A"))


def test_one_attribute():
    assert cluster_attributes(domain_of(A=9), measured(), 4, 0.1) == (("A",),)


# -- joints of pairs -------------------------------------------------------------------------------


def clipped(counts: np.ndarray, channel: ProductChannel) -> np.ndarray:
    return clip_and_rescale(unbiased(counts, channel))


def projected(counts: np.ndarray, channel: ProductChannel) -> np.ndarray:
    return euclidean_projection(unbiased(counts, channel))


PAIR_ESTIMATORS: dict[str, Callable[..., np.ndarray]] = {
    "unbiased": unbiased,
    "clipped": clipped,
    "projected": projected,
    "likelihood": likelihood_or_uniform,
}


def channel_of(p: float, shape: tuple[int, int] = (3, 4)) -> ProductChannel:
    return ProductChannel(tuple(KeepOrReplace.uniform(size, p) for size in shape))


def uneven_channel() -> ProductChannel:
    """Factors without symmetry: a replacement of its own, and a dense matrix."""
    first = KeepOrReplace(0.5, np.array([0.1, 0.3, 0.1]))
    rows = [[0.7, 0.1, 0.1, 0.1], [0.3, 0.6, 0.1, 0.0], [0.1, 0.2, 0.4, 0.3], [0.0, 0.1, 0.1, 0.8]]
    return ProductChannel((first, DenseChannel(np.array(rows))))


def draws(channel: ProductChannel, runs: int, true: np.ndarray = TRUE, seed: int = 1) -> np.ndarray:
    generator = np.random.default_rng(seed)
    return channel.randomize_counts(np.broadcast_to(true, (runs, true.size)), generator)


# -- of a pair, by hand ----------------------------------------------------------------------------

COINS = channel_of(0.5, (2, 2))
COUNTS = np.array([40, 20, 10, 30])


def test_two_coins_by_hand() -> None:
    # The inverse of [[.75, .25], [.25, .75]] is [[1.5, -.5], [-.5, 1.5]], along both axes.
    np.testing.assert_allclose(unbiased(COUNTS, COINS), [0.75, -0.05, -0.25, 0.55])
    np.testing.assert_allclose(clipped(COUNTS, COINS), np.array([0.75, 0, 0, 0.55]) / 1.3)
    np.testing.assert_allclose(projected(COUNTS, COINS), [0.6, 0, 0, 0.4])


def test_the_likelihood_is_that_of_the_one_matrix() -> None:
    dense = DenseChannel(COINS.matrix())
    of_pair = likelihood_or_uniform(COUNTS, COINS, tolerance=1e-9)
    from_matrix = dense.reported(of_pair)
    best = np.sum(COUNTS * np.log(from_matrix))
    for other in np.random.default_rng(1).dirichlet(np.ones(4), 2000):
        assert np.sum(COUNTS * np.log(dense.reported(other))) <= best + 1e-9


# -- what is claimed of the estimates --------------------------------------------------------------


@pytest.mark.parametrize("channel", [channel_of(0.3), uneven_channel()], ids=["uniform", "uneven"])
def test_unbiased_is_unbiased_with_the_stated_covariance(channel: ProductChannel) -> None:
    runs = 20_000
    joints = unbiased(draws(channel, runs), channel)
    truth = TRUE / TRUE.sum()
    covariance = channel.covariance(truth, int(TRUE.sum()), "file")
    z = (joints.mean(axis=0) - truth) / np.sqrt(np.diag(covariance) / runs)
    assert np.abs(z).max() < stats.norm.isf(ERROR_RATE / 2 / TRUE.size)
    # Entries of a sample covariance spread by about sqrt((1 + r^2) / runs) of the scales.
    scale = np.sqrt(np.diag(covariance))
    gaps = (np.cov(joints.T) - covariance) / np.outer(scale, scale)
    assert np.abs(gaps).max() < 5.5 * math.sqrt(2 / runs)


def test_intervals_of_cells_and_of_queries_cover() -> None:
    channel, runs = channel_of(0.4), 2000
    true = TRUE * 10
    truth = true / true.sum()
    reports = draws(channel, runs, true)
    queries = np.random.default_rng(3).random((5, true.size)) < 0.4
    functionals = np.vstack([np.eye(true.size), queries])
    errors = unbiased(reports, channel) @ functionals.T - functionals @ truth
    widths = channel.standard_errors(reports, "file", functionals)
    np.testing.assert_allclose(
        widths[:, : true.size], channel.standard_errors(reports, "file"), rtol=1e-9
    )
    covered = np.sum(np.abs(errors) <= stats.norm.isf(0.025) * widths, axis=0)
    low, high = stats.binom.ppf([ERROR_RATE / 34, 1 - ERROR_RATE / 34], runs, 0.95)
    assert covered.min() >= low - 0.01 * runs  # the normal approximation's own error
    assert covered.max() <= high + 0.01 * runs


# -- all estimators of a pair ----------------------------------------------------------------------


@pytest.mark.parametrize("estimator", PAIR_ESTIMATORS.values(), ids=PAIR_ESTIMATORS.keys())
def test_a_batch_is_a_loop_of_distributions(estimator: Callable[..., np.ndarray]) -> None:
    channel = channel_of(0.2)
    counts = draws(channel, 6)
    batch = estimator(counts.reshape(2, 3, 12), channel)
    loop = [estimator(table, channel) for table in counts]
    np.testing.assert_allclose(batch.reshape(6, 12), loop, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(batch.sum(axis=-1), 1, rtol=1e-12)
    assert (batch.min() < 0) == (estimator is unbiased)


@pytest.mark.parametrize("estimator", PAIR_ESTIMATORS.values(), ids=PAIR_ESTIMATORS.keys())
def test_an_erased_attribute_is_taken_as_uniform(estimator: Callable[..., np.ndarray]) -> None:
    kept, erased = rr_channel(3, 0.6, "keep"), rr_channel(4, 0.25, "diagonal")
    counts = draws(channel_of(0.5), 5)
    with pytest.warns(
        RuntimeWarning, match="singular: the estimates of .* singular attributes are uniform"
    ):
        joint = estimator(counts, ProductChannel((kept, erased)))
    margin = joint.reshape(5, 3, 4).sum(axis=2)
    np.testing.assert_allclose(joint.reshape(5, 3, 4), np.repeat(margin[..., None] / 4, 4, axis=2))
    plain = kept.estimate(counts.reshape(5, 3, 4).sum(axis=2))
    assert plain.min() > 0
    np.testing.assert_allclose(margin, plain, atol=1e-5)
    both = ProductChannel((rr_channel(3, 1 / 3, "diagonal"), erased))
    with pytest.warns(RuntimeWarning, match="singular"):
        np.testing.assert_allclose(estimator(counts, both), 1 / 12)


# -- from the protocol -----------------------------------------------------------------------------


def test_reports_of_the_protocol_are_estimated_by_its_pair_channel(small_data: Microdata) -> None:
    protocol = rr_independent(small_data.domain, 0.7, "keep")
    channel = ProductChannel(tuple(protocol.channel_of((name,)) for name in PAIR))
    assert channel.shape == small_data.domain.project(PAIR).shape
    assert channel.epsilon == pytest.approx(
        sum(protocol.channel_of((name,)).epsilon for name in PAIR)
    )
    generator = np.random.default_rng(5)
    reports = [
        protocol.randomize(small_data, generator).counts(PAIR).reshape(-1) for _ in range(400)
    ]
    truth = small_data.counts(PAIR).reshape(-1) / len(small_data)
    errors = np.sqrt(np.diag(channel.covariance(truth, len(small_data), "file")) / len(reports))
    z = (unbiased(np.array(reports), channel).mean(axis=0) - truth) / errors
    assert np.abs(z).max() < stats.norm.isf(ERROR_RATE / 2 / truth.size)


def test_counts_of_another_pair_are_refused() -> None:
    for estimator in PAIR_ESTIMATORS.values():
        with pytest.raises(ChannelError, match="do not fit a channel over 12"):
            estimator(np.ones(5), channel_of(0.5))
