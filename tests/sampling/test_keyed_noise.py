"""Noise by a key: known answers, exact probabilities, and OpenDP's sampler beside it."""

import hashlib
import hmac
import math
from collections import Counter
from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from scipy import stats
from tests.sampling import reference

from deniable.errors import DeniableError
from deniable.sampling import KeyedDraws, KeyedNoise
from deniable.sampling.noise import EVENTS, Bits, discrete_laplace

KEY, PLAN = bytes(range(32)), hashlib.sha256(b"plan").digest()
DRAWS = KeyedDraws(KEY, PLAN)
RAREST = 1e-4
"""Of the tests of distributions, whose keys are fixed: they pass, or the code has changed."""
ALARM = 1e-6  # OpenDP's noise has no key: so often may a comparison with it fail for nothing


def noise(name: str = "") -> KeyedNoise:
    return KeyedNoise(KeyedDraws(KEY, name.encode()) if name else DRAWS)


def blocks_of(purpose: bytes, *names: bytes) -> Any:
    """The documentation's words once more, by hand."""
    parts = (b"deniable keyed draws 1", PLAN, purpose, *names)
    message = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
    key = hmac.new(KEY, message, hashlib.sha256).digest()
    return Cipher(algorithms.AES(key), modes.ECB()).encryptor()


class Given:
    """Blocks of bits that are given, the highest first; what is left over must not be asked for."""

    def __init__(self, bits: str) -> None:
        self.bits = bits

    def update(self, block: bytes) -> bytes:
        attempt = int.from_bytes(block[8:], "big")
        part = self.bits[128 * attempt :][:128]
        assert part, "more bits were taken than were given"
        return int(part.ljust(128, "0"), 2).to_bytes(16, "big")


def bits_of(text: str) -> Bits:
    return Bits(Given(text), 0)


# -- the layout ------------------------------------------------------------------------------------


def test_bits_are_laid_out_as_is_written_down() -> None:
    """Of a call's n-th value: encrypted blocks of n and 0, 1, ..., the highest bits first."""
    made = KeyedNoise(DRAWS)
    for call in range(2):
        blocks, bits = blocks_of(b"noise", str(call).encode()), made._bits_of_a_call()
        for number in (0, 1, 2**40):
            numbered = [
                blocks.update(number.to_bytes(8, "big") + attempt.to_bytes(8, "big"))
                for attempt in range(9)
            ]
            whole, own = int.from_bytes(b"".join(numbered), "big"), bits(number)
            taken, left = [], 9 * 128
            for size in (1, 0, 7, 64, 56, 128, 3, 300, 500):
                left -= size
                taken.append((whole >> left) & ((1 << size) - 1))
            assert [own.take(size) for size in (1, 0, 7, 64, 56, 128, 3, 300, 500)] == taken


def test_known_answers() -> None:
    """A change of these is a change of the layout: it takes a new version."""
    made = KeyedNoise(DRAWS)
    assert made.add_whole(np.zeros(12, int), 7.5).tolist() == WHOLE
    assert made.add(np.zeros(3), np.array([1.0, 0.5, 40.0]), 1)[0].tolist() == REAL


WHOLE = [-4, 7, -7, -9, -20, -24, 3, 9, 5, 6, 2, -1]
REAL = [-1.1406231351461205, 0.4270775310297129, -3.2039061008315746]


# -- bits ------------------------------------------------------------------------------------------


def words(size: int) -> Iterable[str]:
    return ("".join(each) for each in product("01", repeat=size))


def test_every_number_of_so_many_bits_is_taken_once() -> None:
    for size in (0, 1, 5):
        assert sorted(bits_of(word + "1").take(size) for word in words(size)) == [*range(2**size)]


def test_bits_go_on_where_the_last_ones_ended() -> None:
    text = "".join(str(each) for each in np.random.default_rng(1).integers(0, 2, 3 * 128))
    for sizes in ([3, 125, 128, 128], [1] * 384, [384], [100, 100, 100, 84], [127, 2, 255]):
        bits, taken = bits_of(text), ""
        for size in sizes:
            taken += f"{bits.take(size):0{size}b}"
        assert taken == text


def chances(event: Callable[[Bits], Any], size: int) -> dict[Any, Fraction]:
    """Return the probability of each outcome, over all words of so many bits.

    Words that would need further bits are the rest: None.
    """
    found: Counter[Any] = Counter()
    for word in words(size):
        try:
            found[event(Counted(word))] += 1
        except EOFError:
            found[None] += 1
    return {outcome: Fraction(number, 2**size) for outcome, number in found.items()}


class Counted(Bits):
    """Bits of a word that ends."""

    def __init__(self, text: str) -> None:
        super().__init__(None, 0)
        self._bits, self._left = int(text or "0", 2), len(text)

    def take(self, number: int) -> int:
        if number > self._left:
            raise EOFError
        return super().take(number)


@pytest.mark.parametrize("bound", [1, 2, 3, 5, 8, 9])
def test_numbers_below_a_bound_are_alike_and_all_of_them(bound: int) -> None:
    size = (bound - 1).bit_length()
    found = chances(lambda bits: bits.below(bound), 3 * size)
    left = found.pop(None, Fraction(0))
    assert left == (1 - Fraction(bound, 2**size)) ** 3
    assert set(found) == set(range(bound))
    assert set(found.values()) == {(1 - left) / bound}


@pytest.mark.parametrize("ratio", [(0, 1), (1, 1), (1, 2), (1, 3), (2, 3), (5, 7), (3, 8), (7, 7)])
def test_events_have_their_probability(
    ratio: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deniable.sampling.noise.WORD_BITS", 3)
    found = chances(lambda bits: bits.happens(*ratio), 12)
    # Undecided are at most the words in which the threshold lies.
    open_ = found.get(None, Fraction(0))
    exact = Fraction(*ratio)
    assert open_ <= Fraction(1, 2**12)
    assert open_ == 0 if 8 % exact.denominator == 0 else open_ > 0
    assert found.get(True, 0) <= exact <= found.get(True, 0) + open_
    assert found.get(True, 0) == Fraction(math.floor(exact * 2**12), 2**12)


def test_an_event_takes_whole_words_until_it_is_decided() -> None:
    third = int(Fraction(1, 3) * 2**64)  # 0101 ... 01, of which a third is more
    assert third == int("01" * 32, 2)
    ends = {"0" * 64: True, "1" * 64: False, "01" * 32: None}
    for end, happened in ends.items():
        given = f"{third:064b}" * 2 + end
        bits = bits_of(given + "01" * 31 + "00" + "1" * 128)
        assert bits.happens(1, 3) == (True if happened is None else happened)
        assert bits._attempt * 128 - bits._left == (192 if happened is not None else 256)
    for number, happened in ((third - 1, True), (third + 1, False)):
        bits = bits_of(f"{number:064b}" + "1" * 64)
        assert bits.happens(1, 3) == happened
        assert bits._left == 64


class Decided(Bits):
    """Events are decided in all ways, with their probabilities."""

    def __init__(self, outcomes: tuple[bool, ...]) -> None:
        super().__init__(None, 0)
        self.outcomes, self.asked = list(outcomes), [Fraction(1)]

    def happens(self, numerator: int, denominator: int) -> bool:
        if not self.outcomes:
            raise EOFError
        happened, chance = self.outcomes.pop(0), Fraction(numerator, denominator)
        assert 0 <= chance <= 1
        self.asked.append(chance if happened else 1 - chance)
        return happened


@pytest.mark.parametrize("ratio", [(0, 1), (1, 1), (1, 2), (3, 7), (12, 13)])
def test_decays_have_their_probability(ratio: tuple[int, int]) -> None:
    """All ways that up to 17 events may go: what is left is below 1 / 17!."""
    happened = total = Fraction(0)
    for others in range(17):  # so many happen, then one does not
        bits = Decided((*[True] * others, False))
        found = bits.decays(*ratio)
        assert not bits.outcomes
        total += math.prod(bits.asked)
        happened += math.prod(bits.asked) * found
    assert 1 - total <= Fraction(1, math.factorial(17))
    assert abs(float(happened) - math.exp(-ratio[0] / ratio[1])) < 1e-12


def test_larger_noise_takes_no_more_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each value gets the same number of them but for the last decay, whatever its noise is."""
    made: list[Bits] = []
    first = Bits.__init__

    def counted(bits: Bits, blocks: Any, number: int) -> None:
        first(bits, blocks, number)
        made.append(bits)

    monkeypatch.setattr(Bits, "__init__", counted)
    size = np.abs(noise("even time").add(np.zeros(4_000), np.full(4_000, 10.0), 1)[0])
    events = np.array([bits.events for bits in made])
    assert events.min() >= EVENTS
    assert np.mean(events > EVENTS + 8) < 0.001
    assert stats.mannwhitneyu(events[size < 7], events[size >= 7]).pvalue > RAREST


# -- discrete noise --------------------------------------------------------------------------------


def exact_shares(scale: Fraction, reach: int) -> np.ndarray:
    """Return the probabilities of -reach .. reach; the tails are at either end."""
    q = math.exp(-1 / float(scale))
    inside = (1 - q) / (1 + q) * q ** np.abs(np.arange(-reach, reach + 1))
    inside[[0, -1]] = q**reach / (1 + q)
    return np.asarray(inside)


def drawn_by_hand(scale: Fraction, number: int, draw: Any = discrete_laplace) -> np.ndarray:
    blocks = blocks_of(b"noise", b"by hand")
    of = scale.numerator, scale.denominator
    return np.array([draw(*of, Bits(blocks, each)) for each in range(number)])


def p_value(scale: Fraction, found: np.ndarray) -> float:
    """Return that of a chi-square test, with tails in which at least 20 are expected."""
    reach = 1
    while exact_shares(scale, reach + 1)[0] * len(found) >= 20:
        reach += 1
    counts = np.bincount(np.clip(found, -reach, reach) + reach, minlength=2 * reach + 1)
    expected = exact_shares(scale, reach) * len(found)
    assert expected.sum() == pytest.approx(len(found))
    return float(stats.chisquare(counts, expected).pvalue)


SCALES = [Fraction(1, 3), Fraction(1), Fraction(15, 2), Fraction(40)]


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_whole_noise_has_its_exact_probabilities(scale: Fraction) -> None:
    assert p_value(scale, drawn_by_hand(scale, 20_000)) > RAREST
    found = noise("whole").add_whole(np.full(20_000, 5), float(scale)) - 5
    assert p_value(scale, found) > RAREST


def two_zeros(numerator: int, denominator: int, bits: Bits) -> int:
    """A mutant: 0 with either sign."""
    while True:
        remainder = bits.below(numerator)
        if bits.decays(remainder, numerator):
            whole = 0
            while bits.decays(1, 1):
                whole += 1
            size = (remainder + numerator * whole) // denominator
            return -size if bits.take(1) else size


def one_zero_more(self: Bits, bound: int) -> int:
    """A mutant: the bound itself comes up."""
    size = (bound - 1).bit_length()
    while (drawn := self.take(size)) > bound:
        pass
    return drawn


def one_too_few(self: Bits, bound: int) -> int:
    """A mutant: the largest number never comes up."""
    size = (bound - 1).bit_length()
    while bound > 1 and (drawn := self.take(size)) >= bound - 1:
        pass
    return drawn if bound > 1 else 0


def even(self: Bits, numerator: int, denominator: int) -> bool:
    """A mutant: the other parity."""
    tries = 1
    while self.happens(numerator, denominator * tries):
        tries += 1
    return tries % 2 == 0


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_zeros_of_either_sign_would_be_found(scale: Fraction) -> None:
    assert p_value(scale, drawn_by_hand(scale, 20_000, two_zeros)) < RAREST


@pytest.mark.parametrize(
    ("name", "mutant"),
    [("below", one_zero_more), ("below", one_too_few), ("decays", even)],
    ids=["below is at most", "below misses one", "even decays"],
)
def test_mutants_of_bits_would_be_found(
    name: str, mutant: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Bits, name, mutant)
    scale = Fraction(15, 2)  # at 1 one of them never ends
    assert p_value(scale, drawn_by_hand(scale, 20_000)) < RAREST
    exactly: dict[str, Callable[[], None]] = {
        "below": lambda: test_numbers_below_a_bound_are_alike_and_all_of_them(5),
        "decays": lambda: test_decays_have_their_probability((1, 2)),
    }
    with pytest.raises(AssertionError):
        exactly[name]()


def p_value_of_two(found: np.ndarray, other: np.ndarray) -> float:
    """Return that of a chi-square test that both have one distribution, in up to 100 bins."""
    edges = np.unique(np.quantile([found, other], np.arange(1, 100) / 100))
    counts = [
        np.bincount(np.searchsorted(edges, each, side="right"), minlength=len(edges) + 1)
        for each in (found, other)
    ]
    kept = np.sum(counts, axis=0) > 0  # none lies below the least value
    return float(stats.chi2_contingency(np.array(counts)[:, kept]).pvalue)


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_whole_noise_is_opendps(scale: Fraction) -> None:
    counts = np.full(20_000, 5)
    theirs = reference.noisy_counts(counts, float(scale))
    assert p_value_of_two(noise("whole").add_whole(counts, float(scale)), theirs) > ALARM


def test_zeros_of_either_sign_would_be_found_beside_opendps() -> None:
    theirs = reference.noisy_counts(np.zeros(20_000, int), 1.0)
    assert p_value_of_two(drawn_by_hand(Fraction(1), 20_000, two_zeros), theirs) < ALARM


def test_a_scale_of_no_size_is_refused() -> None:
    for scale in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(DeniableError, match="scale of discrete noise"):
            noise().add_whole(np.zeros(2, int), scale)


# -- noise on real values --------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-3, 1.0, 37.5, 2.0**80])
def test_real_noise_is_opendps_and_continuous_laplace(scale: float) -> None:
    size = 4000
    found = noise("real").add(np.zeros(size), np.full(size, scale), 1)[0]
    assert stats.kstest(found / scale, "laplace").pvalue > RAREST
    theirs = reference.noisy(np.zeros(size), scale)
    assert stats.ks_2samp(found, theirs).pvalue > ALARM
    assert len(np.unique(found)) == size


@pytest.mark.parametrize(
    ("value", "scale", "step"),
    [(0.0, 3 * 2.0**-1074, 2.0**-1074), (1.0, 2.0**-51, 2.0**-53), (-(2.0**60), 300.0, 2.0**7)],
    ids=["steps of the grid", "around 1", "far from 0"],
)
def test_grid_and_rounding_are_opendps(value: float, scale: float, step: float) -> None:
    """Where floats are as far apart as the noise is large; beyond a power of 2, twice as far."""
    values = np.full(20_000, value)
    (found,) = noise("steps").add(values, np.full(20_000, scale), 1)
    ours, theirs = ((each - value) / step for each in (found, reference.noisy(values, scale)))
    assert p_value_of_two(ours, theirs) > ALARM
    assert p_value_of_two(ours - 1, theirs) < ALARM  # one step lower would be found


@pytest.mark.parametrize("scale", [2.0, 0.25])
def test_opendp_states_no_more_than_the_scale_for_this_grid(scale: float) -> None:
    assert reference.real_laplace(scale).map(1.0) == 1 / scale


def test_the_test_would_find_another_scale() -> None:
    found = noise("real").add(np.zeros(4000), np.full(4000, 1.15), 1)[0]
    assert stats.kstest(found, "laplace").pvalue < RAREST


def test_noise_is_added_to_its_own_value_at_its_own_scale() -> None:
    values = np.array([[0.0, 1e6, -1e6], [3.0, 1e-9, 2.5]])
    scales = np.array([[0.0, 1e-3, 10.0], [1e-6, 0.0, 1.0]])
    found = noise().add(values, scales, 500)
    assert found.shape == (500, 2, 3)
    assert (found[:, scales == 0] == values[scales == 0]).all()
    spread = np.abs(found - values)[:, scales > 0].mean(axis=0)
    # A mean of 500 exponential variables has a standard error of 4.5 %.
    np.testing.assert_allclose(spread, scales[scales > 0], rtol=0.25)
    assert len(np.unique(found[:, scales > 0])) == 500 * 4


@pytest.mark.parametrize("shape", [(), (1,), (7,), (2, 3), (2, 0), (2, 3, 4)])
def test_values_have_any_shape(shape: tuple[int, ...]) -> None:
    values = np.arange(math.prod(shape), dtype=float).reshape(shape)
    found = noise().add(values, np.full(shape, 0.5), 3)
    assert found.shape == (3, *shape)
    assert (found != values).all()
    counts = noise().add_whole(values.astype(int), 2.0)
    assert counts.shape == shape
    assert counts.dtype == np.int64
    assert (values == np.arange(math.prod(shape)).reshape(shape)).all()


def test_the_sum_is_rounded_to_the_nearest_float_and_no_grid_shows() -> None:
    values = np.array([0.1, 1 / 3, 2.0**60, 5e-324, 0.0])
    (found,) = noise().add(values, np.full(5, 1e-300), 1)
    # Far below half of a last digit: what is added is lost.
    np.testing.assert_array_equal(found[:3], values[:3])
    assert (found[3:] != values[3:]).all()
    (tiny,) = noise().add(np.zeros(200), np.full(200, 5e-324), 1)
    steps = np.rint(tiny / 5e-324).astype(int)
    assert set(steps.tolist()) <= set(range(-20, 21))
    assert 0 in steps.tolist()


def test_misfits_are_refused() -> None:
    with pytest.raises(DeniableError, match="must be equal"):
        noise().add(np.zeros(2), np.zeros(3), 1)
    for scale in (-1.0, math.nan, math.inf):
        with pytest.raises(DeniableError, match="finite and not negative"):
            noise().add(np.zeros(2), np.array([1.0, scale]), 1)


# -- the same noise again --------------------------------------------------------------------------


def test_the_same_call_has_the_same_noise_and_another_call_another() -> None:
    values, scales, counts = np.zeros(50), np.ones(50), np.zeros(50, int)
    made = [noise(), noise()]
    first = [(n.add(values, scales, 1)[0], n.add_whole(counts, 9.0)) for n in made]
    second = [(n.add(values, scales, 1)[0], n.add_whole(counts, 9.0)) for n in made]
    for one, again in (*zip(*first, strict=True), *zip(*second, strict=True)):
        np.testing.assert_array_equal(one, again)
    assert (first[0][0] != second[0][0]).all()
    assert np.mean(first[0][1] == second[0][1]) < 0.2
    other_plan = noise("other").add(values, scales, 1)[0]
    other_key = KeyedNoise(KeyedDraws(KEY[::-1], PLAN)).add(values, scales, 1)[0]
    assert (first[0][0] != other_plan).all()
    assert (first[0][0] != other_key).all()
    assert abs(stats.spearmanr(first[0][0], second[0][0]).statistic) < 0.55


def test_runs_have_noise_of_their_own() -> None:
    found = noise().add(np.zeros(20), np.ones(20), 30)
    assert len(np.unique(found)) == 600


def test_what_else_is_in_a_call_changes_no_noise() -> None:
    """A value has the bits of its place, whatever others take and how many there are."""
    values, scales = np.arange(40.0), np.geomspace(1e-3, 1e3, 40)
    whole = noise().add(values, scales, 1)[0]
    for part in (slice(0, 1), slice(0, 17)):
        np.testing.assert_array_equal(noise().add(values[part], scales[part], 1)[0], whole[part])
    changed = scales.copy()
    changed[::2] = 0
    np.testing.assert_array_equal(noise().add(values, changed, 1)[0][1::2], whole[1::2])
    shaped = noise().add(values.reshape(5, 8), scales.reshape(5, 8), 1)
    np.testing.assert_array_equal(shaped.reshape(-1), whole)
    np.testing.assert_array_equal(noise().add(values, scales, 3)[0], whole)
    counts = noise().add_whole(np.arange(40), 3.5)
    np.testing.assert_array_equal(noise().add_whole(np.arange(9), 3.5), counts[:9])


def test_no_key_is_shown() -> None:
    assert repr(KEY) not in repr(noise())
    assert KEY.hex() not in repr(noise())
