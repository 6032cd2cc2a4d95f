"""The numbers of classes and of rounds, which held-out responses choose."""

from itertools import combinations

import numpy as np
import pytest
from tests.joint.simulated import answers_of, dependent, distance, domain_of, keeping

from deniable.joint import correction, estimate_joint
from deniable.joint.classes import LatentClasses
from deniable.joint.correction import _counted, _rounds, corrected
from deniable.joint.distribution import JointDistribution
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


def held_out_scores(stacked: Stacked, evidence: Evidence, rounds: int) -> np.ndarray:
    """Return the quadratic score of the held-out pairs after 0, 1, ... rounds."""
    found = np.zeros(rounds + 1)
    for part, model in enumerate(stacked.without):
        held_out = _counted(evidence, stacked.fold == part)
        run = _rounds(model.table(), _counted(evidence, stacked.fold != part), {})
        for number in range(rounds + 1):
            own = next(run)
            found[number] += sum(each.score(own[pair]) for pair, each in held_out.items())
    return found


@pytest.mark.parametrize("most", [1, 2, 32])
def test_more_rounds_are_chosen_only_if_held_out_pairs_gain(most: int, evidence: Evidence) -> None:
    stacked = stack_classes(evidence, np.random.default_rng(1), most=most)
    found = corrected(stacked, evidence)
    scores = held_out_scores(stacked, evidence, found.rounds + 1)
    assert (np.diff(scores[: found.rounds + 1]) > 0).all()
    assert found.rounds == correction.MAX_ROUNDS or scores[-1] <= scores[-2]
    pairs = {*combinations(range(len(SHAPE)), 2)} if found.rounds else set()
    assert {*found.factors} == pairs
    for own in found.factors.values():
        assert (np.isfinite(own) & (own >= 0)).all()
        assert own.max() > 0
    assert found.rounds > 0 or most > 1


def test_pairs_move_towards_their_own_likelihood(evidence: Evidence) -> None:
    pairs = _counted(evidence)
    table = LatentClasses.independent(evidence.margins).table()
    heights = []
    for found, _ in zip(_rounds(table, pairs, {}), range(6), strict=False):
        reported = ((own, own.channel.reported(found[at].ravel())) for at, own in pairs.items())
        heights.append(sum(own.counts @ np.log(values) for own, values in reported))
    assert heights[1] > heights[0] + 10
    assert (np.diff(heights) > 0).all()


def test_factors_are_the_changes_of_the_table(evidence: Evidence) -> None:
    model = LatentClasses.independent(evidence.margins)
    table, factors = model.table(), dict[tuple[int, ...], np.ndarray]()
    run = _rounds(table, _counted(evidence), factors)
    next(run), next(run)
    joint = JointDistribution(DATA.domain, evidence.units, model, factors)
    expected = (table / table.sum(dtype=float)).reshape(-1)
    np.testing.assert_allclose(joint.table(DATA.domain.names), expected, atol=1e-6)


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
    monkeypatch.setattr(correction, "MAX_TABLE", 1)
    found = estimate_joint(ANSWERS, DATA.domain, most=1)
    assert found.rounds == 0
    assert found.distribution.factors == {}
    assert found.misfit > 3


def test_without_pairs_there_is_neither_correction_nor_misfit() -> None:
    one = estimate_joint(ANSWERS[:1], DATA.domain.project(["a"]))
    assert (one.rounds, one.stacked.classes) == (0, (1,))
    assert np.isnan(one.misfit)
    partly = answers_of(DATA, keeping(SHAPE, 0.6))
    partly[0].codes[0] = -1
    assert np.isnan(estimate_joint(partly, DATA.domain, most=2).misfit)
