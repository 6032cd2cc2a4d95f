"""The weighted test against plain loops, and how often it rejects."""

import numpy as np
import pytest
import scipy

from deniable.arrays import Floats
from deniable.channels import Channel, KeepOrReplace, ProductChannel, SubsetSelection
from deniable.contingency import Independence, channel_test, weighted_channel_test
from deniable.errors import DeniableError
from deniable.estimation import WeightedCounts

TWO = Independence((2, 2))


@pytest.mark.parametrize("keep", [1.0, 0.6])
def test_two_by_two_is_the_weighted_product_of_deviations(keep: float) -> None:
    """Of two reports through channels of their own: reports are independent iff answers are.

    So their efficient score is (x - mean) (y - mean) up to a factor, record by record.
    """
    chance = np.random.default_rng(1)
    x, y = chance.integers(0, 2, (2, 300))
    weights = chance.gamma(2.0, size=300)
    channel = ProductChannel((KeepOrReplace.uniform(2, keep), KeepOrReplace.uniform(2, keep)))
    counts = WeightedCounts.of_records(2 * x + y, weights, 4)
    found = weighted_channel_test(counts, channel, TWO)
    products = (x - np.average(x, weights=weights)) * (y - np.average(y, weights=weights))
    first, second = sum(weights * products), sum((weights * products) ** 2)
    like = weights.sum() ** 2 / sum(weights**2)
    assert found.statistic == pytest.approx(first**2 / second)
    p_value = scipy.stats.f.sf(found.statistic * (like - 1) / like, 1, like - 1)
    assert found.p_value == pytest.approx(p_value)


def test_dependence_of_three_attributes_is_found() -> None:
    chance = np.random.default_rng(2)
    x, y, z = chance.integers(0, 2, (3, 5000))
    weights = chance.gamma(2.0, size=5000)
    channel, model = KeepOrReplace.uniform(8, 0.8), Independence((2, 2, 2))
    dependent = (x + (chance.random((2, 5000)) < 0.3)) % 2
    for (second, third), least, most in (((y, z), 1e-3, 1.0), (dependent, 0.0, 1e-9)):
        counts = WeightedCounts.of_records(4 * x + 2 * second + third, weights, 8)
        found = weighted_channel_test(counts, channel, model)
        assert least <= found.p_value < most
        assert found.degrees_of_freedom == 4


def test_too_few_records_have_no_p_value() -> None:
    counts = WeightedCounts.of_records(np.arange(4).repeat(5), np.ones(20), 4)
    found = weighted_channel_test(counts, KeepOrReplace.uniform(4, 0.5), TWO)
    assert not found.valid
    assert np.isnan(found.p_value)
    with pytest.raises(DeniableError, match="3 categories, but the model's tables have 4"):
        weighted_channel_test(counts, KeepOrReplace.uniform(3, 0.5), TWO)


def rejected(
    channels: tuple[Channel, ...], records: int, tilt: float, spread: float, apart: float = 0.0
) -> Floats:
    """Return the shares of 1,000 samples that are rejected at .05: by weights, and without.

    The population's table of two attributes is independent, but for what is put `apart`. Records
    come with chances in proportion to 1 / weight, and the logarithm of a weight goes with the
    product of both attributes, by `tilt`, and varies by `spread`.
    """
    chance, channel = np.random.default_rng(3), ProductChannel(channels)
    first, second = (each.size for each in channels)
    model = Independence((first, second))
    margins = np.arange(first, 0, -1.0), np.linspace(0.7, 1.3, second)
    table = np.outer(*(each / each.sum() for each in margins))
    table[:2, :2] += apart * np.array([[1, -1], [-1, 1]])
    logs = tilt * np.outer(np.arange(first), np.arange(second)).ravel()
    drawn = table.ravel() * np.exp(-logs)
    cumulated = channel.matrix().cumsum(axis=1)
    p_values = []
    for _ in range(1000):
        cells = chance.choice(model.cells, records, p=drawn / drawn.sum())
        weights = np.exp(logs[cells] + spread * chance.normal(size=records))
        codes = (chance.random(records)[:, None] > cumulated[cells, :-1]).sum(axis=1)
        counts = WeightedCounts.of_records(codes, weights, channel.reports)
        plain = np.bincount(codes, minlength=channel.reports)
        tests = (
            weighted_channel_test(counts, channel, model),
            channel_test(plain, channel, model),
        )
        p_values.append([float(test.p_value) for test in tests])
    return np.nanmean(np.array(p_values) <= 0.05, axis=0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("channels", "records", "tilt", "spread"),
    [
        ((KeepOrReplace.uniform(2, 0.6), KeepOrReplace.uniform(3, 0.6)), 800, 0.5, 0.3),
        ((KeepOrReplace.uniform(2, 0.8), KeepOrReplace.uniform(2, 0.8)), 300, 1.0, 0.5),
        ((KeepOrReplace.uniform(3, 0.5), SubsetSelection.of_epsilon(4, 2.0, 2)), 2000, 0.3, 0.5),
    ],
    ids=["two-by-three", "few-records", "other-reports"],
)
def test_a_true_null_is_rejected_at_its_rate_and_not_without_weights(
    channels: tuple[Channel, ...], records: int, tilt: float, spread: float
) -> None:
    """Of .05, 1,000 samples show less than .025 or more than .08 once in 20,000 tests."""
    weighted, plain = rejected(channels, records, tilt, spread)
    assert 0.025 <= weighted <= 0.08
    assert plain >= 0.15


@pytest.mark.slow
def test_what_depends_is_found() -> None:
    channels = (KeepOrReplace.uniform(2, 0.6), KeepOrReplace.uniform(3, 0.6))
    assert rejected(channels, 800, 0.5, 0.3, apart=0.06)[0] >= 0.6
