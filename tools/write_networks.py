"""Write the networks of [rrba] from the installed pgmpy to resources/networks.

Run it again if a version of pgmpy has other tables. The files that are drawn from the networks then
change, and `deniable.datasets.networks.FILES` needs their new digests.
"""

import itertools
import sys
import warnings
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from deniable.arrays import Floats
from deniable.datasets import NETWORKS, BayesianNetwork, ConditionalTable, write
from deniable.records import Attribute, Domain

FOLDER = Path(__file__).resolve().parent.parent / "resources" / "networks"


def from_pgmpy(name: str) -> BayesianNetwork:
    """Return a network, one of `NETWORKS`, from the installed pgmpy, without an internet access."""
    model = example_model(name)
    tables = {table.variable: table for table in model.get_cpds()}
    domain = Domain(
        tuple(
            Attribute(variable, tuple(map(str, tables[variable].state_names[variable])))
            for variable in sorted(tables)
        )
    )
    parents = {variable: tuple(table.variables[1:]) for variable, table in tables.items()}
    return BayesianNetwork(
        domain,
        tuple(
            _conditional_table(
                variable,
                parents[variable],
                _in_domain_order(tables[variable], domain),
            )
            for variable in _ancestral_order(parents)
        ),
        {"network": name, "taken_from": f"pgmpy {version('pgmpy')}"},
    )


def example_model(name: str) -> Any:
    """Return the network as an object of pgmpy."""
    from pgmpy.utils import get_example_model  # noqa: PLC0415 - slow to import

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return get_example_model(name)


def _in_domain_order(table: Any, domain: Domain) -> Floats:
    """Return the probabilities: axes are variable, then parents; categories are in domain order."""
    values = np.asarray(table.values, dtype=float)
    for axis, variable in enumerate(table.variables):
        states = list(map(str, table.state_names[variable]))
        values = values.take([states.index(c) for c in domain[variable].categories], axis=axis)
    return np.asarray(values)


def _conditional_table(
    attribute: str, parents: tuple[str, ...], values: Floats
) -> ConditionalTable:
    rows = {
        configuration: tuple(np.moveaxis(values, 0, -1)[configuration].tolist())
        for configuration in itertools.product(*map(range, values.shape[1:]))
    }
    if parents:
        # The format requires a default row, which is unused: all configurations have their own.
        rows[()] = (1.0, *[0.0] * (values.shape[0] - 1))
    return ConditionalTable(attribute, parents, rows)


def _ancestral_order(parents: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Return the variables in an order with parents before children, otherwise by name."""
    order: list[str] = []
    left = sorted(parents)
    while left:
        ready = next(name for name in left if set(parents[name]) <= set(order))
        order.append(ready)
        left.remove(ready)
    return order


def main() -> int:
    """Write one file per network."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in NETWORKS:
        write(FOLDER / f"{name}.json", from_pgmpy(name))
        print(f"wrote {FOLDER / name}.json")
    return 0


if __name__ == "__main__":
    sys.exit(main())
