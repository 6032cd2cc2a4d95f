"""The inverse of least variance, by which `Released` estimates."""

import numpy as np

from deniable.plans import make_plan
from deniable.schema import schema_from_dict

SIZES = {"workclass": 7, "status": 5, "relationship": 6, "sex": 2, "income": 2}


def test_the_inverse_of_least_variance_has_the_smaller_expected_error() -> None:
    """Exactly, for the records of a file: the reason why `Released` estimates by it."""
    columns = [
        {"name": name, "kind": "categorical", "categories": [f"{name} {u}" for u in range(size)]}
        for name, size in SIZES.items()
    ]
    about = {"format": "deniable-schema", "version": 1, "population": "people"}
    schema = schema_from_dict(about | {"file": {"kind": "arrow"}, "columns": columns})
    protocol = make_plan(schema, 2.0, clusters=[("relationship", "sex")]).protocol
    generator = np.random.default_rng(1)
    larger = 0
    for channel in protocol.channels:
        truth = generator.dirichlet(np.ones(channel.size))
        own, least = (
            np.trace(channel.covariance(truth, 3000, "file", inverse))
            for inverse in ("own", "least")
        )
        assert least < own or channel.square
        larger += not channel.square
    assert larger
