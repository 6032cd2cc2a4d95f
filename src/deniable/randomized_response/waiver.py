"""Refute the waiver of composition of [multirr], 4.3, and measure the benefit of unlinkability.

The paper waives sequential composition in 4.3. A party randomizes and releases each attribute m - 1
times, but "the secure sum makes releases unlinkable", so epsilon is computed "as if each attribute
were released only once". Under epsilon-differential privacy the waiver fails for any number n of
parties, even if only the sums are visible:

**Proposition.** Let party 1's record be x or x', with cells x_j or x'_j in pair j. Let pairs be
masked independently through matrices P_j. Let only the counts of the masked pairs over n parties be
published. The exact epsilon of these counts equals the epsilon if party 1 publishes its masked
pairs under its name, max over x, x' of sum_j max_v ln(P_j[x_j, v] / P_j[x'_j, v]).

*Proof.* It is not larger, because the counts are computed from the masked pairs of party 1 and of
the others, and the latter do not depend on x. It is not smaller: let v_j attain the maximum, and
let all others have the record x (or any record with cells that can become v_j). The event that all
n masked pairs are v_j, for all j, has the probability prod_j P_j[x_j, v_j]^n for x, and prod_j
P_j[x'_j, v_j] P_j[x_j, v_j]^(n-1) for x'. In their ratio the factors of the others cancel. QED

The RR matrices distinguish any two cells that differ in both attributes by the whole epsilon of the
pair. So two records that differ in every attribute attain the sum over all pairs. Parallel
composition, the paper's analogy, requires that each value enters only one release.

With unlinkability such counts are improbable. The sums are (epsilon, delta)-differentially private,
where delta falls with n, the number of other parties that do not collude and have unknown values
(`waiver_table`). That is another guarantee, and it needs trust, which randomized response does not.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate, combinations_with_replacement, product, starmap
from typing import Any

import numpy as np
import pandas as pd
import scipy

from deniable.channels import rounded_up
from deniable.errors import DeniableError
from deniable.privacy import Finding, Matrix, constant_matrix, exact_epsilon
from deniable.randomized_response.protocols import Reading, rr_odds

MAX_ENUMERATION = 5_000_000
MAX_ENUMERATED_PARTIES = 3
TRUST = (
    "only the sums are seen: the secure sum is kept to and its channels are private and anonymous; "
    "of the other parties none colludes and no response is known (each such party counts off)"
)
NO_TRUST = "none: the others collude, or their responses are known"


def aggregate_matrix(
    matrices: Sequence[Matrix], truths: Sequence[Sequence[int]], others: Sequence[int]
) -> Matrix:
    """Return the weights of all possible published counts, for each possible record of one party.

    `matrices` has a matrix of weights per release, over the original cells, like
    `deniable.privacy.constant_matrix`. `truths` has the possible records of a party, each with its
    row in every matrix. `others` has the records of the other parties, by their number among
    `truths`. The result has the shape (truths, outcomes) and rows of equal sum. An outcome has the
    counts of all randomized values in all releases.
    """
    weights = np.ones((len(truths), 1), dtype=object)
    for release, matrix in enumerate(matrices):
        crowd = [matrix[truths[other][release]] for other in others]
        sums = [_sums([*crowd, matrix[truth[release]]]) for truth in truths]
        outcomes = sorted({outcome for each in sums for outcome in each})
        counts = np.array([[each.get(o, 0) for o in outcomes] for each in sums], dtype=object)
        weights = (weights[:, :, None] * counts[:, None, :]).reshape(len(truths), -1)
    return weights


def _sums(rows: Sequence[Sequence[int]]) -> dict[tuple[int, ...], int]:
    """Return the weight of every vector of counts if each row randomizes one value."""
    sums = {(0,) * len(rows[0]): 1}
    for row in rows:
        grown: dict[tuple[int, ...], int] = {}
        for counts, weight in sums.items():
            for report, own in enumerate(row):
                outcome = (*counts[:report], counts[report] + 1, *counts[report + 1 :])
                grown[outcome] = grown.get(outcome, 0) + weight * own
        sums = grown
    return sums


def aggregate_epsilon(
    matrices: Sequence[Matrix], truths: Sequence[Sequence[int]], parties: int
) -> float:
    """Return the exact epsilon of published counts, by enumeration in whole numbers, rounded up.

    It is the largest over all records of the other parties. `matrices` and `truths` are as in
    `aggregate_matrix`. By the proposition of this module it equals the epsilon of a single party's
    randomized values, for any number of `parties`. Raises `DeniableError` for too many outcomes.

    Examples
    --------
    >>> coin = constant_matrix(2, Fraction(3))
    >>> [round(aggregate_epsilon([coin], [(0,), (1,)], n), 6) for n in (1, 2, 5)]
    [1.098612, 1.098612, 1.098612]
    """
    outcomes = math.prod(math.comb(parties + m.shape[1] - 1, parties) for m in matrices)
    crowds = math.comb(len(truths) + parties - 2, parties - 1)
    if outcomes * crowds * len(truths) > MAX_ENUMERATION:
        raise DeniableError(
            f"{parties} parties with {len(truths)} records each have {outcomes * crowds:.3g} "
            "outcomes, too many to enumerate; take fewer parties, records or categories"
        )
    crowd_of = combinations_with_replacement(range(len(truths)), parties - 1)
    return max(exact_epsilon(aggregate_matrix(matrices, truths, crowd)) for crowd in crowd_of)


def _weights(ones: int, zeros: int, keep: Fraction) -> list[int]:
    """Return weights of 0, 1, ... randomized values 1 from parties with these original values."""
    same, other = keep.numerator, keep.denominator - keep.numerator
    return list(np.convolve(_binomial(ones, same, other), _binomial(zeros, other, same)))


def _binomial(trials: int, success: int, failure: int) -> Matrix:
    """Return weights of 0, 1, ... successes."""
    ways = [math.comb(trials, k) * success**k * failure ** (trials - k) for k in range(trials + 1)]
    return np.array(ways, dtype=object)


def two_sums_delta(ones: int, zeros: int, keep: Fraction, claim: Fraction) -> Fraction:
    """Return the exact delta of two sums over parties, for one party's binary value.

    Among the other parties, `ones` have the value 1 and `zeros` the value 0. Each value is
    randomized twice, as for an attribute in two pairs. Each time it stays the same with the
    probability `keep`, in [1/2, 1). The randomized values 1 are counted over all parties. Delta is
    the hockey-stick divergence between both counts if the value is 1 and if it is 0, the sum over
    counts of max(0, Pr(counts | 1) - claim Pr(counts | 0)). (For the opposite direction, exchange
    the values of the other parties.) The likelihood ratio of a count rises with it, as the others'
    counts are log-concave. So the positive terms lie above a staircase. `claim` is exp(epsilon).

    Examples
    --------
    >>> two_sums_delta(0, 0, Fraction(3, 4), Fraction(3))  # (9 - 3 * 1) / 16
    Fraction(3, 8)
    """
    if_one, if_zero = _weights(ones + 1, zeros, keep), _weights(ones, zeros + 1, keep)
    sums = (list(accumulate(reversed(each), initial=0))[::-1] for each in (if_one, if_zero))
    tails = list(zip(*sums, strict=True))
    weight, start = 0, len(if_one)
    odds, scale = claim.as_integer_ratio()
    for one, zero in zip(if_one, if_zero, strict=True):
        while start and scale * one * if_one[start - 1] > odds * zero * if_zero[start - 1]:
            start -= 1
        above_one, above_zero = tails[start]
        weight += scale * one * above_one - odds * zero * above_zero
    return Fraction(weight, scale * sum(if_one) ** 2)


def worst_ones(parties: int, keep: Fraction, claim: Fraction) -> int:
    """Return the number of ones among other `parties` with the largest `two_sums_delta`.

    `keep` and `claim` are as in that function. The search is over all numbers, in floating point.
    """
    q, log_claim, deltas = float(keep), math.log(claim), []
    for ones in range(parties + 1):
        groups = ((ones, q), (parties - ones, 1 - q))
        own, other = (scipy.stats.binom.pmf(np.arange(n + 1), n, r) for n, r in groups)
        counts = np.convolve(own, other)
        if_one, if_zero = np.convolve(counts, [1 - q, q]), np.convolve(counts, [q, 1 - q])
        some = (if_one > 0) & (if_zero > 0)
        if_one, if_zero = if_one[some], if_zero[some]
        ratio = np.log(if_one / if_zero)
        starts = np.searchsorted(ratio, log_claim - ratio, side="right")
        tails = [np.append(np.cumsum(each[::-1])[::-1], 0.0) for each in (if_one, if_zero)]
        deltas.append(if_one @ tails[0][starts] - float(claim) * (if_zero @ tails[1][starts]))
    return int(np.argmax(deltas))


def waiver_table(
    probabilities: Sequence[float],
    parties: Sequence[int] = (1, 3, 10, 100, 1000),
    readings: Sequence[Reading] = ("keep",),
) -> pd.DataFrame:
    """Quantify the waiver of 4.3 in the smallest case to which it applies.

    A binary attribute among three is in two pairs, so its value is randomized and summed twice.
    Both counts of its randomized values are known. The counts of whole pairs reveal at least as
    much. The table has one row for each p of the `probabilities`, in (0, 1), each interpretation of
    the matrix in `readings`, and each number of `parties`, at least 1.

    The columns are ``matrix``, ``p``, ``releases`` (2), ``parties`` (one and all trusted others);
    ``claimed_epsilon`` of the waiver, as if released once; ``exact_epsilon`` of the sums under pure
    differential privacy, for any number of parties; ``enumerated_epsilon``, the same by
    enumeration, for up to 3 parties; ``holds``, whether the claim holds. ``delta``, rounded up, is
    the least at which the sums are (claimed_epsilon, delta)-differentially private for all values
    of the others. ``others_alike`` is the number of others with the same value at this delta, and
    ``trust`` the assumption.
    """
    return pd.DataFrame(starmap(_waiver_row, product(readings, probabilities, parties)))


def _waiver_row(reading: Reading, p: float, parties: int) -> dict[str, Any]:
    odds = rr_odds(2, Fraction(repr(p)), reading)
    parity = max(odds, 1 / odds)
    coin = constant_matrix(2, parity)
    once = exact_epsilon(coin)
    finding = Finding(once, 2 * once, 2 * once)
    enumerated = math.nan
    if parties <= MAX_ENUMERATED_PARTIES:
        enumerated = aggregate_epsilon([coin, coin], [(0, 0), (1, 1)], parties)
    keep, others = parity / (parity + 1), parties - 1
    ones = worst_ones(others, keep, parity)
    return {
        "matrix": reading,
        "p": p,
        "releases": 2,
        "parties": parties,
        "claimed_epsilon": once,
        "exact_epsilon": finding.exact,
        "enumerated_epsilon": enumerated,
        "holds": finding.holds,
        "delta": rounded_up(two_sums_delta(ones, others - ones, keep, parity)),
        "others_alike": max(ones, others - ones),
        "trust": TRUST if parties > 1 else NO_TRUST,
    }
