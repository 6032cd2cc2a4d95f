"""The latent-class model, the simulation of supports, and how errors grow with the set."""

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
from tests.pram.baskets import transactions_of
from tests.simulations import outputs_of, simulated_whole

from deniable.channels import KeepOrReplace, ProductChannel
from deniable.pram.item_sets import item_set_supports

from reproduction.papers.pram.intervals.item_sets import PramItemSets
from reproduction.study.engine import replicate

MODEL = PramItemSets(np.array([0.25, 0.75]), np.array([[0.5, 0.1, 0.9], [0.2, 0.4, 0.0]]))


def drawn(model: PramItemSets, records: int, generator: np.random.Generator) -> np.ndarray:
    """Return true records of a model, shape (records, items)."""
    kinds = generator.choice(model.shares.size, size=records, p=model.shares)
    bought = generator.random((records, model.chances.shape[1])) < model.chances[kinds]
    return bought.astype(np.uint8)


def growth_of_errors(
    model: PramItemSets, sizes: Sequence[int], epsilons: Sequence[float], records: int
) -> pd.DataFrame:
    """Return the exact standard errors of supports, by size and epsilon.

    With the symmetric channel of an item, scores of "present" and "absent" are p / (2 p - 1) and
    -(1 - p) / (2 p - 1). For one item the mean square of a score is, whatever is true, at least
    p (1 - p) / (2 p - 1)^2; it multiplies from item to item. At an epsilon of 1 that is .92, and
    1.92 where the item is present.

    Returns
    -------
    DataFrame
        ``size``, ``epsilon`` (of an item), ``epsilon_of_set`` (what the items of the set give away
        together), ``support`` (mean of the kinds' favourite sets), ``standard_error`` (root mean
        variance), ``without`` (the standard error that sampling alone has), ``records_needed`` for
        a standard error of a tenth of the support.
    """
    rows = []
    for size, epsilon in itertools.product(sizes, epsilons):
        channel = ProductChannel((KeepOrReplace.of_epsilon(2, epsilon),) * size)
        last = np.zeros((1, channel.size))
        last[0, -1] = 1.0
        squares = channel.expected(channel.solve(last) ** 2)[0]
        laws = [model.pattern_law(items) for items in model.favourites(size)]
        supports = np.array([law[-1] for law in laws])
        variances = np.array([law @ squares for law in laws]) - supports**2
        sampling = supports * (1 - supports)
        support = float(supports.mean())
        rows.append(
            {
                "size": size,
                "epsilon": epsilon,
                "epsilon_of_set": size * epsilon,
                "support": support,
                "standard_error": math.sqrt(variances.mean() / records),
                "without": math.sqrt(sampling.mean() / records),
                "records_needed": math.ceil(variances.mean() / (support / 10) ** 2),
            }
        )
    return pd.DataFrame(rows)


def test_pattern_law_by_hand() -> None:
    # Items 0 and 1 both: 1/4 * 1/2 * 1/10 + 3/4 * 1/5 * 2/5 = .0725.
    law = MODEL.pattern_law((0, 1))
    assert law[3] == pytest.approx(0.0725)
    assert law.sum() == pytest.approx(1)
    for pattern, (first, second) in enumerate(itertools.product((0, 1), repeat=2)):
        chances = [
            share * (a if first else 1 - a) * (b if second else 1 - b)
            for share, (a, b, _) in zip(MODEL.shares, MODEL.chances, strict=True)
        ]
        assert law[pattern] == pytest.approx(sum(chances))
    np.testing.assert_allclose(MODEL.pattern_law((1, 0)), law.reshape(2, 2).T.reshape(-1))


def test_records_follow_the_law() -> None:
    # 4.9 standard errors: a false alarm of 1e-6 a pattern.
    model = PramItemSets.drawn()
    records = drawn(model, 40_000, np.random.default_rng(1))
    assert records.shape == (40_000, 40)
    for items in ((3,), (0, 20), (5, 6, 39)):
        law = model.pattern_law(items)
        codes = records[:, items] @ (1 << np.arange(len(items))[::-1])
        shares = np.bincount(codes, minlength=law.size) / 40_000
        assert np.all(np.abs(shares - law) <= 4.9 * np.sqrt(law / 40_000) + 1e-9)


def test_the_model_is_the_seeds_and_favourites_are_the_most_bought() -> None:
    model, again = PramItemSets.drawn(), PramItemSets.drawn()
    np.testing.assert_array_equal(model.chances, again.chances)
    assert model.chances.shape == (4, 40)
    assert model.shares.sum() == pytest.approx(1)
    for chances, items in zip(model.chances, model.favourites(3), strict=True):
        assert chances[list(items)].min() == np.sort(chances)[-3]
        assert list(items) == sorted(items)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_an_item_has_its_epsilon(epsilon: float) -> None:
    assert KeepOrReplace.of_epsilon(2, epsilon).epsilon == pytest.approx(epsilon, rel=1e-12)


# -- the simulation --------------------------------------------------------------------------------


def cell(size: int, epsilon: float = 2.0, records: int = 20_000) -> dict[str, object]:
    return {"size": size, "epsilon": epsilon, "records": records}


def test_a_run_is_what_records_give() -> None:
    # The study draws patterns; here records are drawn, randomized and mined. Means of estimates
    # and of standard errors agree within 4.9 of their standard errors.
    study, runs, rng = MODEL, 300, np.random.default_rng(2)
    names, found = study(cell(2, 1.0, 400), np.random.default_rng(3), 4000)
    named = dict(zip((each["measure"] for each in names), found.T, strict=True))
    sets = MODEL.favourites(2)
    channel = ProductChannel((KeepOrReplace.of_epsilon(2, 1.0),) * 3)
    errors, bias, above = [], [], []
    truth = np.array([MODEL.pattern_law(items)[-1] for items in sets])
    for _ in range(runs):
        columns = channel.randomize_columns(tuple(drawn(MODEL, 400, rng).T), rng)
        table = item_set_supports(transactions_of(channel, np.stack(columns, axis=1)), sets)
        errors.append(table["standard_error_population"].mean())
        bias.append((table["support"] - truth).mean())
        above.append((table["ci_low_population"] > 0).mean())
    for ours, slow in ((named["standard_error"], errors), (named["told_from_zero"], above)):
        slack = 4.9 * math.hypot(np.std(ours) / 4000**0.5, np.std(slow) / runs**0.5)
        assert abs(np.mean(ours) - np.mean(slow)) < slack
    assert abs(np.mean(bias)) < 4.9 * np.std(bias) / runs**0.5
    assert named["support"][0] == pytest.approx(truth.mean())


@pytest.mark.parametrize(("size", "epsilon"), [(1, 0.5), (2, 1.0), (3, 2.0), (4, 1.0)])
def test_supports_are_unbiased_and_covered(size: int, epsilon: float) -> None:
    # 4.9 standard errors of 2000 runs (of the mean of 4 independent sets, where it is one).
    grid = {key: [value] for key, value in cell(size, epsilon).items()}
    found = simulated_whole(PramItemSets.drawn(), "pram_item_sets", [grid], 2000, block=500)
    table = found.set_index("measure")["regenerated"]
    assert abs(table["bias"]) < 4.9 / math.sqrt(4 * 2000)
    slack = 4.9 * math.sqrt(0.05 * 0.95 / 2000)
    for measure in ("coverage_score", "coverage_wald"):
        assert abs(table[measure] - 0.95) < slack
    assert table["coverage_bonferroni"] > 0.95 - slack
    expected = growth_of_errors(PramItemSets.drawn(), [size], [epsilon], 20_000).iloc[0]
    assert table["support"] == pytest.approx(expected["support"])
    # Of a normal error the mean size is sqrt(2 / pi) standard errors.
    of_size = math.sqrt(2 / math.pi) * table["expected_relative_error"]
    assert table["relative_error"] == pytest.approx(of_size, rel=0.03)
    # The mean of roots of four different variances lies below the root of their mean.
    assert table["standard_error"] == pytest.approx(expected["standard_error"], rel=0.05)


def test_growth_by_hand() -> None:
    # A single item, e^epsilon = 3: scores 3/2 and -1/2, mean squares 7/4 (present), 3/4 (absent).
    model = PramItemSets(np.array([1.0]), np.array([[0.5, 0.25]]))
    one, two = growth_of_errors(model, [1, 2], [math.log(3)], 100).to_dict("records")
    assert one["standard_error"] == pytest.approx(math.sqrt((0.5 * 7 + 0.5 * 3) / 4 - 0.25) / 10)
    assert one["without"] == pytest.approx(0.05)
    square = (0.5 * 7 / 4 + 0.5 * 3 / 4) * (0.25 * 7 / 4 + 0.75 * 3 / 4)
    assert two["support"] == pytest.approx(0.125)
    assert two["standard_error"] == pytest.approx(math.sqrt(square - 0.125**2) / 10)
    assert two["epsilon_of_set"] == pytest.approx(2 * math.log(3))
    assert two["records_needed"] == math.ceil((square - 0.125**2) / 0.0125**2)


def test_sets_of_four_and_more_are_hopeless_at_an_epsilon_of_one() -> None:
    table = growth_of_errors(PramItemSets.drawn(), range(1, 7), [0.5, 1.0], 20_000)
    relative = table.assign(relative=table["standard_error"] / table["support"]).pivot(
        index="size", columns="epsilon", values="relative"
    )
    assert relative[1.0].is_monotonic_increasing
    assert relative.loc[3, 1.0] < 0.12
    assert relative.loc[4, 1.0] > 0.2
    assert relative.loc[6, 1.0] > 1
    assert relative.loc[4, 0.5] > 2


def test_runs_depend_on_the_stream_alone() -> None:
    study = PramItemSets.drawn()
    runs = replicate(study, 1, "pram_item_sets", cell(3), replicates=30, block=20)[1]
    assert runs.shape == (30, len(outputs_of(study, cell(3))))
    again = replicate(PramItemSets.drawn(), 1, "pram_item_sets", cell(3), replicates=20, block=20)[
        1
    ]
    np.testing.assert_array_equal(runs[:20], again)
