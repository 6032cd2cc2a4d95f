"""The numbers of classes and of rounds, which held-out responses choose."""

from itertools import combinations

import numpy as np
import pytest
from tests.joint.simulated import answers_of, dependent, distance, domain_of, keeping, product_of

from deniable.joint import correction, estimate_joint
from deniable.joint.classes import LatentClasses
from deniable.joint.correction import _counted, _improved, _round, _score, corrected
from deniable.joint.evidence import Evidence
from deniable.joint.stacking import Stacked, _stacking_shares, stack_classes
from deniable.records import Microdata

SHAPE = (3, 4, 3, 2)
DATA = dependent(4000, SHAPE)
ANSWERS = answers_of(DATA, keeping(SHAPE, 0.6))


@pytest.fixture(scope="module")
def evidence() -> Evidence:
    return Evidence.of(ANSWERS)


@pytest.fixture(scope="module")
def stacked(evidence: Evidence) -> Stacked:
    return stack_classes(evidence, np.random.default_rng(1))


def test_shares_sum_to_one_and_gains_are_over_independence(stacked: Stacked) -> None:
    assert stacked.classes[:3] == (1, 2, 4)
    assert stacked.shares.sum() == pytest.approx(1)
    assert stacked.shares.min() >= 0
    assert (stacked.gains[0], stacked.errors[0]) == (0, 0)
    assert stacked.gains.max() > 5 * stacked.errors[1]
    assert stacked.shares[0] < 0.05
    assert np.bincount(stacked.fold).tolist() == [1000] * 4
    assert len(stacked.without) == 4
    assert stacked.model.weights.sum() == pytest.approx(1)


def test_shares_maximize_the_likelihood_of_the_mixture() -> None:
    generator = np.random.default_rng(1)
    logs, weights = generator.normal(-400, 1, (300, 3)), generator.uniform(0.5, 2, 300)
    logs[:, 0] += 0.5
    shares = _stacking_shares(logs, weights)

    def height(own: np.ndarray) -> float:
        return float(weights @ np.log(np.exp(logs - logs.max()) @ own))

    for _ in range(50):
        other = 0.9 * shares + 0.1 * generator.dirichlet(np.ones(3))
        assert height(other) <= height(shares) + 1e-3
    assert shares[0] == shares.max()


def test_the_same_seed_gives_the_same_bytes() -> None:
    first, again, other = (estimate_joint(ANSWERS, DATA.domain, seed=seed) for seed in (5, 5, 6))
    names = DATA.domain.names
    tables = [each.distribution.table(names).tobytes() for each in (first, again, other)]
    assert tables[0] == tables[1] != tables[2]
    assert first.misfit == again.misfit
    assert first.distribution.to_json() == again.distribution.to_json()


def test_independent_columns_at_strong_noise_stay_independent() -> None:
    generator = np.random.default_rng(3)
    shares = [generator.dirichlet(np.full(size, 4.0)) for size in SHAPE]
    columns = tuple(generator.choice(len(own), 3000, p=own) for own in shares)
    data = Microdata(domain_of(SHAPE), columns)
    found = estimate_joint(answers_of(data, keeping(SHAPE, 0.1)), data.domain)
    assert (found.stacked.gains < 3 * found.stacked.errors + 1).all()
    for pair in combinations(data.domain.names, 2):
        margins = [found.distribution.table([name]) for name in pair]
        assert distance(found.distribution.table(pair), np.outer(*margins)) < 0.01


def test_one_class_at_most_is_independence_before_the_correction(evidence: Evidence) -> None:
    found = stack_classes(evidence, np.random.default_rng(1), most=1)
    assert found.classes == (1,)
    assert found.shares.tolist() == [1]


# -- the correction --------------------------------------------------------------------------------


def held_out_scores(stacked: Stacked, evidence: Evidence, rounds: int) -> list[float]:
    """Return the quadratic score of the held-out pairs after 0, 10, 20, ... rounds."""
    parts = range(len(stacked.without))
    held_out = [_counted(evidence, stacked.fold == part) for part in parts]
    training = [_counted(evidence, stacked.fold != part) for part in parts]
    models, found = [*stacked.without], []
    for _ in range(0, rounds + 1, correction.ROUNDS):
        found.append(_score(models, held_out))
        models = [_improved(*own, correction.ROUNDS) for own in zip(models, training, strict=True)]
    return found


@pytest.mark.parametrize("most", [1, 2, 32])
def test_the_rounds_have_the_best_held_out_score(most: int, evidence: Evidence) -> None:
    stacked = stack_classes(evidence, np.random.default_rng(1), most=most)
    model, rounds, _ = corrected(stacked, evidence)
    scores = held_out_scores(stacked, evidence, correction.MAX_ROUNDS)
    chosen = rounds // correction.ROUNDS
    assert scores[chosen] == max(scores[: chosen + 1])
    assert scores[chosen] >= scores[0] + 0.9 * (max(scores) - scores[0])
    assert rounds > 0 or most == 1  # one class is independence
    for own in (model.weights, *model.conditionals):
        assert (np.isfinite(own) & (own >= 0)).all()


@pytest.mark.parametrize("clusters", [None, [[0, 1], [2], [3]]])
def test_pairs_move_towards_their_own_likelihood(clusters: list[list[int]] | None) -> None:
    shape = SHAPE if clusters is None else (SHAPE[0] * SHAPE[1], *SHAPE[2:])
    evidence = Evidence.of(answers_of(DATA, keeping(shape, 0.6), 1, clusters))
    pairs, heights = _counted(evidence), []
    model = LatentClasses.near(evidence.margins, 6, np.random.default_rng(1))
    for _ in range(8):
        joints = [model.distribution((*own.left, *own.right)) for own in pairs]
        reported = [own.channel.reported(at) for own, at in zip(pairs, joints, strict=True)]
        heights.append(sum(own.counts @ np.log(r) for own, r in zip(pairs, reported, strict=True)))
        model = _round(model, pairs)
    assert heights[1] > heights[0] + 10
    assert (np.diff(heights) > 0).all()


def test_a_round_is_the_mean_of_all_expected_tables() -> None:
    """Against expected tables of all units and classes, computed cell by cell."""
    evidence = Evidence.of(answers_of(DATA, keeping(SHAPE, 0.6)))
    model = LatentClasses.near(evidence.margins, 3, np.random.default_rng(2))
    pairs, numbers = _counted(evidence), np.zeros(3)
    expected = [np.zeros_like(own) for own in model.conditionals]
    for own in pairs:
        i, j = *own.left, *own.right
        one, other = model.conditionals[i], model.conditionals[j]
        joint = np.einsum("k,ka,kb->kab", model.weights, one, other)
        matrix = own.channel.matrix()
        within = matrix * joint.sum(axis=0).reshape(-1, 1)
        posterior = (within / within.sum(axis=0)) @ (own.counts / own.counts.sum())
        share = joint / joint.sum(axis=0) * posterior.reshape(joint.shape[1:])
        numbers += share.sum(axis=(1, 2))
        expected[i] += share.sum(axis=2)
        expected[j] += share.sum(axis=1)
    found = _round(model, pairs)
    np.testing.assert_allclose(found.weights, numbers / numbers.sum(), atol=1e-12)
    for one, other in zip(found.conditionals, expected, strict=True):
        np.testing.assert_allclose(one, other / other.sum(axis=1, keepdims=True), atol=1e-12)


def test_of_large_clusters_each_two_columns_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = answers_of(DATA, keeping((12, 6), 0.6), 1, [[0, 1], [2, 3]])
    evidence = Evidence.of(answers)
    (whole,) = (own for own in _counted(evidence) if len(own.left) == 2)
    monkeypatch.setattr(correction, "MAX_WHOLE", 71)
    found = {(own.left, own.right): own for own in _counted(evidence)}
    across = {((i,), (j,)) for i in (0, 1) for j in (2, 3)}
    assert {*found} == {((0,), (1,)), ((2,), (3,)), *across}
    table, matrix = whole.counts.reshape(SHAPE), whole.channel.matrix().reshape(*SHAPE, *SHAPE)
    for (i,), (j,) in across:
        own, others = found[(i,), (j,)], tuple({*range(4)} - {i, j})
        np.testing.assert_array_equal(own.counts, table.sum(axis=others).reshape(-1))
        sums = matrix.sum(axis=tuple(4 + other for other in others))
        rows = sums[tuple(slice(None) if k in (i, j) else 0 for k in range(4))]
        np.testing.assert_allclose(own.channel.matrix(), rows.reshape(own.counts.size, -1))
    estimate = estimate_joint(answers, DATA.domain)
    for pair in (("a", "c"), ("b", "d")):
        true, own = DATA.counts(pair) / len(DATA), estimate.distribution.table(pair)
        alone = product_of([true.sum(axis=1), true.sum(axis=0)])
        assert distance(own, true) < 0.3 * distance(alone, true)


def test_the_misfit_is_near_one_for_records_of_the_model() -> None:
    """Pearson's statistics of held-out pairs have few expected values, so a wide distribution."""
    model = estimate_joint(ANSWERS, DATA.domain, most=4).distribution
    misfits = []
    for seed in range(7, 13):
        drawn = model.sample(4000, np.random.default_rng(seed), whole=False)
        found = estimate_joint(answers_of(drawn, keeping(SHAPE, 0.6), seed + 1), DATA.domain)
        misfits.append(found.misfit)
    assert 0.7 < np.mean(misfits) < 1.4


def test_the_misfit_is_large_if_neither_classes_nor_pairs_follow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(correction, "MAX_ROUNDS", 0)
    found = estimate_joint(ANSWERS, DATA.domain, most=1)
    assert found.rounds == 0
    assert found.misfit > 3


def test_without_pairs_there_is_neither_correction_nor_misfit() -> None:
    one = estimate_joint(ANSWERS[:1], DATA.domain.project(["a"]))
    assert (one.rounds, one.stacked.classes) == (0, (1,))
    assert np.isnan(one.misfit)
    partly = answers_of(DATA, keeping(SHAPE, 0.6))
    partly[0].codes[0] = -1
    assert np.isnan(estimate_joint(partly, DATA.domain, most=2).misfit)
