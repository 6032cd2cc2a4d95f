"""The whole estimate: known limits, errors below those of other methods, errors of input."""

from itertools import combinations

import numpy as np
import pytest
from tests.joint.simulated import answers_of, dependent, distance, domain_of, keeping

from deniable.channels import (
    DenseChannel,
    HadamardResponse,
    KeepOrReplace,
    ProductChannel,
    RestrictedChannel,
)
from deniable.errors import DeniableError
from deniable.estimation import consistent
from deniable.joint import correction, estimate_joint
from deniable.records import Microdata

SHAPE = (2, 3, 2)


def test_without_noise_the_table_is_nearly_the_original_one() -> None:
    data = dependent(3000, SHAPE)
    found = estimate_joint(answers_of(data, keeping(SHAPE, 1.0)), data.domain)
    table = found.distribution.table(data.domain.names)
    assert distance(table, data.counts(data.domain.names) / 3000) < 0.02
    for name in data.domain.names:
        assert distance(found.distribution.table([name]), data.counts([name]) / 3000) < 0.005


def test_the_order_of_the_domain_is_kept() -> None:
    data = dependent(800, SHAPE)
    answers = answers_of(data, keeping(SHAPE, 0.7))
    turned = data.domain.project(["c", "a", "b"])
    found = estimate_joint(answers, turned, most=2).distribution
    assert found.domain == turned
    assert found.sample(5, np.random.default_rng(1)).domain == turned
    one, other = found.table(["c", "a"]).reshape(2, 2), found.table(["a", "c"]).reshape(2, 2)
    np.testing.assert_array_equal(one, other.T)


@pytest.mark.parametrize("most", [1, 8])
@pytest.mark.parametrize("corrections", [True, False])
def test_impossible_cells_of_a_cluster_have_the_probability_zero(
    most: int, corrections: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not corrections:
        monkeypatch.setattr(correction, "MAX_ROUNDS", 0)
    generator = np.random.default_rng(1)
    possible = np.array([True, True, False, True, False, True])
    cells = generator.choice(np.flatnonzero(possible), 2000, p=[0.4, 0.3, 0.2, 0.1])
    domain = domain_of((2, 3, 2))
    other = np.where(generator.random(2000) < 0.8, cells > 2, generator.integers(0, 2, 2000))
    data = Microdata(domain, (*domain.project(["a", "b"]).unravel(cells), other.astype(int)))
    cluster = RestrictedChannel(KeepOrReplace.uniform(4, 0.7), possible)
    answers = answers_of(data, [cluster, *keeping([2], 0.8)], 2, [[0, 1], [2]])
    joint = estimate_joint(answers, domain, most=most).distribution
    whole = joint.table(domain.names).reshape(6, 2)
    assert (whole[~possible] == 0).all()
    assert whole[possible].min() > 0
    assert joint.probability({"a": np.array([0, 1]), "b": np.array([0, 1, 0])}) == 0
    made = joint.sample(4000, generator, whole=False)
    assert made.counts(["a", "b"]).reshape(-1)[~possible].sum() == 0
    truth = data.counts(domain.names) / 2000
    assert distance(joint.table(domain.names), truth) < (0.07 if most > 1 else 0.35)


def test_other_randomized_values_than_categories() -> None:
    shape = (8, 3)
    data = dependent(5000, shape)
    own = HadamardResponse.of_epsilon(8, 4.0)
    found = estimate_joint(answers_of(data, [own, *keeping([3], 0.7)]), data.domain)
    truth = data.counts(data.domain.names) / 5000
    assert distance(found.distribution.table(["a", "b"]), truth) < 0.08
    assert distance(np.outer(truth.sum(axis=1), truth.sum(axis=0)), truth) > 0.2


def test_the_error_is_below_those_of_independence_and_of_single_pairs() -> None:
    """Means over five randomizations of 4,000 records: at most .7 and .9 of the other errors."""
    shape = (3, 4, 3, 2, 5, 3)
    data = dependent(4000, shape, 11)
    channels = keeping(shape, 0.4)
    pairs = [*combinations(range(6), 2)]
    names = data.domain.names
    truth = {each: data.counts([names[at] for at in each]) / 4000 for each in pairs}
    errors = np.zeros((5, 3))
    for seed in range(5):
        answers = answers_of(data, channels, 100 + seed)
        joint = estimate_joint(answers, data.domain, seed=seed).distribution
        margins = [
            consistent(np.bincount(own.codes, minlength=own.channel.size), own.channel).proportions
            for own in answers
        ]
        for each in pairs:
            i, j = each
            channel = ProductChannel((channels[i], channels[j]))
            codes = answers[i].codes * shape[j] + answers[j].codes
            alone = consistent(np.bincount(codes, minlength=channel.size), channel).proportions
            found = joint.table([names[i], names[j]]), np.outer(margins[i], margins[j]), alone
            errors[seed] += [distance(own, truth[each]) for own in found]
    joint_error, independence, single = errors.mean(axis=0) / len(pairs)
    assert joint_error < 0.7 * independence
    assert joint_error < 0.9 * single


@pytest.mark.parametrize("records", [0, 1])
def test_too_few_records_are_refused(records: int) -> None:
    data = dependent(records, SHAPE)
    with pytest.raises(DeniableError, match=r"needs randomized records; give at least 2"):
        estimate_joint(answers_of(data, keeping(SHAPE, 0.5)), data.domain)
    with pytest.raises(DeniableError, match="give at least 2"):
        estimate_joint([], data.domain)


@pytest.mark.parametrize("records", [2, 3, 5, 9])
@pytest.mark.filterwarnings("error")
def test_a_few_records_have_a_distribution(records: int) -> None:
    data = dependent(records, SHAPE)
    joint = estimate_joint(answers_of(data, keeping(SHAPE, 0.5)), data.domain).distribution
    table = joint.table(data.domain.names)
    assert np.isfinite(table).all()
    assert table.sum() == pytest.approx(1)


def test_a_column_of_one_category_changes_nothing() -> None:
    data = dependent(600, (2, 1, 3))
    first, third = keeping((2, 3), 0.6)
    answers = answers_of(data, [first, DenseChannel(np.ones((1, 1))), third])
    joint = estimate_joint(answers, data.domain, most=4).distribution
    np.testing.assert_allclose(joint.table(["a", "b", "c"]), joint.table(["a", "c"]), atol=1e-9)
