"""Draws with exactly the probabilities that are stated."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from deniable.sampling.sources import WORD, Categories, SystemSource, events, whole_weights

ALARM = 1e-6  # SystemSource has no seed: so often may a test of it fail for nothing


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


@pytest.mark.parametrize("source", [np.random.default_rng(3), SystemSource()], ids=["seed", "os"])
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


@pytest.mark.parametrize("source", [np.random.default_rng(4), SystemSource()], ids=["seed", "os"])
def test_categories_have_their_probabilities(source):
    weights = np.array([0.05, 0.0, 0.45, 0.2, 0.3])
    observed = np.bincount(Categories.of(weights.tolist()).draw(source, 500_000), minlength=5)
    assert observed[1] == 0
    kept = weights > 0
    assert stats.chisquare(observed[kept], 500_000 * weights[kept]).pvalue > ALARM


def test_nothing_is_drawn_of_nothing():
    assert events(np.random.default_rng(1), 0.5, 0).shape == (0,)
    assert Categories.of([1, 1]).draw(np.random.default_rng(1), 0).shape == (0,)
