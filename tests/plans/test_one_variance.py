"""One variance of a table through several channels: all computations of it agree."""

from functools import reduce

import numpy as np
import pytest

from deniable.channels import Channel, KeepOrReplace, ProductChannel, SubsetSelection
from deniable.plans.blocks import Block, ExpectedTable
from deniable.records import Attribute, Domain

DOMAIN = Domain(
    tuple(
        Attribute(f"a{number}", tuple(f"c{each}" for each in range(size)))
        for number, size in enumerate((2, 3, 4, 2))
    )
)
CHANNELS: dict[tuple[str, ...], Channel] = {
    ("a0",): KeepOrReplace.of_epsilon(2, 0.7),
    ("a2", "a1"): SubsetSelection.of_epsilon(12, 1.1),
    ("a3",): KeepOrReplace(0.4, np.array([0.1, 0.5])),
}
TABLES = [("a0",), ("a1",), ("a2",), ("a2", "a1"), ("a0", "a3"), ("a0", "a1"), ("a3", "a2", "a0")]
AGREE = 5e-10


def blocks() -> list[Block]:
    parts = [DOMAIN.project(names) for names in CHANNELS]
    return [Block(part, {}, np.full(part.size, 1 / part.size)) for part in parts]


def added_variance(names: tuple[str, ...]) -> float:
    """Return n times the mean variance that randomization adds at uniform proportions."""
    own, channels = blocks(), list(CHANNELS.values())
    table = ExpectedTable.of(own, names)
    return table.excess(
        {part: own[part[0]].second_moments(channels[part[0]], part[1]) for part in table.parts}
    )


@pytest.mark.parametrize("names", TABLES)
def test_the_expected_variance_is_that_of_the_product_of_channels(names: tuple[str, ...]) -> None:
    used = {part: channel for part, channel in CHANNELS.items() if {*part} & {*names}}
    joint = ProductChannel(tuple(used.values()))
    uniform = np.full(joint.size, 1 / joint.size)
    sums = reduce(
        np.kron,
        [
            np.eye(DOMAIN[name].size) if name in names else np.ones((1, DOMAIN[name].size))
            for part in used
            for name in part
        ],
    )
    covariance = sums @ joint.covariance(uniform, 1, "file") @ sums.T
    assert added_variance(names) == pytest.approx(np.diagonal(covariance).mean(), rel=AGREE)
