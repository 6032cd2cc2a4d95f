"""Surrogates of published numeric files: copulas without records, their fit and samples."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from deniable.arrays import Counts, Floats
from deniable.datasets.copula import MAX_QUANTILES, Copula, MarginModel
from deniable.errors import DataError
from deniable.records import NumericMicrodata

AVERAGED = 5  # order statistics in the mean that is a quantile
MIN_RECORDS = 4 * AVERAGED
WRITTEN_DIGITS = 4  # of correlations and proportions
WRITTEN_IN_FULL = 0.9  # proportion of values in a column that its decimals represent exactly
MAX_DECIMALS = 10
LEAST_EIGENVALUE = 2e-3  # well above the effect of rounding to 4 digits
MAX_CORRELATION = 0.999
STEPS = 2000  # of the step function that approximates an attribute's rank
TERMS = 200  # of the expansion in Hermite polynomials
SETTLING_ROUNDS = 12
SETTLED = 0.002  # difference of rank correlations at which the rounds stop


def fit(data: NumericMicrodata, *, sha256: str = "") -> Copula:
    """Fit a copula to `data`; equal data give exactly the same copula.

    An attribute has at most 101 quantiles, closer together towards both ends, where values spread.
    No quantile is one person's value: each is the mean of five neighbouring order statistics, and
    no two quantiles share one. The outermost two continue the line through their neighbours.

    The latent correlation of a pair gives the file's rank correlation (Spearman's, mid-ranks for
    ties) *after* atoms and rounding of values. The matrix of all pairs is replaced by the nearest
    matrix with eigenvalues of at least .002. The provenance has the `sha256` of the published file.
    Raises `DataError` for fewer than 20 records.
    """
    if len(data) < MIN_RECORDS:
        raise DataError(
            f"{len(data)} records are too few to fit a surrogate; give at least {MIN_RECORDS}"
        )
    runs = np.array(_runs(len(data)))
    middles = (runs + AVERAGED / 2) / len(data)
    columns = zip(data.names, data.values.T, strict=True)
    margins = tuple(_margin(name, column, runs, middles) for name, column in columns)
    probabilities = (0.0, *np.round(middles, WRITTEN_DIGITS + 1).tolist(), 1.0)
    shares: tuple[float, ...] = ()
    if data.classes:
        raw = np.round(data.class_counts()[:-1] / len(data), WRITTEN_DIGITS)
        shares = (*raw.tolist(), round(1 - float(raw.sum()), WRITTEN_DIGITS))
    wanted = rank_correlations(data)
    found = np.eye(len(wanted))
    draft = Copula(probabilities, margins, data.class_name, data.classes, shares, found)
    expansions = _expansions(draft)
    for i, j in itertools.combinations(range(len(wanted)), 2):
        found[i, j] = found[j, i] = _latent(expansions[i] * expansions[j], wanted[i, j])
    copula = replace(draft, correlations=np.round(_nearest_correlations(found), WRITTEN_DIGITS))
    # Values of a sample depend on the last digits of a processor; expected values do not.
    in_order = np.broadcast_to(np.arange(float(len(data)))[:, None], (len(data), len(found)))
    alike = _records(copula, in_order)
    pairs, compared = zip(_columns(data), _columns(alike), strict=True), scipy.stats.ks_2samp
    gaps = [float(compared(*pair, method="asymp").statistic) for pair in pairs]
    missed = np.abs(expected_rank_correlations(copula) - wanted).max()
    provenance = {
        "records": len(data),
        "sha256": sha256,
        "averaged": AVERAGED,
        "largest_margin_distance": round(max(gaps), WRITTEN_DIGITS),
        "largest_rank_correlation_difference": round(float(missed), WRITTEN_DIGITS),
    }
    return replace(copula, provenance=provenance)


def _runs(records: int) -> list[int]:
    """Return the first of each run of AVERAGED order statistics, from 0; runs do not overlap.

    They are as close as possible to probabilities (1 - cos(pi k / 98)) / 2, symmetric at both ends.
    """
    last = records - AVERAGED
    half = (MAX_QUANTILES - 3) // 2  # two quantiles, beyond the outermost means, are not means
    wanted = (1 - np.cos(np.pi * np.arange(half + 1) / (2 * half))) / 2 * last
    lower: list[int] = []
    for rank in np.floor(wanted).astype(int).tolist():
        if not lower or rank >= lower[-1] + AVERAGED:
            lower.append(rank)
    upper = [last - rank for rank in reversed(lower)]
    return lower + [rank for rank in upper if rank >= lower[-1] + AVERAGED]


def _margin(name: str, column: Floats, runs: Counts, middles: Floats) -> MarginModel:
    """Return the quantiles of a column: means of sorted runs, and linear ends on both sides."""
    means = np.sort(column)[runs[:, None] + np.arange(AVERAGED)].mean(axis=1)
    low, high = np.diff(means)[[0, -1]] / np.diff(middles)[[0, -1]] * middles[0]
    floor = 0.0 if means[0] >= 0 else -np.inf  # values that are never negative stay so
    quantiles = np.array([max(means[0] - low, floor), *means, means[-1] + high])
    # The fewest decimals that represent most values exactly, if they exist.
    fitting = ((np.round(column, each) == column).mean() for each in range(MAX_DECIMALS + 1))
    decimals = next((i for i, share in enumerate(fitting) if share >= WRITTEN_IN_FULL), None)
    if decimals is None:
        quantiles = np.array([float(f"{quantile:.9g}") for quantile in quantiles])
    else:
        quantiles = np.round(quantiles, decimals)
    return MarginModel(name, tuple(np.maximum.accumulate(quantiles).tolist()), decimals)


def _expansions(copula: Copula) -> Floats:
    """Return coefficients of each attribute's rank in orthonormal Hermite polynomials, class last.

    The standardized mid-rank is a step function of the latent z, so coefficients are exact: a step
    at t adds its height times the integral of h_k phi over (t, inf), which is h_(k-1)(t) phi(t) /
    sqrt(k). All are 0 for a constant. The shape is (attributes, TERMS), k = 1 .. TERMS.
    """
    middles = (np.arange(STEPS) + 0.5) / STEPS
    columns: list[npt.NDArray[Any]] = [copula.values(each, middles) for each in copula.margins]
    if copula.classes:
        columns.append(_class_codes(copula, middles))
    ranks = np.array([scipy.stats.rankdata(column) for column in columns])
    deviations = ranks.std(axis=1, keepdims=True)
    heights = np.diff(ranks, axis=1) / np.where(deviations > 0, deviations, 1)
    at = scipy.special.ndtri(np.arange(1, STEPS) / STEPS)
    # h_k phi by the three-term recurrence, from h_0 = 1.
    before, now = np.zeros_like(at), np.exp(-(at**2) / 2) / np.sqrt(2 * np.pi)
    coefficients = np.empty((len(ranks), TERMS))
    for k in range(1, TERMS + 1):
        coefficients[:, k - 1] = heights @ now / np.sqrt(k)
        before, now = now, (at * now - np.sqrt(k - 1) * before) / np.sqrt(k)
    return coefficients


def _of_ranks(products: Floats, latent: float) -> float:
    """Return the correlation of two attributes' ranks: the sum of c_k d_k r^k (Mehler)."""
    return float(products @ np.power(latent, np.arange(1, TERMS + 1)))


def _latent(products: Floats, wanted: float) -> float:
    """Return the latent correlation r for which the correlation of the ranks is `wanted`.

    The latter increases with r, because values do not decrease in their latents. If `wanted` is
    outside the attainable range, the result is the end of the range.
    """
    if not products.any():
        return 0.0
    ends = -MAX_CORRELATION, MAX_CORRELATION
    least, most = (_of_ranks(products, end) for end in ends)
    aim = min(max(wanted, least), most)
    solve: Callable[..., float] = scipy.optimize.brentq
    return float(solve(lambda r: _of_ranks(products, r) - aim, *ends, xtol=1e-10))


def expected_rank_correlations(copula: Copula) -> Floats:
    """Return the expected Spearman's correlations of records from a `copula`, the class last."""
    expansions = _expansions(copula)
    expected = np.eye(len(expansions))
    for i, j in itertools.combinations(range(len(expected)), 2):
        products = expansions[i] * expansions[j]
        expected[i, j] = expected[j, i] = _of_ranks(products, copula.correlations[i, j])
    return expected


def _nearest_correlations(matrix: Floats) -> Floats:
    """Return the nearest matrix of correlations with no small eigenvalue (Higham 2002).

    Projections on matrices with eigenvalues of at least LEAST_EIGENVALUE alternate with projections
    on matrices with a unit diagonal, with Dykstra's correction.
    """
    current, correction = matrix.copy(), np.zeros_like(matrix)
    for _ in range(1000):
        if np.linalg.eigvalsh(current)[0] >= LEAST_EIGENVALUE / 2:
            break
        shifted = current - correction
        values, vectors = np.linalg.eigh(shifted)
        raised = (vectors * np.maximum(values, LEAST_EIGENVALUE)) @ vectors.T
        correction = raised - shifted
        current = (raised + raised.T) / 2
        np.fill_diagonal(current, 1.0)
    return current


def _class_codes(copula: Copula, probabilities: Floats) -> npt.NDArray[np.int8]:
    ends = np.cumsum(copula.shares)[:-1]
    return np.searchsorted(ends, probabilities, side="right").astype(np.int8)


def sample(copula: Copula, records: int, generator: np.random.Generator) -> NumericMicrodata:
    """Draw `records` records by quota, with the distributions and rank correlations of `copula`.

    A surrogate should have the marginal distributions and rank correlations of the published file,
    without sampling error. With 1,080 records, one of 45 rank correlations is usually wrong by more
    than .05. So each attribute has its quantiles at probabilities (i - 1/2) / records. A few
    rounds move latents until values have the expected rank correlations. The assignment of values
    to records is random. With at most twice as many records as attributes, latents stay as drawn.
    Equal states of the `generator` give equal records, marked with `data_source` "surrogate".
    """
    size = len(copula.correlations)
    latents = generator.standard_normal((records, size))
    if records <= 2 * size:
        return _records(copula, latents @ np.linalg.cholesky(copula.correlations).T)
    expected = expected_rank_correlations(copula)
    aim = copula.correlations
    best, least = _records(copula, latents), np.inf
    for _ in range(SETTLING_ROUNDS):
        latents -= latents.mean(axis=0)
        own = np.linalg.cholesky(latents.T @ latents / records)
        root = np.linalg.cholesky(_nearest_correlations(aim))
        latents = np.linalg.solve(own, latents.T).T @ root.T
        drawn = _records(copula, latents)
        missing = expected - rank_correlations(drawn)
        if (largest := float(np.abs(missing).max())) < least:
            best, least = drawn, largest
        if least < SETTLED:
            break
        aim = aim + missing
    return best


def _records(copula: Copula, latents: Floats) -> NumericMicrodata:
    """Return records with each attribute's quantiles at (i - 1/2) / records, sorted by latents.

    Of equal latents, which have probability 0, the earlier record gets the smaller value.
    """
    order = np.argsort(latents, axis=0, kind="stable")
    probabilities = (np.argsort(order, axis=0, kind="stable") + 0.5) / len(latents)
    columns = zip(copula.margins, probabilities.T, strict=False)
    return NumericMicrodata(
        copula.names,
        np.column_stack([copula.values(margin, column) for margin, column in columns]),
        copula.class_name,
        copula.classes,
        _class_codes(copula, probabilities[:, -1]) if copula.classes else np.empty(0, np.int8),
        {"data_source": "surrogate"},
    )


def rank_correlations(data: NumericMicrodata) -> Floats:
    """Return Spearman's correlations of all attributes of `data`, and of the class's code last.

    Ties have mid-ranks. A constant has the correlation 0. The shape is (attributes, attributes),
    with a class one more each way.
    """
    ranks = np.array([scipy.stats.rankdata(column) for column in _columns(data)])
    ranks -= ranks.mean(axis=1, keepdims=True)
    lengths = np.sqrt((ranks**2).sum(axis=1))
    lengths[lengths == 0] = np.inf
    unit = ranks / lengths[:, None]
    correlations: Floats = np.clip(unit @ unit.T, -1, 1)
    np.fill_diagonal(correlations, 1.0)
    return correlations


def _columns(data: NumericMicrodata) -> list[npt.NDArray[Any]]:
    return [*data.values.T, *([data.labels] if data.classes else [])]
