"""The (epsilon, delta) of a file of rows in a random order, from the local epsilon of a record.

Each of n rows is the output of one fixed randomizer of a whole record, with local epsilon e0 and
drawn independently. The order of the rows is a uniform, secret permutation. Then the file is
(epsilon, delta)-differentially private for replacing one record, if the pair P, Q of [clones],
section 3, is (epsilon, delta)-indistinguishable:

    P = (A + D, C - A + 1 - D),    Q = (A + 1 - D, C - A + D),

    C ~ Bin(n - 1, exp(-e0)),    A ~ Bin(C, 1/2),    D ~ Bernoulli(exp(e0) / (exp(e0) + 1)).

C is the number of other rows that are clones of the record: a randomizer of any record gives the
output of each of both records with probability exp(-e0) / 2. The larger 2 / (exp(e0) + 1) holds for
some randomizers only ([clones_withdrawn]), and is not used here.

**One direction is enough.** Exchange of both numbers maps P to Q, because C - A has the
distribution of A. So the divergence from P to Q is also the divergence from Q to P.

**Closed form for each C.** The sum of both numbers is C + 1, so C is known, and given C = c only
the first number, x, counts. P and Q have the likelihood ratio (q + r) / (1 + q r) with q = exp(-e0)
and r = x / (c + 1 - x). It increases in x, so the best event is x >= t, where t is the smallest
whole number at least (c + 1) (exp(epsilon) - q) / ((1 + exp(epsilon)) (1 - q)). Any other t gives
less. With B ~ Bin(c, 1/2) the divergence is

    delta_c = (1 - exp(epsilon - e0)) / (1 + q) Pr(B = t - 1) - (exp(epsilon) - 1) Pr(B >= t).

The result is the mean of delta_c. It decreases in c, as one more fair coin is post-processing.
"""

import math
from bisect import bisect_left
from fractions import Fraction

import numpy as np
from scipy import special

from deniable.arrays import Floats
from deniable.errors import DeniableError

LARGEST_DELTA, DIGITS = 1e-6, 4
TRUNCATED = 1e-10  # largest probability of C outside the window, in proportion to delta
SLACK = 1e-9  # bound on relative errors of floating-point numbers for few records
MAX_LOCAL = 600.0  # from here on, the probability of a clone is below 1e-260
GROUPS = 1000
_PER_DECADE = 9 * 10 ** (DIGITS - 1)
_DECADES = 12  # below 1 that are searched


def default_delta(records: int) -> float:
    """Return the delta of a file of so many `records`: 1e-6, or 1 / (100 n) if that is less."""
    return min(LARGEST_DELTA, 1 / (100 * records))


def shuffled_epsilon(epsilon: float, records: int, delta: float | None = None) -> float | None:
    """Return the epsilon of a file in random order, rounded up to four digits.

    The result is None if it is not below the local `epsilon` of a record, at least 0. The file has
    `records` rows, at least 1, and its number of records is public. The `delta` is in (0, 1), by
    default `default_delta`. Raises `DeniableError` if an argument is out of range.

    The conditions and the method are stated in `deniable.privacy.shuffling`.

    Examples
    --------
    >>> shuffled_epsilon(4, 32_561, 1e-6), shuffled_epsilon(8, 32_561, 1e-6)
    (0.3114, None)
    """
    if records < 1 or not epsilon >= 0:
        raise DeniableError("give a local epsilon of at least 0, and at least 1 record")
    delta = default_delta(records) if delta is None else delta
    if not 0 < delta < 1:
        raise DeniableError(f"delta is {delta}; give a probability above 0 and below 1")
    if epsilon == 0 or epsilon > MAX_LOCAL:
        return None if epsilon else 0.0
    clones, weights, outside = _window(records, epsilon, TRUNCATED * delta)
    # A group counts at its smallest number of clones, so its part of delta is rounded up.
    starts = np.arange(0, len(clones), 1 + len(clones) // GROUPS)
    groups = clones[starts], np.add.reduceat(weights, starts)

    def holds(target: float, c: Floats = clones, probability: Floats = weights) -> bool:
        if target >= epsilon:
            return True
        found = float(probability @ _divergences(c, epsilon, target))
        return found * (1 + SLACK) + outside <= delta

    if holds(0.0):
        return 0.0
    least, most = -_DECADES * _PER_DECADE, 3 * _PER_DECADE  # of numbers of four digits
    index = least + bisect_left(
        range(least, most), True, key=lambda index: holds(_of_digits(index), *groups)
    )
    while index > least and holds(_of_digits(index - 1)):
        index -= 1
    return found if (found := _of_digits(index)) < epsilon else None


def shuffled_guarantee(
    epsilon: float, records: int, unit: int = 1
) -> tuple[Fraction, float] | None:
    """Return (epsilon, delta) of a `unit` of so many records in a shuffled file, at most.

    For k records they are k times the epsilon of one, exact, and k exp((k - 1) epsilon) times its
    delta, rounded up (group privacy). The result is None if `shuffled_epsilon` has none for the
    local `epsilon` and number of `records`, or if delta of the unit is not below 1 / n.
    """
    delta = default_delta(records)
    found = shuffled_epsilon(epsilon, records, delta)
    if found is None or (unit - 1) * found > MAX_LOCAL:
        return None
    if unit > 1:
        delta = unit * math.exp((unit - 1) * found) * delta * (1 + SLACK)
    return (Fraction(repr(found)) * unit, delta) if delta < 1 / records else None


def _of_digits(index: int) -> float:
    """Return the number of four digits with an `index`; 0 is the index of 1."""
    decade, digits = divmod(index, _PER_DECADE)
    return float(f"{10 ** (DIGITS - 1) + digits}e{decade - DIGITS + 1}")


def _window(records: int, epsilon: float, mass: float) -> tuple[Floats, Floats, float]:
    """Return values of C, their probabilities, and a bound on the probability of all others.

    Probabilities are divided by their sum, which is at most 1.
    """
    trials, q, none = records - 1, math.exp(-epsilon), -math.expm1(-epsilon)
    mode = min(int(records * q), trials)
    # Bernstein's inequality, with a probability of mass / 2 on each side.
    log = math.log(2 / mass)
    width = math.ceil(log + math.sqrt(2 * trials * q * none * log)) + 2
    low, high = max(mode - width, 0), min(mode + width, trials)
    values = np.arange(low, high + 1, dtype=float)
    ratios = np.log((trials - values[:-1]) / values[1:]) + math.log(q / none)
    logs = np.concatenate([[0.0], np.cumsum(ratios)])
    weights = np.exp(logs - logs.max())
    return values, weights / weights.sum(), 0.0 if high - low == trials else mass


def _divergences(clones: Floats, epsilon: float, target: float) -> Floats:
    """Return delta_c, rounded up, for each number of `clones` c, at an epsilon `target`.

    The difference of log-gamma functions has at most a few errors of the first one.
    """
    q, none = math.exp(-epsilon), -math.expm1(-epsilon)
    share = (math.expm1(target) + none) / ((1 + math.exp(target)) * none)
    t = np.minimum(np.ceil((clones + 1) * share), clones + 1)
    ways = special.gammaln(clones + 1)
    slack = SLACK + 8 * np.finfo(float).eps * ways
    log = ways - special.gammaln(t) - special.gammaln(clones - t + 2) - clones * math.log(2)
    gain = -math.expm1(target - epsilon) / (1 + q) * np.exp(log)
    tail = np.where(t > clones, 0.0, special.betainc(t, np.maximum(clones - t, 0) + 1, 0.5))
    return np.maximum(gain * (1 + slack) - math.expm1(target) * tail * (1 - SLACK), 0)
