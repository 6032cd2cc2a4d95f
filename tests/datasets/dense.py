"""The tables of a Bayesian network as arrays."""

import numpy as np

from deniable.datasets import BayesianNetwork, ConditionalTable


def dense_table(network: BayesianNetwork, table: ConditionalTable) -> np.ndarray:
    """Return Pr(category | parents), with axes for the parents in order and the attribute."""
    names = (*table.parents, table.attribute)
    values = np.full([network.domain[name].size for name in names], np.nan)
    for configuration, probabilities in table.rows.items():
        if len(configuration) == len(table.parents):
            values[configuration] = probabilities
    assert not np.isnan(values).any()
    return values
