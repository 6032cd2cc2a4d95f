"""Supports and rules: exact cases, the whole product at 12 items, the errors of a search."""

import itertools
import math
import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from tests.pram.baskets import transactions_of

from deniable.channels import DenseChannel, KeepOrReplace, ProductChannel
from deniable.errors import DataError, DeniableError
from deniable.estimation.intervals import confidence_intervals
from deniable.pram.item_sets import (
    Transactions,
    _joined,
    frequent_item_sets,
    item_set_supports,
    rule_confidences,
)

TARGETS = pytest.mark.parametrize("target", ["population", "file"])
KEEP = KeepOrReplace.uniform(2, 0.8)


def item_channel(missed: float, invented: float) -> DenseChannel:
    """A present item is missed, an absent one invented, with these probabilities."""
    return DenseChannel(np.array([[1 - invented, invented], [missed, 1 - missed]]))


def unequal(items: int) -> ProductChannel:
    rng = np.random.default_rng(items)
    return ProductChannel(tuple(item_channel(*rng.uniform(0.05, 0.3, 2)) for _ in range(items)))


def baskets(records: int, items: int, seed: int = 1) -> np.ndarray:
    """Records of two kinds of clients."""
    rng = np.random.default_rng(seed)
    chances = np.where(rng.random((2, items)) < 0.4, 0.7, 0.1)
    return (rng.random((records, items)) < chances[rng.integers(0, 2, records)]).astype(np.uint8)


def randomized(channel: ProductChannel, records: np.ndarray, seed: int = 2) -> Transactions:
    columns = channel.randomize_columns(tuple(records.T), np.random.default_rng(seed))
    return transactions_of(channel, np.stack(columns, axis=1))


# -- exact -----------------------------------------------------------------------------------------


def test_two_items_by_hand():
    # Item 0: missed 1/4, invented 1/4: scores of "present" (-1/2, 3/2). Item 1: missed 1/2,
    # invented 0: scores (0, 2). Reports 11, 11, 01, 10, 00, 00 (items 0 and 1).
    channel = ProductChannel((item_channel(0.25, 0.25), item_channel(0.5, 0.0)))
    reports = np.array([[1, 1], [1, 1], [0, 1], [1, 0], [0, 0], [0, 0]])
    found = item_set_supports(transactions_of(channel, reports), [[0, 1], [1], [0]])
    # Scores of both: 3 for 11, -1 for 01, 0 otherwise: (3 + 3 - 1) / 6.
    np.testing.assert_allclose(found["support"], [5 / 6, 1, 3 / 6 * 2 - 0.5])
    np.testing.assert_allclose(found["reported"], [1 / 3, 1 / 2, 1 / 2])
    # Mean square (9 + 9 + 1) / 6; file: (19/6 - 5/6) / 6; population: (19/6 - 25/36) / 5.
    np.testing.assert_allclose(found["standard_error_file"][0], math.sqrt(14 / 36))
    np.testing.assert_allclose(found["standard_error_population"][0], math.sqrt(89 / 36 / 5))
    assert found["items"].tolist() == ["0 & 1", "1", "0"]
    assert found["size"].tolist() == [2, 1, 1]


def test_supports_are_unbiased():
    # All reports of two records that hold items 0, 1 and items 1, 2 of three: 64 outcomes.
    missed, invented = Fraction(1, 7), Fraction(2, 11)
    channel = ProductChannel((item_channel(1 / 7, 2 / 11),) * 3)
    truth = [(1, 1, 0), (0, 1, 1)]
    sets = [[0], [1], [0, 1], [1, 2], [0, 1, 2]]
    mean, square, variance = np.zeros(5), np.zeros(5), np.zeros(5)
    for reports in itertools.product(itertools.product((0, 1), repeat=3), repeat=2):
        chance = Fraction(1)
        for true, report in zip(truth, reports, strict=True):
            for t, r in zip(true, report, strict=True):
                kept = 1 - (missed if t else invented)
                chance *= kept if t == r else 1 - kept
        found = confidence_free(channel, np.array(reports), sets)
        mean += float(chance) * found[0]
        square += float(chance) * found[0] ** 2
        variance += float(chance) * found[1]
    np.testing.assert_allclose(mean, [0.5, 1, 0.5, 0.5, 0], atol=1e-12)
    np.testing.assert_allclose(variance, square - mean**2, atol=1e-12)


def confidence_free(
    channel: ProductChannel, reports: np.ndarray, sets: list[list[int]]
) -> tuple[np.ndarray, np.ndarray]:
    """Return supports and the variances for the file, also where these are below zero."""
    transactions = transactions_of(channel, reports)
    supports = item_set_supports(transactions, sets)["support"].to_numpy()
    variances = []
    for items in sets:
        last = np.eye(2 ** len(items))[-1:]
        counts = transactions.patterns(items)
        margin = channel.margin(items)
        variances.append(margin.estimated_covariance(counts, "file", last)[0, 0])
    return supports, np.array(variances)


@pytest.mark.parametrize("channel", [unequal(12), ProductChannel((KEEP,) * 12)])
def test_the_whole_product_of_twelve_items_agrees(channel):
    transactions = randomized(channel, baskets(4000, 12))
    counts = transactions.patterns(range(12))
    whole = channel.estimate(counts)
    sets = [(0,), (11,), (3, 7), (7, 3), (1, 2, 5), (0, 4, 8, 11), tuple(range(12))]
    found = item_set_supports(transactions, sets)
    cells = (np.arange(4096)[:, None] >> np.arange(11, -1, -1)) & 1
    indicators = np.array([cells[:, list(items)].all(axis=1) for items in sets], dtype=float)
    np.testing.assert_allclose(found["support"], indicators @ whole, atol=1e-12)
    for target in ("file", "population"):
        np.testing.assert_allclose(
            found[f"standard_error_{target}"],
            channel.standard_errors(counts, target, indicators),
            atol=1e-12,
        )
    # And without the library: the inverse along each axis of the table.
    table = (counts / counts.sum()).reshape((2,) * 12)
    for axis, factor in enumerate(channel.factors):
        table = np.moveaxis(
            np.tensordot(np.linalg.inv(factor.matrix()).T, table, (1, axis)), 0, axis
        )
    np.testing.assert_allclose(whole, table.reshape(-1), atol=1e-12)


def test_intervals_are_those_of_the_margin():
    transactions = randomized(unequal(5), baskets(500, 5))
    found = item_set_supports(transactions, [[4, 1]], confidence=0.9)
    counts = transactions.patterns((4, 1))
    for target in ("file", "population"):
        expected = confidence_intervals(
            counts, transactions.channel.margin((4, 1)), confidence=0.9, target=target
        )
        assert found[f"ci_low_{target}"][0] == pytest.approx(expected.low[3], abs=1e-9)
        assert found[f"ci_high_{target}"][0] == pytest.approx(expected.high[3], abs=1e-9)


def test_forty_items_and_fifty_thousand_records_take_no_time():
    transactions = randomized(ProductChannel((KEEP,) * 40), baskets(50_000, 40))
    sets = [*((i,) for i in range(40)), *itertools.combinations(range(40), 2)]
    start = time.process_time()
    found = item_set_supports(transactions, sets)
    assert time.process_time() - start < 1
    assert len(found) == 820
    assert np.isfinite(found["support"]).all()


def test_coverage_of_the_supports_of_a_file():
    # 780 pairs depend on each other: 5 standard errors of as few as 100 independent ones.
    records = baskets(20_000, 40, seed=5)
    sets = list(itertools.combinations(range(40), 2))
    found = item_set_supports(randomized(ProductChannel((KEEP,) * 40), records), sets)
    truth = np.array([records[:, items].all(axis=1).mean() for items in sets])
    covered = (found["ci_low_file"] <= truth) & (truth <= found["ci_high_file"])
    assert abs(covered.mean() - 0.95) < 5 * math.sqrt(0.95 * 0.05 / 100)
    wider = found["ci_high_population"] - found["ci_low_population"]
    assert (wider > found["ci_high_file"] - found["ci_low_file"]).all()


# -- rules -----------------------------------------------------------------------------------------


@TARGETS
def test_rules_by_the_definition(target):
    transactions = randomized(unequal(6), baskets(5000, 6))
    found = rule_confidences(transactions, [([1, 4], [3])], target=target).iloc[0]
    supports = item_set_supports(transactions, [[1, 4, 3], [1, 4]])
    both, base = supports["support"]
    assert found["rule"] == "1 & 4 -> 3"
    assert found["support"] == pytest.approx(both, abs=1e-12)
    assert found["condition"] == pytest.approx(base, abs=1e-12)
    assert found["confidence"] == pytest.approx(both / base, abs=1e-10)

    def z_of(ratio: float) -> float:
        # both - ratio * base is one functional; its standard error needs no covariance.
        weights = np.zeros((1, 8))
        weights[0, 6:] = -ratio
        weights[0, 7] += 1
        margin, counts = transactions.channel.margin((1, 4, 3)), transactions.patterns((1, 4, 3))
        error = margin.standard_errors(counts, target, weights)[0]
        return (both - ratio * base) / error

    error = abs((both - 0.1 * base) / z_of(0.1))
    assert error > 0
    assert z_of(found["ci_low"]) == pytest.approx(1.959964, abs=1e-5)
    assert z_of(found["ci_high"]) == pytest.approx(-1.959964, abs=1e-5)
    # The linearized error is that of both - ratio * base at the ratio itself, over base.
    here = found["confidence"]
    slope = (z_of(here + 1e-6) - z_of(here - 1e-6)) / 2e-6
    assert found["standard_error"] == pytest.approx(-1 / slope, rel=1e-5)


def test_a_rule_whose_condition_may_have_no_support_says_nothing():
    records = np.zeros((300, 2), dtype=np.uint8)
    transactions = randomized(ProductChannel((KeepOrReplace.uniform(2, 0.3),) * 2), records)
    found = rule_confidences(transactions, [([0], [1])]).iloc[0]
    assert (found["ci_low"], found["ci_high"]) == (-math.inf, math.inf)


def test_rules_are_covered():
    # False alarm 1e-6: 4.9 standard errors of 1500 simulations.
    channel = ProductChannel((KEEP, item_channel(0.1, 0.2)))
    truth = np.array([0.5, 0.2, 0.1, 0.2])
    reports = np.random.default_rng(4).multinomial(2000, channel.reported(truth), 1500)
    covered = 0
    for counts in reports:
        records = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], counts, axis=0)
        found = rule_confidences(transactions_of(channel, records), [([0], [1])]).iloc[0]
        covered += found["ci_low"] <= 2 / 3 <= found["ci_high"]
    assert abs(covered / 1500 - 0.95) < 4.9 * math.sqrt(0.05 * 0.95 / 1500)


# -- the search ------------------------------------------------------------------------------------


def test_joined_sets_are_those_of_brute_force():
    rng = np.random.default_rng(7)
    for size in (1, 2, 3):
        sets = list(itertools.combinations(range(8), size))
        kept = [items for items in sets if rng.random() < 0.7]
        expected = [
            larger
            for larger in itertools.combinations(range(8), size + 1)
            if all(part in kept for part in itertools.combinations(larger, size))
        ]
        assert sorted(_joined(kept)) == expected


def test_without_randomization_of_the_file_the_search_is_apriori():
    records = baskets(2000, 8)
    channel = ProductChannel((KeepOrReplace.uniform(2, 1.0),) * 8)
    found = frequent_item_sets(transactions_of(channel, records), 0.15, largest=4, target="file")
    expected = {
        " & ".join(map(str, items))
        for size in range(1, 5)
        for items in itertools.combinations(range(8), size)
        if records[:, items].all(axis=1).mean() >= 0.15
    }
    assert set(found["items"]) == expected
    assert set(found["verdict"]) == {"frequent"}
    assert found["size"].max() >= 3
    np.testing.assert_allclose(found["support"], found["reported"], atol=1e-12)


def test_bounds_are_one_sided_and_shared_among_all_sets():
    transactions = randomized(ProductChannel((KEEP,) * 6), baskets(3000, 6))
    found = frequent_item_sets(transactions, 0.05, largest=2, error_rate=0.05)
    for size, sets in ((1, 6), (2, 15)):
        table = found[found["size"] == size]
        alpha = 0.05 / 2 / sets
        places = [tuple(map(int, items.split(" & "))) for items in table["items"]]
        expected = item_set_supports(transactions, places, confidence=1 - 2 * alpha)
        np.testing.assert_allclose(table["lower"], expected["ci_low_population"], atol=1e-12)
        np.testing.assert_allclose(table["upper"], expected["ci_high_population"], atol=1e-12)
    assert (found["upper"] >= 0.05).all()
    frequent = found["lower"] >= 0.05
    assert set(found["verdict"][frequent]) <= {"frequent"}
    assert set(found["verdict"][~frequent]) <= {"undecided"}


@pytest.mark.slow
def test_the_search_keeps_its_error_rate():
    # Six independent items of support 1/2: each pair has 1/4, a hair below the minimum; whatever is
    # called frequent among pairs is wrong. 400 searches; false alarm 1e-6.
    channel, runs = ProductChannel((KEEP,) * 6), 400
    rng = np.random.default_rng(6)
    wrong = 0
    for _ in range(runs):
        records = rng.integers(0, 2, (1500, 6), dtype=np.uint8)
        columns = channel.randomize_columns(tuple(records.T), rng)
        transactions = transactions_of(channel, np.stack(columns, axis=1))
        found = frequent_item_sets(transactions, 0.2501, largest=2)
        pairs = found[found["size"] == 2]
        wrong += bool((pairs["verdict"] == "frequent").any())
    assert stats.binomtest(wrong, runs, 0.05, "greater").pvalue > 1e-6


def test_nothing_frequent_is_nothing():
    transactions = randomized(ProductChannel((KEEP,) * 3), np.zeros((5000, 3), dtype=np.uint8))
    found = frequent_item_sets(transactions, 0.5)
    assert len(found) == 0
    assert "verdict" in found


# -- refusals --------------------------------------------------------------------------------------

FEW = randomized(ProductChannel((KEEP,) * 4), baskets(50, 4))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: item_set_supports(FEW, [[0, 0]]), DataError, "names an item twice"),
        (lambda: item_set_supports(FEW, [[0, 9]]), DataError, "there is no item 9"),
        (lambda: item_set_supports(FEW, [[]]), DataError, "is empty"),
        (lambda: item_set_supports(FEW, [[0]], confidence=2), DeniableError, "confidence is 2"),
        (lambda: rule_confidences(FEW, [([0], [])]), DataError, "needs items on both sides"),
        (lambda: rule_confidences(FEW, [([0], [0])]), DataError, "names an item twice"),
        (lambda: frequent_item_sets(FEW, 0), DeniableError, "minimum support is 0; it must be in"),
        (lambda: frequent_item_sets(FEW, 0.1, largest=0), DeniableError, "largest size is 0"),
        (lambda: frequent_item_sets(FEW, 0.1, error_rate=0.5), DeniableError, "error rate is 0.5"),
    ],
)
def test_refusals(call: Callable[[], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_too_many_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deniable.pram.item_sets.MAX_CANDIDATES", 3)
    with pytest.raises(DeniableError, match="over 3 sets of 2 items cannot be ruled out"):
        frequent_item_sets(FEW, 0.01)
