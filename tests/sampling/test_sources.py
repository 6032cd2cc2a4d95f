"""Streams of jobs, the operating system's generator, exact draws, and Laplace noise."""

import os
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from deniable.errors import DeniableError
from deniable.sampling import (
    Categories,
    KeyedDraws,
    KeyedNoise,
    Noise,
    SeededNoise,
    SystemRandomSource,
    events,
    generator_for,
    sources,
    whole_weights,
)
from deniable.sampling.outcomes import WORD

ALARM = 1e-6  # the system has no seed: so often may a test of it fail for nothing


@pytest.mark.parametrize(
    ("low", "high"), [(0, 1), (0, 2), (0, 16), (-3, 4), (5, 105), (0, 3), (10**9, 10**9 + 7)]
)
def test_system_source_integers_are_uniform(low, high):
    drawn = SystemRandomSource().integers(low, high, 70_000)
    assert drawn.dtype == np.int64
    counts = np.bincount(drawn - low, minlength=high - low)
    assert counts.size == high - low
    assert high - low == 1 or stats.chisquare(counts).pvalue > ALARM


def test_system_source_over_wide_ranges():
    source = SystemRandomSource()
    for low, high in [(-(2**63), 2**63), (-(2**62), 2**62 + 1), (0, 2**63), (-1, 2**63)]:
        drawn = source.integers(low, high, 20_000)
        assert drawn.min() >= low
        assert int(drawn.max()) < high
        shares = (drawn.astype(float) - low) / (high - low)
        assert stats.kstest(shares, "uniform").pvalue > ALARM


@pytest.mark.parametrize("span", [3, 10, 2**63 - 1, 2**62 + 1])
def test_integers_reject_what_would_bias_them(monkeypatch, span):
    # The largest words belong to no full span: they are drawn again, and only they.
    full = 2**64 // span * span
    words = [[full - 1, full, 2**64 - 1, 0], [full, 1], [span]]
    served = iter(words)
    monkeypatch.setattr(
        sources.os,
        "urandom",
        lambda size: np.array(next(served), np.uint64).tobytes()[:size],
    )
    drawn = SystemRandomSource().integers(0, span, 4)
    assert drawn.tolist() == [span - 1, 0, 1, 0]


def test_system_source_of_nothing():
    assert SystemRandomSource().integers(0, 5, 0).shape == (0,)


def test_system_source_draws_every_byte_from_the_operating_system(monkeypatch):
    drawn = []
    urandom = os.urandom
    monkeypatch.setattr(sources.os, "urandom", lambda size: drawn.append(size) or urandom(size))
    first, second = (SystemRandomSource().integers(0, 2**63, 100) for _ in range(2))
    assert sum(drawn) == 1600
    assert not np.array_equal(first, second)


def test_generators_depend_on_seed_and_key_alone():
    def numbers(seed, key):
        return tuple(generator_for(seed, key).integers(0, 2**63, 4))

    key = {"study": "s", "p": 0.1, "block": 3}
    assert numbers(1, key) == numbers(1, dict(reversed(key.items())))
    keys = [
        {**key, "block": 4},
        {**key, "p": 0.1000000001},
        {**key, "block": 3.5},
        {**key, "block": "3"},
        {**key, "study": "S"},
        {},
        {"study": ["s"]},
    ]
    streams = {numbers(seed, k) for seed in (0, 1, 2**32 + 1, 2**64) for k in [key, *keys]}
    assert len(streams) == 4 * 8


def test_the_stream_of_a_key_stays_what_it_is():
    # Tables are the same bytes from one version to the next only as long as this holds.
    stream = generator_for(20241, {"study": "multirr_table1", "replicates": [0, 100]})
    assert stream.integers(0, 1000, 5).tolist() == [695, 860, 176, 631, 436]


def test_streams_of_many_keys_are_independent():
    # First numbers of 20,000 streams: uniform, and uncorrelated with the neighbour's (1e-6 each).
    first = np.array([generator_for(5, {"cell": i}).random() for i in range(20_000)])
    assert stats.kstest(first, "uniform").pvalue > ALARM
    assert abs(np.corrcoef(first[:-1], first[1:])[0, 1]) < 4.9 / np.sqrt(20_000)


@pytest.mark.parametrize("key", [{"a": np.nan}, {"a": np.float64("inf")}, {"a": {1, 2}}])
def test_keys_that_are_no_json(key):
    with pytest.raises((TypeError, ValueError)):
        generator_for(1, key)


# -- draws with exactly the probabilities that are stated ------------------------------------------


class Scripted:
    """A source that serves the first 16 bits, then whole words one after another."""

    def __init__(self, words: list[int], first_bits: list[int] | None = None) -> None:
        self.words, self.first_bits = list(words), first_bits or []

    def random(self, size: int) -> np.ndarray:
        raise AssertionError("floats have no place in an exact draw")

    def integers(self, low: int, high: int, size: int) -> np.ndarray:
        if low < 0:
            padded = [*self.first_bits, *([0] * (4 * size - len(self.first_bits)))]
            return np.array(padded, np.uint16).view(np.int64)
        assert (low, high) == (0, WORD)
        served, self.words = self.words[:size], self.words[size:]
        return np.array(served, dtype=np.int64)


def category_of(uniform: Fraction, probabilities: list[Fraction]) -> int:
    reached = Fraction(0)
    for category, probability in enumerate(probabilities):
        reached += probability
        if uniform < reached:
            return category
    raise AssertionError("a uniform number is below 1")


THIRDS = [Fraction(1, 3)] * 3
TINY = [Fraction(1, 10**40), Fraction(0), 1 - Fraction(1, 10**40)]


@pytest.mark.parametrize("probabilities", [THIRDS, TINY, [Fraction(1, 4), Fraction(3, 4)]])
def test_words_beside_every_threshold_fall_where_they_belong(probabilities):
    # All words within 2 of a threshold; where a word leaves it open, two more words decide.
    distribution = Categories.of(probabilities)
    cumulative = np.cumsum(probabilities)
    for threshold in cumulative[:-1]:
        floor = int(threshold * WORD)
        for word in range(max(floor - 2, 0), min(floor + 3, WORD)):
            for second in (0, int(threshold * WORD * WORD) % WORD, WORD - 1):
                third = WORD - 1
                uniform = Fraction(word, WORD) + Fraction(second, WORD**2)
                uniform += Fraction(third, WORD**3)
                drawn = distribution.draw(Scripted([word, second, third]), 1)
                assert drawn.tolist() == [category_of(uniform, probabilities)]


def test_an_entry_far_below_a_word_can_be_drawn_and_a_zero_cannot():
    # Probability 1e-40: all bits zero for two words, and then for as long as it takes.
    assert Categories.of(TINY).draw(Scripted([0, 0, 0]), 1).tolist() == [0]
    assert Categories.of(TINY).draw(Scripted([0, WORD - 1]), 1).tolist() == [2]


@given(
    st.lists(st.floats(0, 1, allow_subnormal=True), min_size=1, max_size=6).filter(any),
    st.integers(0, WORD - 1),
)
def test_no_word_draws_what_has_no_weight(weights, word):
    drawn = Categories.of(weights).draw(Scripted([word] * 60), 1)
    assert weights[int(drawn[0])] > 0


def test_weights_keep_their_proportions():
    assert whole_weights([0.5, 0.25, Fraction(1, 3)]) == [6, 3, 4]
    assert whole_weights([0.1]) == [Fraction(0.1).numerator]


@pytest.mark.parametrize("probability", [0.5, 0.3, Fraction(1, 3), 1 - 2.0**-53, 2.0**-90])
def test_events_are_exact(probability):
    # Event of a 16-bit head h and a word w: (h + w / 2**53) / 2**16 < probability, in fractions.
    exact = Fraction(probability) * 2**16
    whole = int(exact)
    for head in (0, whole - 1, whole, whole + 1, 2**16 - 1):
        if not 0 <= head < 2**16:
            continue
        edge = int((exact - whole) * WORD)
        for word in (0, max(edge - 1, 0), min(edge + 1, WORD - 1), WORD - 1):
            happened = events(Scripted([word, 0, 0], [head]), probability, 1)
            low = head + Fraction(word, WORD)
            assert happened.tolist() == [low < exact]


@pytest.mark.parametrize(
    "source", [np.random.default_rng(3), SystemRandomSource()], ids=["seed", "os"]
)
@pytest.mark.parametrize("probability", [0.0, 1.0, 0.5, 0.123, 3 * 2.0**-18, 1 - 2.0**-18])
def test_events_have_their_probability(source, probability):
    size = 1_000_003
    happened = events(source, probability, size)
    assert happened.shape == (size,)
    assert happened.dtype == bool
    assert stats.binomtest(int(happened.sum()), size, probability).pvalue > ALARM
    # Neighbours share a 64-bit word; they are independent all the same.
    if 0.1 < probability < 0.9:
        for lag in (1, 2, 3, 4):
            together = np.corrcoef(happened[:-lag], happened[lag:])[0, 1]
            assert abs(together) < 4.9 / np.sqrt(size)


@pytest.mark.parametrize(
    "source", [np.random.default_rng(4), SystemRandomSource()], ids=["seed", "os"]
)
def test_categories_have_their_probabilities(source):
    weights = np.array([0.05, 0.0, 0.45, 0.2, 0.3])
    observed = np.bincount(Categories.of(weights.tolist()).draw(source, 500_000), minlength=5)
    assert observed[1] == 0
    kept = weights > 0
    assert stats.chisquare(observed[kept], 500_000 * weights[kept]).pvalue > ALARM


def test_nothing_is_drawn_of_nothing():
    assert events(np.random.default_rng(1), 0.5, 0).shape == (0,)
    assert Categories.of([1, 1]).draw(np.random.default_rng(1), 0).shape == (0,)


# -- both sources of Laplace noise have the distribution that they claim, and so the same one ------

SOURCES = {
    "seeded": lambda: SeededNoise(np.random.default_rng(20260101)),
    "keyed": lambda: KeyedNoise(KeyedDraws(bytes(32), b"plan")),
}


@pytest.fixture(params=SOURCES)
def noise(request: pytest.FixtureRequest) -> Noise:
    return SOURCES[request.param]()


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e5])
def test_draws_are_laplace(noise: Noise, scale: float) -> None:
    values = np.full(400, 7.0)
    draws = noise.add(values, np.full(400, scale), 10).reshape(-1) - 7.0
    assert stats.kstest(draws, stats.laplace(scale=scale).cdf).pvalue > ALARM


def test_both_sources_have_one_distribution() -> None:
    scales = np.array([0.5, 2.0, 2.0, 30.0])
    seeded, keyed = (
        source().add(np.zeros(4), scales, 1500) / scales for source in SOURCES.values()
    )
    assert stats.ks_2samp(seeded.reshape(-1), keyed.reshape(-1)).pvalue > ALARM


def test_draws_are_independent(noise: Noise) -> None:
    draws = noise.add(np.zeros(2), np.array([1.0, 1.0]), 3000)
    assert stats.spearmanr(draws[:, 0], draws[:, 1]).pvalue > ALARM
    assert stats.spearmanr(draws[1:, 0], draws[:-1, 0]).pvalue > ALARM


def test_scales_stay_with_their_values(noise: Noise) -> None:
    values = np.array([[1e6, 0.0, -50.0], [3.0, 4.0, 5.0]])
    scales = np.array([[1e-6, 0.0, 1.0], [0.0, 1e-3, 1e-6]])
    drawn = noise.add(values, scales, 4)
    assert drawn.shape == (4, 2, 3)
    # 60 scales: exceeded with probability exp(-60) each.
    assert np.all(np.abs(drawn - values) <= 60 * scales + 1e-9)
    assert np.all(drawn[:, 0, 1] == 0.0)
    assert np.all(drawn[:, 1, 0] == 3.0)
    assert len(np.unique(drawn[:, 0, 2])) == 4


@pytest.mark.parametrize("scale", [0.4, 3.0])
def test_discrete_draws_have_their_probabilities(noise: Noise, scale: float) -> None:
    draws = noise.add_whole(np.full(6000, 10), scale) - 10
    assert draws.dtype == np.int64
    q = np.exp(-1 / scale)
    inner = np.arange(-3, 4)
    expected = (1 - q) / (1 + q) * q ** np.abs(inner)
    observed = np.array([np.sum(draws == z) for z in inner] + [np.sum(np.abs(draws) > 3)])
    found = stats.chisquare(observed, 6000 * np.append(expected, 1 - expected.sum()))
    assert found.pvalue > ALARM


@pytest.mark.parametrize("scale", [0.0, -1.0, np.inf])
def test_refuses_impossible_discrete_scales(noise: Noise, scale: float) -> None:
    with pytest.raises(DeniableError, match="above 0"):
        noise.add_whole(np.array([1]), scale)


@pytest.mark.parametrize("scales", [[-1.0], [np.nan], [1.0, 2.0]])
def test_refuses_impossible_scales(noise: Noise, scales: list[float]) -> None:
    with pytest.raises(DeniableError, match="scales"):
        noise.add(np.array([1.0]), np.array(scales), 1)
