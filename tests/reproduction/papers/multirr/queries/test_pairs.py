"""The fast simulation of queries over pairs against plain loops over records."""

import itertools
import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.simulations import of_random_sets, outputs_of
from tests.slow_variants import slow

from deniable.channels import ProductChannel
from deniable.errors import DeniableError
from deniable.randomized_response.protocols import rr_channel, rr_independent
from deniable.records.categorical import Microdata
from deniable.records.domain import Attribute, Domain

from reproduction.papers.multirr.queries import pairs
from reproduction.papers.multirr.queries.pairs import (
    ESTIMATORS,
    GainQueries,
    PairQueries,
    of_margins,
)
from reproduction.study.engine import replicate

# Each comparison of two samples fails by chance once in 10,000 times.
ERROR_RATE = 1e-4
FAST, SLOW = 4000, 700
SIGMAS = (0.2, 0.6)
CELL = {"matrix": "keep", "p": 0.5, "projection": "clip"}
ALL = (*ESTIMATORS, "rr_independent")
DISTRIBUTIONS = tuple(name for name in ALL if name != "pair_unbiased")
COINS = Domain(tuple(Attribute(name, ("0", "1")) for name in "ab"))


def column(queries: PairQueries, values: np.ndarray, **output: Any) -> np.ndarray:
    """Return the runs of one output."""
    (found,) = [
        i for i, each in enumerate(outputs_of(queries, CELL)) if output.items() <= each.items()
    ]
    return values[:, found]


# -- the reference: one record file, one query at a time -------------------------------------------


def slow_errors(data: Microdata, cell: Mapping[str, Any], runs: int, seed: int) -> np.ndarray:
    """Return relative errors, with axes run, estimator (of `slow_joints`), sigma."""
    generator = np.random.default_rng(seed)
    pairs = list(itertools.combinations(data.domain.names, 2))
    errors = np.empty((runs, 3, len(SIGMAS)))
    for run in range(runs):
        pair = pairs[generator.integers(len(pairs))]
        protocol = rr_independent(data.domain, cell["p"], cell["matrix"])
        frequencies = protocol.randomize(data, generator).counts(pair) / len(data)
        true = data.counts(pair).reshape(-1)
        for number, sigma in enumerate(SIGMAS):
            asked = generator.permutation(true.size)[: math.ceil(sigma * true.size - 1e-9)]
            for place, joint in enumerate(slow_joints(frequencies, cell)):
                guess = len(data) * sum(joint.reshape(-1)[each] for each in asked)
                wanted = sum(true[each] for each in asked)
                error = abs(guess - wanted)
                errors[run, place, number] = error / wanted if wanted else error and math.inf
    return errors


def slow_joints(frequencies: np.ndarray, cell: Mapping[str, Any]) -> list[np.ndarray]:
    """Return randomized, rr_independent (with clip), pair_unbiased, by linear equations."""
    first, second = (
        rr_channel(size, cell["p"], cell["matrix"]).matrix() for size in frequencies.shape
    )
    rows = np.linalg.solve(first.T, frequencies.sum(axis=1)).clip(0)
    columns = np.linalg.solve(second.T, frequencies.sum(axis=0)).clip(0)
    joint = np.linalg.solve(np.kron(first, second).T, frequencies.reshape(-1))
    return [frequencies, np.outer(rows / rows.sum(), columns / columns.sum()), joint]


@pytest.mark.parametrize(
    ("matrix", "p"), [("keep", 0.5), slow("printed", 0.1), slow("diagonal", 0.7)]
)
def test_counts_and_records_give_the_same_errors(
    small_data: Microdata, matrix: str, p: float
) -> None:
    cell = CELL | {"matrix": matrix, "p": p}
    names = ("randomized_joint", "rr_independent", "pair_unbiased")
    queries = PairQueries(small_data, SIGMAS, names)
    fast = of_random_sets(queries(cell, np.random.default_rng(1), FAST)[1], 1)
    slow = slow_errors(small_data, cell, SLOW, seed=2)
    for (place, name), (number, sigma) in itertools.product(enumerate(names), enumerate(SIGMAS)):
        ours = column(queries, fast, estimator=name, sigma=sigma, measure="relative_error")
        assert stats.ks_2samp(ours, slow[:, place, number]).pvalue > ERROR_RATE, (name, sigma)


def test_the_comparison_sees_a_small_difference(small_data: Microdata) -> None:
    queries = PairQueries(small_data, SIGMAS)
    one = queries(CELL, np.random.default_rng(1), FAST)[1]
    other = queries(CELL | {"p": 0.6}, np.random.default_rng(2), FAST)[1]
    output = {"estimator": "randomized", "sigma": 0.2, "measure": "relative_error"}
    # Pairs are randomized anew, so all answers are independent.
    pair = (column(queries, values, **output).ravel() for values in (one, other))
    assert stats.ks_2samp(*pair).pvalue < ERROR_RATE


# -- by hand ---------------------------------------------------------------------------------------


def test_outputs_are_named_in_the_order_of_the_columns(small_data: Microdata) -> None:
    queries = PairQueries(small_data, SIGMAS)
    assert outputs_of(queries, CELL) == [
        {"estimator": estimator, "sigma": sigma, "measure": measure}
        for estimator in ("randomized", "rr_independent")
        for sigma in SIGMAS
        for measure in ("absolute_error", "relative_error")
    ]
    assert queries(CELL, np.random.default_rng(1), 7)[1].shape == (7, 8, 6)


def test_gains_are_compared_where_the_text_compares_them(small_data: Microdata) -> None:
    queries = GainQueries(small_data, (0.1, 0.4, 0.5, 0.6))
    outputs = outputs_of(queries, CELL)
    compared = queries.compared(outputs)
    found = set()
    for name, how, (first, second) in compared:
        one, other = outputs[first], outputs[second]
        assert (how, name["measure"]) == ("ratio", f"{one['measure']}_ratio")
        assert one["measure"] == other["measure"]
        assert (name["estimator"], name["sigma"]) == (one["estimator"], one["sigma"])
        if one["sigma"] == other["sigma"]:
            assert name["against"] == other["estimator"]
        else:
            assert name["against"] == f"sigma = {other['sigma']:g}"
            found.add((one["sigma"], other["sigma"]))
    # Neighbours, one half with all others, and .4 with the rest of the cells.
    assert found == {(0.1, 0.4), (0.4, 0.5), (0.5, 0.6), (0.1, 0.5), (0.4, 0.6)}
    assert len(compared) == 2 * (4 + 2 * 5)


def test_nothing_randomized_leaves_only_the_error_of_independence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Counts (50, 10, 10, 30) among 100: each margin (60, 40), the product (36, 24, 24, 16), so
    # every cell is off by 14 records under independence, and by none otherwise.
    codes = np.repeat(np.arange(4), [50, 10, 10, 30])
    data = Microdata(COINS, COINS.unravel(codes))
    monkeypatch.setattr(pairs, "rr_channel", lambda size, p, matrix: identity(size))
    queries = PairQueries(data, (0.25, 1.0), ALL)
    errors = queries(CELL, np.random.default_rng(1), 200)[1]
    for name in ALL:
        one = {"estimator": name, "sigma": 0.25}
        absolute = column(queries, errors, measure="absolute_error", **one)
        relative = column(queries, errors, measure="relative_error", **one)
        if name in ("randomized", "rr_independent"):
            np.testing.assert_allclose(absolute, 14)
            assert set(relative.ravel().round(6)) == {0.28, 1.4, round(14 / 30, 6)}
        else:
            np.testing.assert_allclose(absolute, 0, atol=1e-3)
        # A query for all cells is answered exactly by all that sums to 1.
        everything = {"estimator": name, "sigma": 1.0, "measure": "absolute_error"}
        np.testing.assert_allclose(column(queries, errors, **everything), 0, atol=1e-10)


def identity(size: int) -> Any:
    return rr_channel(size, 1 - 1e-12, "diagonal")


@pytest.mark.parametrize("matrix", ["printed", "keep", "diagonal"])
def test_every_distribution_is_one(matrix: str) -> None:
    channel = ProductChannel((rr_channel(3, 0.3, matrix), rr_channel(4, 0.3, matrix)))
    generator = np.random.default_rng(2)
    reports = channel.randomize_counts(
        generator.multinomial(90, np.full(12, 1 / 12), 20), generator
    )
    for name, projection in itertools.product(ALL, ["clip", "simplex", "likelihood"]):
        estimators = ESTIMATORS | {"rr_independent": partial(of_margins, projection=projection)}
        joint = estimators[name](reports, channel)
        np.testing.assert_allclose(joint.sum(axis=1), 1, rtol=1e-12)
        if name in DISTRIBUTIONS:
            assert joint.min() >= 0, name
    assert ESTIMATORS["pair_unbiased"](reports, channel).min() < 0


def test_the_projection_is_that_of_the_margins(small_data: Microdata) -> None:
    queries = PairQueries(small_data, SIGMAS, ("rr_independent", "pair_projected"))
    errors = {
        projection: queries(
            CELL | {"p": 0.05, "projection": projection}, np.random.default_rng(1), 100
        )[1]
        for projection in ("clip", "simplex")
    }
    assert not np.allclose(errors["clip"][:, :4], errors["simplex"][:, :4])
    np.testing.assert_array_equal(errors["clip"][:, 4:], errors["simplex"][:, 4:])


# -- singular channels, streams, refusals ----------------------------------------------------------


def test_a_singular_attribute_warns_and_is_taken_as_uniform(small_data: Microdata) -> None:
    # printed with p |A| = 1 - p for |A| = 4: region says nothing.
    data = small_data.project(["colour", "region"])
    queries = PairQueries(data, SIGMAS, ALL)
    cell = CELL | {"matrix": "printed", "p": 0.2}
    with pytest.warns(
        RuntimeWarning, match="singular: the estimates of .* singular attributes are uniform"
    ):
        names, errors = queries(cell, np.random.default_rng(1), 50)
    assert np.all(np.isfinite(errors))
    # What is left is the margin of colour, spread evenly: RR-Independent again.
    width = len(names) // len(ALL)
    by_name = dict(zip(ALL, np.split(errors, errors.shape[1] // width, axis=1), strict=True))
    np.testing.assert_allclose(by_name["pair_clipped"], by_name["rr_independent"])


def test_runs_depend_on_the_stream_alone(small_data: Microdata) -> None:
    used, fresh = PairQueries(small_data, SIGMAS, ALL), PairQueries(small_data, SIGMAS, ALL)
    used(CELL | {"p": 0.9}, np.random.default_rng(9), 50)
    ours = used(CELL, np.random.default_rng(1), 100)[1]
    np.testing.assert_array_equal(ours, fresh(CELL, np.random.default_rng(1), 100)[1])
    # Fewer estimators answer the same queries from the same reports.
    few = PairQueries(small_data, SIGMAS, ("pair_projected", "randomized_joint"))
    for name, place in (("pair_projected", 0), ("randomized_joint", 1)):
        start = 4 * ALL.index(name)
        np.testing.assert_array_equal(
            few(CELL, np.random.default_rng(1), 100)[1][:, 4 * place : 4 * place + 4],
            ours[:, start : start + 4],
        )


def test_it_is_a_simulator_of_studies(small_data: Microdata) -> None:
    queries = PairQueries(small_data, SIGMAS, ALL)
    runs = replicate(queries, 1, "pair_queries", CELL, replicates=30, block=20)[1]
    assert runs.shape == (30, len(outputs_of(queries, CELL)), 6)


def test_what_cannot_be_simulated_is_refused(small_data: Microdata) -> None:
    with pytest.raises(DeniableError, match=r"coverage is 1\.5"):
        PairQueries(small_data, (1.5,))(CELL, np.random.default_rng(1), 3)
