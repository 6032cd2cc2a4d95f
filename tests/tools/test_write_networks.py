"""The networks of resources are those of the installed pgmpy."""

import numpy as np
import pytest
from tests.datasets.dense import dense_table
from tests.slow_variants import all_but_first

import write_networks
from deniable.datasets import networks
from deniable.datasets.networks import BayesianNetwork


@pytest.fixture(scope="module")
def pgmpys() -> dict[str, BayesianNetwork]:
    """The networks, taken from pgmpy once."""
    pytest.importorskip(
        "pgmpy", reason="NOT COMPARED with pgmpy: resources/networks are taken on trust here"
    )
    return {name: write_networks.from_pgmpy(name) for name in networks.NETWORKS}


@pytest.mark.parametrize("name", all_but_first(networks.NETWORKS))
def test_the_files_of_resources_are_pgmpys(name: str, pgmpys: dict[str, BayesianNetwork]) -> None:
    taken = networks.from_resources(name, write_networks.FOLDER)
    # Another pgmpy may say another version of itself, but not other tables.
    assert taken.domain == pgmpys[name].domain
    assert taken.tables == pgmpys[name].tables
    assert taken.provenance["taken_from"].startswith("pgmpy ")


@pytest.mark.parametrize("name", all_but_first(networks.NETWORKS))
def test_tables_are_pgmpys(name: str, pgmpys: dict[str, BayesianNetwork]) -> None:
    network = pgmpys[name]
    model = write_networks.example_model(name)
    for table in network.tables:
        theirs = model.get_cpds(table.attribute)
        values = np.moveaxis(theirs.values, 0, -1)
        assert theirs.variables[1:] == list(table.parents)
        for variable in theirs.variables:
            assert tuple(theirs.state_names[variable]) == network.domain[variable].categories
        np.testing.assert_array_equal(dense_table(network, table), values)
