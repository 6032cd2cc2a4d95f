"""Networks of [rrba]: the files of resources against pgmpy, records against exact margins."""

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import special
from tests.datasets.dense import dense_table

from deniable.datasets import networks
from deniable.datasets.networks import BayesianNetwork, ConditionalTable
from deniable.errors import DataError, DeniableError
from deniable.records.domain import Attribute, Domain
from deniable.sampling import generator_for

ERROR_RATE = 1e-6  # of all chi-square tests of one test function together
# Attributes and categories. Table 2 of the text prints 103 categories for Alarm.
FOLDER = Path(__file__).resolve().parents[2] / "resources" / "networks"
SIZES = {"survey": (6, 14), "alarm": (37, 105), "child": (20, 60)}


def exact_margin(network: BayesianNetwork, names: Sequence[str]) -> np.ndarray:
    """Return the exact joint distribution of attributes `names` of a `network`.

    It has one axis per name, in this order, and sums to 1.
    """
    parents = {table.attribute: table.parents for table in network.tables}
    needed, frontier = set(names), list(names)
    while frontier:
        for parent in parents[frontier.pop()]:
            if parent not in needed:
                needed.add(parent)
                frontier.append(parent)
    letters = {name: position for position, name in enumerate(network.domain.names)}
    operands: list[Any] = []
    for table in network.tables:
        if table.attribute in needed:
            axes = [letters[name] for name in (*table.parents, table.attribute)]
            operands += [dense_table(network, table), axes]
    joint = np.einsum(*operands, [letters[name] for name in names], optimize="greedy")
    return np.asarray(joint / joint.sum())


@pytest.fixture(scope="module")
def taken() -> dict[str, BayesianNetwork]:
    """The networks, read from the files that every job reads."""
    return {name: networks.from_resources(name, FOLDER) for name in networks.NETWORKS}


@pytest.fixture(scope="module")
def coins() -> BayesianNetwork:
    """Two coins: the second is like the first with probability 3/4."""
    domain = Domain((Attribute("a", ("0", "1")), Attribute("b", ("0", "1"))))
    return BayesianNetwork(
        domain,
        (
            ConditionalTable("a", (), {(): (0.25, 0.75)}),
            ConditionalTable("b", ("a",), {(): (1.0, 0.0), (0,): (0.75, 0.25), (1,): (0.25, 0.75)}),
        ),
    )


@pytest.mark.parametrize("name", networks.NETWORKS)
def test_networks_have_the_sizes_of_table_2(name: str, taken: dict[str, BayesianNetwork]) -> None:
    domain = taken[name].domain
    assert (len(domain), sum(domain.shape)) == SIZES[name]


@pytest.mark.parametrize("name", networks.NETWORKS)
def test_a_network_survives_its_file(
    name: str, taken: dict[str, BayesianNetwork], tmp_path: Path
) -> None:
    networks.write(tmp_path / "network.json", taken[name])
    assert networks.read(tmp_path / "network.json") == taken[name]
    assert (tmp_path / "network.json").stat().st_size < 15_000


def test_exact_margins_by_hand(coins: BayesianNetwork) -> None:
    joint = [Fraction(3, 16), Fraction(1, 16), Fraction(3, 16), Fraction(9, 16)]
    np.testing.assert_allclose(
        exact_margin(coins, ("a", "b")).reshape(-1), np.array(joint, float), atol=1e-15
    )
    np.testing.assert_allclose(exact_margin(coins, ("b",)), [3 / 8, 5 / 8], atol=1e-15)


def test_exact_margins_against_the_whole_joint(taken: dict[str, BayesianNetwork]) -> None:
    network = taken["survey"]
    joint = np.zeros(network.domain.shape)
    for cell in itertools.product(*map(range, network.domain.shape)):
        codes = dict(zip(network.domain.names, cell, strict=True))
        joint[cell] = math.prod(
            table.rows[tuple(codes[parent] for parent in table.parents)][codes[table.attribute]]
            for table in network.tables
        )
    for pair in itertools.combinations(range(6), 2):
        others = tuple(axis for axis in range(6) if axis not in pair)
        names = [network.domain.names[axis] for axis in pair]
        np.testing.assert_allclose(exact_margin(network, names), joint.sum(axis=others), atol=1e-12)
    swapped = exact_margin(network, ("T", "A"))
    np.testing.assert_allclose(swapped, exact_margin(network, ("A", "T")).T, atol=1e-15)


@pytest.mark.parametrize("name", networks.NETWORKS)
def test_records_have_the_networks_margins(name: str, taken: dict[str, BayesianNetwork]) -> None:
    network = taken[name]
    drawn = networks.draw(network, 40_000, generator_for(1, {"network": name}))
    # Each attribute, and each edge: all that the tables say.
    edges = [(p, table.attribute) for table in network.tables for p in table.parents]
    margins: list[tuple[str, ...]] = [(attribute,) for attribute in network.domain.names]
    for names in [*margins, *edges]:
        exact = exact_margin(network, names).reshape(-1)
        assert fit(drawn.counts(names).reshape(-1), exact) > ERROR_RATE / (
            len(edges) + len(margins)
        )


def fit(observed: np.ndarray, exact: np.ndarray) -> float:
    """Return the p value of Pearson's chi-square, rare cells taken together."""
    assert observed[exact == 0].sum() == 0
    expected = exact * observed.sum()
    rare = expected < 10
    observed = np.append(observed[~rare], observed[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    some = expected > 0
    statistic = ((observed[some] - expected[some]) ** 2 / expected[some]).sum()
    return float(special.chdtrc(max(some.sum() - 1, 1), statistic))


@pytest.mark.parametrize("name", networks.FILES)
def test_files_are_drawn_again_as_recorded(name: str, taken: dict[str, BayesianNetwork]) -> None:
    file = networks.FILES[name]
    drawn = networks.drawn_file(name, taken.__getitem__)
    assert len(drawn) == file.records
    assert networks.digest(drawn) == networks.CODES[name] == drawn.marks["sha256"]
    assert drawn.marks["data_source"] == "network"


def test_a_resampled_file_holds_only_records_of_the_original(
    taken: dict[str, BayesianNetwork],
) -> None:
    original = networks.drawn_file("survey", taken.__getitem__)
    resampled = networks.drawn_file("survey_8000_resampled", taken.__getitem__)
    there = set(zip(*(column.tolist() for column in original.columns), strict=True))
    assert set(zip(*(column.tolist() for column in resampled.columns), strict=True)) <= there


def test_a_changed_network_is_noticed(coins: BayesianNetwork) -> None:
    with pytest.raises(DeniableError, match=r"'survey' has codes of sha256 .*, recorded are"):
        networks.drawn_file("survey", lambda _: coins)


def test_a_digest_knows_names_categories_and_codes(coins: BayesianNetwork) -> None:
    drawn = networks.draw(coins, 20, np.random.default_rng(1))
    again = networks.draw(coins, 20, np.random.default_rng(1))
    other = networks.draw(coins, 20, np.random.default_rng(2))
    assert networks.digest(drawn) == networks.digest(again) != networks.digest(other)
    assert networks.digest(drawn.project(["b", "a"])) != networks.digest(drawn)


def test_a_file_of_another_network_is_refused(
    taken: dict[str, BayesianNetwork], tmp_path: Path
) -> None:
    networks.write(tmp_path / "alarm.json", taken["survey"])
    with pytest.raises(DataError, match="its provenance has the network 'survey', not 'alarm'"):
        networks.from_resources("alarm", tmp_path)
    with pytest.raises(DataError, match=r"child\.json: No such file"):
        networks.from_resources("child", tmp_path)
    with pytest.raises(DeniableError, match="unknown network 'asia'; use survey, alarm, child"):
        networks.from_resources("asia", tmp_path)


def test_what_cannot_be_is_refused(coins: BayesianNetwork) -> None:
    with pytest.raises(DeniableError, match="unknown file 'asia'"):
        networks.drawn_file("asia", lambda _: coins)


def test_records_without_a_row_take_the_row_of_fewer_parents(coins: BayesianNetwork) -> None:
    short = ConditionalTable("b", ("a",), {(): (1.0, 0.0), (0,): (0.0, 1.0)})
    holes = BayesianNetwork(coins.domain, (coins.tables[0], short))
    drawn = networks.draw(holes, 50, np.random.default_rng(1))
    assert drawn.column("b").tolist() == (1 - drawn.column("a")).tolist()
