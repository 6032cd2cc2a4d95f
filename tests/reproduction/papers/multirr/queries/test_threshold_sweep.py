"""The sweep over thresholds against single thresholds, simulated one by one."""

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tests.simulations import of_random_sets, outputs_of

from deniable.records.categorical import Microdata
from deniable.records.domain import Attribute, Domain

from reproduction.papers.multirr.queries.clusters import ClusterQueries, ThresholdSweep, resized

# Each comparison of two samples fails by chance once in a million times.
ERROR_RATE = 1e-6
RUNS = 4000
T_V, T_D = (1, 8, 24), (0.1, 0.6, 0.95)
THRESHOLDS = tuple(itertools.product(T_V, T_D))


@pytest.fixture(scope="module")
def data() -> Microdata:
    generator = np.random.default_rng(8)
    colour = generator.integers(3, size=500)
    region = generator.integers(4, size=500)
    smokes = np.where(generator.random(500) < 0.8, colour > 0, generator.integers(2, size=500))
    owner = np.where(generator.random(500) < 0.5, region > 1, generator.integers(2, size=500))
    sizes = {"colour": 3, "region": 4, "smokes": 2, "owner": 2}
    domain = Domain(tuple(Attribute(n, tuple("abcd"[:k])) for n, k in sizes.items()))
    return Microdata(domain, (colour, region, smokes.astype(int), owner.astype(int)))


def cell_of(**settings: Any) -> dict[str, Any]:
    base = {"records": 500, "matrix": "keep", "mechanism": "kronecker", "projection": "clip"}
    return base | {"p": 0.5} | settings


def test_a_multiple_of_the_file_is_the_file_so_many_times(data: Microdata) -> None:
    np.testing.assert_array_equal(resized(data, 3000, 1).counts(), 6 * data.counts())


def test_smaller_files_are_parts_of_larger_ones(data: Microdata) -> None:
    sizes = (50, 120, 499, 500, 777)
    tables = [resized(data, size, 1).counts() for size in sizes]
    assert [int(table.sum()) for table in tables] == list(sizes)
    for small, large in itertools.pairwise(tables):
        assert (small <= large).all()
    assert (resized(data, 50, 1).counts() != resized(data, 50, 2).counts()).any()


@pytest.mark.parametrize("records", [60, 500, 1000])
@pytest.mark.parametrize("mechanism", ["joint", "kronecker"])
def test_each_threshold_has_the_distribution_that_it_has_alone(
    data: Microdata, records: int, mechanism: str
) -> None:
    cell = cell_of(records=records, mechanism=mechanism)
    sweep = ThresholdSweep(data, 0.2, t_v=T_V, t_d=T_D)
    together = of_random_sets(sweep(cell, np.random.default_rng(1), RUNS)[1], 1)
    alone = ClusterQueries(resized(data, records, 2024), 0.2)
    for column, (t_v, t_d) in enumerate(THRESHOLDS):
        single = cell | {"dataset": "adult", "t_v": t_v, "t_d": t_d}
        slow = alone(single, np.random.default_rng(2 + column), RUNS)[1][:, 0]
        slow = of_random_sets(slow, 2 + column)
        found = stats.ks_2samp(together[:, column], slow).pvalue
        assert found > ERROR_RATE / (6 * len(THRESHOLDS)), (t_v, t_d)


def test_equal_clusters_give_equal_runs_and_others_do_not(data: Microdata) -> None:
    sweep = ThresholdSweep(data, 0.2, t_v=T_V, t_d=T_D)
    cell = cell_of()
    errors = sweep(cell, np.random.default_rng(3), 200)[1]
    clusters = [protocol.clusters for protocol in sweep.protocols(cell).values()]
    assert len(set(clusters)) > 2
    for one, other in itertools.combinations(range(len(THRESHOLDS)), 2):
        equal = clusters[one] == clusters[other]
        assert (errors[:, one] == errors[:, other]).all() == equal
    # What a query does not touch changes nothing: many runs are shared all the same.
    singles, pairs = THRESHOLDS.index((1, 0.1)), THRESHOLDS.index((8, 0.1))
    assert (errors[:, singles] == errors[:, pairs]).any()


def test_an_output_names_its_thresholds_its_clusters_and_epsilon(data: Microdata) -> None:
    sweep = ThresholdSweep(data, 0.2, t_v=T_V, t_d=T_D)
    outputs = pd.DataFrame(outputs_of(sweep, cell_of()))
    assert list(zip(outputs["t_v"], outputs["t_d"], strict=True)) == list(THRESHOLDS)
    assert outputs["clusters"].iloc[0] == len(data.domain)
    # RR-Clusters by attributes costs what RR-Independent costs: config/sweep.yaml says so.
    spent = [
        sweep.spends(cell_of(), each)["record_epsilon"] for each in outputs_of(sweep, cell_of())
    ]
    assert np.allclose(spent, spent[0], rtol=1e-12)
    cell = cell_of(mechanism="joint")
    assert len({sweep.spends(cell, each)["record_epsilon"] for each in outputs_of(sweep, cell)}) > 1


def test_blocks_of_one_stream_are_the_same_each_time(data: Microdata) -> None:
    sweep = ThresholdSweep(data, 0.2, t_v=T_V, t_d=T_D)
    one, two = (sweep(cell_of(), np.random.default_rng(4), 50)[1] for _ in range(2))
    np.testing.assert_array_equal(one, two)
