"""One variance of a table through several channels: all computations of it agree."""

from functools import reduce

import numpy as np
import pytest

from deniable.channels import Channel, KeepOrReplace, ProductChannel, SubsetSelection
from deniable.estimation import Reduced, unbiased_pair_part
from deniable.plans.blocks import AskedTable, Block
from deniable.randomized_response.budgets import (
    Group,
    Question,
    QuestionPlan,
    estimate_table,
    mean_variance,
    planned_variances,
)
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


def plan() -> QuestionPlan:
    questions = tuple(
        Question(names, channel, DOMAIN.project(names).shape) for names, channel in CHANNELS.items()
    )
    return QuestionPlan(DOMAIN, (Group(1, questions),))


def blocks() -> list[Block]:
    parts = [DOMAIN.project(names) for names in CHANNELS]
    return [Block(part, {}, np.full(part.size, 1 / part.size)) for part in parts]


def added_variance(names: tuple[str, ...]) -> float:
    """Return n times the mean variance that randomization adds at uniform proportions."""
    own, channels = blocks(), list(CHANNELS.values())
    table = AskedTable.of(own, names)
    return table.excess(
        {part: own[part[0]].second_moments(channels[part[0]], part[1]) for part in table.parts}
    )


@pytest.mark.parametrize("names", TABLES)
def test_the_expected_variance_is_that_of_a_plan_of_questions(names: tuple[str, ...]) -> None:
    size = DOMAIN.project(names).size
    sampling = (1 - 1 / size) / size
    planned = planned_variances(plan(), names, 50).mean() * 50
    assert added_variance(names) + sampling == pytest.approx(planned, rel=AGREE)


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


@pytest.mark.parametrize("channel", CHANNELS.values(), ids=str)
def test_the_error_of_a_block_is_the_mean_variance_of_its_channel(channel: Channel) -> None:
    attribute = Attribute("a", tuple(map(str, range(channel.size))))
    block = Block(Domain((attribute,)), {}, np.full(channel.size, 1 / channel.size))
    sampling = (1 - 1 / channel.size) / channel.size
    assert block.error(channel) + sampling == pytest.approx(mean_variance(channel), rel=AGREE)


@pytest.mark.parametrize("target", ["file", "population"])
def test_the_estimated_variance_is_that_of_the_product_of_channels(target: str) -> None:
    pair = CHANNELS["a0",], CHANNELS["a3",]
    records = np.random.default_rng(5).integers(DOMAIN.shape, size=(900, 4))
    reports = plan().randomize(records, np.random.default_rng(6))
    first, _, last = reports.answers[0]
    counts = np.bincount(first * 2 + last, minlength=4)
    errors = ProductChannel(pair).standard_errors(counts, target)
    found = estimate_table(plan(), reports, ("a0", "a3"), target)
    assert found.standard_errors.ravel() == pytest.approx(errors, rel=AGREE)
    reduced = [Reduced.of(each, invariant=False) for each in pair]
    part = unbiased_pair_part((reduced[0], reduced[1]), counts.reshape(2, 2), (np.eye(2),) * 2)
    assert part.standard_errors(target) == pytest.approx(errors, rel=AGREE)
