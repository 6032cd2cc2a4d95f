"""Estimate means, standard deviations and quantiles from protected numbers alone.

**Values with noise of known scale b, clipped to [0, U]** (``dp``, ``dp_um``). For any smooth phi
and the clipped noisy value y of a number x, the function

    g(0) = phi(0) - b phi'(0),   g(y) = phi(y) - b^2 phi''(y) inside,   g(U) = phi(U) + b phi'(U)

has the expectation phi(x). *Proof.* The density of x + Laplace(b) is the Green's function of 1 -
b^2 d^2/dx^2. Integration by parts, twice, leaves phi(x) and one term at each end. The values at the
atoms cancel both terms. QED. So y - b, y or y + b is unbiased for x. The variance has the unbiased
estimate b^2 at the ends and 2 b^2 inside. Powers of x give the standard deviation and its error.

**Noisy histograms.** Counts have noise of known variance. Means and standard deviations of the
bins' midpoints differ from the ones of the values by at most half a bin. Intervals are wider by
that amount. The quantile of a level is above a bin's edge if the proportion of records below the
edge is smaller than the level. So simultaneous bounds of the proportions below edges give its
interval.

**``idp_ls`` and ``idp_cbls``** have noise scales that depend on the original values and are not
released. The only results are the statistics of the protected file.

All estimates are for values clipped to their domains. Intervals are for the records of the file,
without sampling.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy

from deniable.arrays import Counts, Floats
from deniable.estimation import CONFIDENCE, Z_95
from deniable.idp.mechanism import NumericMechanism, class_codes
from deniable.idp.true_dp import NoisyHistograms, histograms
from deniable.records import NumericMicrodata

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
MEAN, DEVIATION, SHARE = "mean", "standard deviation", "proportion of the class"
ESTIMATE_COLUMNS = (
    *("attribute", "statistic", "class", "from", "to"),
    *("released", "estimate", "standard_error_file", "ci_low_file", "ci_high_file", "note"),
)
UNKNOWN_SCALE = "no interval: the noise scale depends on the original values and is not released"
NO_INTERVAL = "no valid interval is known"
HALF_A_BIN = "the interval is wider by half a bin: positions of values within bins are unknown"
BY_EDGES = "the interval goes from one edge of a bin to another, by simultaneous bounds"
Row = dict[str, Any]


def estimate_numbers(
    mechanism: NumericMechanism,
    protected: NumericMicrodata,
    counts: Counts | None = None,
    quantiles: Sequence[float] = QUANTILES,
) -> pd.DataFrame:
    """Estimate each attribute's mean, standard deviation and quantiles from protected records.

    The `protected` records have the classes of the original ones. Histograms need their noisy
    `counts`, shape (attributes, classes, bins). `quantiles` are levels in (0, 1).

    The result has the columns `ESTIMATE_COLUMNS`. ``released`` is the statistic of the protected
    file. Each interval has 95 % confidence. Estimate, standard error and interval are empty if no
    valid one is known for the `mechanism`; ``note`` gives the reason. For histograms there are also
    rows with the proportion of each class in each bin.
    """
    if mechanism.by_histograms:
        assert counts is not None
        rows = _from_histograms(mechanism, protected, counts, quantiles)
    elif mechanism.method in {"dp", "dp_um"}:
        rows = _from_known_noise(mechanism, protected, quantiles)
    else:
        rows = _statistics_only(protected, UNKNOWN_SCALE, quantiles)
    return pd.DataFrame(rows, columns=list(ESTIMATE_COLUMNS))


def statistics(values: Floats, quantiles: Sequence[float] = QUANTILES) -> dict[str, float]:
    """Return mean, standard deviation and `quantiles` of the `values` of one attribute, by name.

    The quantile of level a is the least value such that a proportion of at least a is not above it.
    """
    levels = np.quantile(values, quantiles, method="inverted_cdf")
    found = {MEAN: values.mean(), DEVIATION: values.std(ddof=1)}
    found |= {f"quantile {q:g}": value for q, value in zip(quantiles, levels, strict=True)}
    return {name: float(value) for name, value in found.items()}


def _statistics_only(
    protected: NumericMicrodata, note: str, quantiles: Sequence[float]
) -> Iterator[Row]:
    for name, column in zip(protected.names, protected.values.T, strict=True):
        for statistic, value in statistics(column, quantiles).items():
            about = {"attribute": name, "statistic": statistic, "class": ""}
            yield about | {"released": value, "note": note}


def _from_known_noise(
    mechanism: NumericMechanism, protected: NumericMicrodata, quantiles: Sequence[float]
) -> Iterator[Row]:
    k, domains = mechanism.k or 1, mechanism.domains
    for row in _statistics_only(protected, NO_INTERVAL, quantiles):
        j = domains.names.index(row["attribute"])
        scale, width = mechanism.scales[j], domains.widths[j]
        # Clipped values equal the ends of the domain exactly; see `Domains.outer`.
        column = protected.values[:, j]
        at_0, at_upper = column == domains.lower[j], column == domains.upper[j]
        inner = np.where(at_upper, width, column - domains.lower[j])
        if row["statistic"] == MEAN:
            # Each cluster, of any size, adds one draw of noise to the sum. All have k records,
            # except at most one with up to k - 1 more: records // k counts clusters.
            clipped_0, clipped_upper = at_0.sum() // k, at_upper.sum() // k
            value = (inner.sum() + scale * (clipped_upper - clipped_0)) / len(inner)
            variance = 2 * (len(inner) // k) - clipped_0 - clipped_upper
            interval = _interval(value, scale * np.sqrt(variance) / len(inner))
            row.update(_moved(interval, domains.lower[j]), note="")
        elif row["statistic"] == DEVIATION and k == 1:
            row.update(_deviation(inner, at_0, at_upper, float(scale), float(width)), note="")
        yield row


def unbiased_power(
    p: int, y: Floats, at_0: Floats, at_upper: Floats, b: float, width: float
) -> Floats:
    """Return unbiased estimates of x^`p`, p >= 1, from clipped noisy values `y` in [0, `width`].

    `at_0` and `at_upper` mark values clipped to the lower or upper end. `b` is the noise scale.
    """
    inside = y**p - b * b * p * (p - 1) * y ** max(p - 2, 0)
    low = -b if p == 1 else 0.0
    high = width**p + b * p * width ** (p - 1)
    return np.asarray(np.where(at_0, low, np.where(at_upper, high, inside)))


def _deviation(y: Floats, at_0: Floats, at_upper: Floats, b: float, width: float) -> Row:
    """Return the standard deviation, from unbiased estimates of the first four powers."""
    n = len(y)
    first, second, third, fourth = (
        unbiased_power(p, y, at_0, at_upper, b, width) for p in (1, 2, 3, 4)
    )
    mean = first.mean()
    of_mean = (first**2 - second).sum() / n**2
    variance = second.mean() - mean**2 + of_mean
    # The variance of the linear part, second - 2 mean first: unbiased given the original values.
    noise = second**2 - fourth - 4 * mean * (first * second - third)
    noise += 4 * mean**2 * (first**2 - second)
    return _roots(variance, np.sqrt(max(noise.sum(), 0.0)) / n, n, width)


def _roots(variance: float, error: float, n: int, width: float) -> Row:
    """Return the root of a variance with its interval, limited by the width of the domain."""
    sampled = n / (n - 1)
    most = width**2 / 4
    low, high = (np.clip(variance + sign * Z_95 * error, 0.0, most) for sign in (-1, 1))
    root = float(np.sqrt(sampled * variance)) if variance > 0 else np.nan
    # Near 0 the root is not approximately linear, so the interval comes from the variance itself.
    linear = variance > 2 * error
    return {
        "estimate": root,
        "standard_error_file": sampled * error / (2 * root) if linear else np.nan,
        "ci_low_file": float(np.sqrt(sampled * low)),
        "ci_high_file": float(np.sqrt(sampled * high)),
    }


def _interval(value: float, error: float, beyond: float = 0.0) -> Row:
    low, high = value - Z_95 * error - beyond, value + Z_95 * error + beyond
    interval = {"ci_low_file": low, "ci_high_file": high}
    return {"estimate": value, "standard_error_file": error} | interval


def _moved(row: Row, by: float) -> Row:
    return {k: v if k == "standard_error_file" else v + by for k, v in row.items()}


def _from_histograms(
    mechanism: NumericMechanism,
    protected: NumericMicrodata,
    counts: Counts,
    quantiles: Sequence[float],
) -> Iterator[Row]:
    domains, lower = mechanism.domains, mechanism.domains.lower
    sizes = np.bincount(class_codes(protected), minlength=len(protected.classes) or 1)
    scale = mechanism.scales[0]
    distributions = NoisyHistograms(counts, sizes, domains.widths).distributions()
    for row in _statistics_only(protected, BY_EDGES, quantiles):
        j = domains.names.index(row["attribute"])
        one = NoisyHistogram(counts[j], sizes, float(domains.widths[j]), float(scale))
        if row["statistic"] == MEAN:
            row.update(_moved(_interval(*one.mean(), one.bin_width / 2), lower[j]), note=HALF_A_BIN)
        elif row["statistic"] == DEVIATION:
            row.update(one.deviation(), note=HALF_A_BIN)
        else:
            level = float(row["statistic"].split()[1])
            mixed = sizes @ distributions[j] / sizes.sum()
            row.update(_moved(one.quantile(level, mixed), lower[j]))
        yield row
    yield from _class_proportions(mechanism, protected, counts, float(scale))


def _class_proportions(
    mechanism: NumericMechanism, protected: NumericMicrodata, counts: Counts, scale: float
) -> Iterator[Row]:
    """Yield the proportion of each class in each bin, with an exact interval for its noise."""
    codes, names, domains = class_codes(protected), protected.classes or ("",), mechanism.domains
    sizes = np.bincount(codes, minlength=len(names))
    inner = protected.values - domains.lower
    shown = histograms(inner, codes, len(names), domains.widths, mechanism.bins)
    half, error = discrete_half_width(scale, CONFIDENCE), np.sqrt(discrete_variance(scale))
    edges = domains.lower + np.linspace(0.0, domains.widths, mechanism.bins + 1)
    for (j, code, place), count in np.ndenumerate(counts):
        if size := sizes[code]:
            yield {
                "attribute": domains.names[j],
                "statistic": SHARE,
                "class": names[code],
                "from": edges[place, j],
                "to": edges[place + 1, j],
                "released": shown[j, code, place] / size,
                "estimate": count / size,
                "standard_error_file": error / size,
                "ci_low_file": count / size - half / size,
                "ci_high_file": count / size + half / size,
                "note": "",
            }


def discrete_variance(scale: float) -> float:
    """Return the variance of discrete Laplace noise, 2 q / (1 - q)^2 with q = exp(-1 / `scale`)."""
    return float(2 * np.exp(-1 / scale) / np.expm1(-1 / scale) ** 2)


def discrete_half_width(scale: float, confidence: float) -> int:
    """Return the least m with Pr(|noise| > m) = 2 q^(m + 1) / (1 + q) at most 1 - `confidence`.

    The noise is discrete Laplace, q = exp(-1 / `scale`).
    """
    q = np.exp(-1 / scale)
    return int(max(np.ceil(-scale * np.log((1 - confidence) * (1 + q) / 2) - 1), 0))


@dataclass(eq=False)
class NoisyHistogram:
    """The noisy `counts` of one attribute, shape (classes, bins), with known class `sizes`.

    `width` is the width of the domain, and `scale` the scale of the noise. Both are above 0.
    """

    counts: Counts
    sizes: Counts
    width: float
    scale: float

    def __post_init__(self) -> None:
        self.bins, self.records = self.counts.shape[1], int(self.sizes.sum())
        self.bin_width = self.width / self.bins
        self.middles = (np.arange(self.bins) + 0.5) * self.bin_width
        surplus = (self.counts.sum(axis=1) - self.sizes) / self.bins
        # Unbiased, with sum 1.
        self.shares = (self.counts - surplus[:, None]).sum(axis=0) / self.records
        # The standard deviation of a proportion without known sums; noise of classes is
        # independent.
        self.noise = float(np.sqrt(len(self.counts) * discrete_variance(self.scale)) / self.records)

    def _error(self, weights: Floats) -> float:
        return float(self.noise * np.sqrt(((weights - weights.mean()) ** 2).sum()))

    def mean(self) -> tuple[float, float]:
        """Return the mean of the bins' midpoints and its standard error."""
        return float(self.shares @ self.middles), self._error(self.middles)

    def deviation(self) -> Row:
        """Return the standard deviation of the midpoints; its interval is wider by half a bin."""
        mean, error_of_mean = self.mean()
        squares = (self.middles - mean) ** 2
        variance = float(self.shares @ squares) + error_of_mean**2
        row = _roots(variance, self._error(squares), self.records, self.width)
        beyond = self.bin_width / 2 * np.sqrt(self.records / (self.records - 1))
        row["ci_low_file"] = max(row["ci_low_file"] - beyond, 0.0)
        row["ci_high_file"] += beyond
        return row

    def quantile(self, level: float, distribution: Floats) -> Row:
        """Return the quantile of a `level` of a `distribution` over bins, and its interval."""
        z = float(-scipy.special.ndtri((1 - CONFIDENCE) / (2 * max(self.bins - 1, 1))))
        steps = np.arange(1, self.bins)
        below = np.cumsum(self.shares)[:-1]
        reach = z * self.noise * np.sqrt(steps * (self.bins - steps) / self.bins)
        edges = steps * self.bin_width
        low = edges[below + reach < level].max(initial=0.0)
        high = edges[below - reach >= level].min(initial=self.width)
        cumulative = np.concatenate([[0.0], np.cumsum(distribution)])
        place = min(int(np.searchsorted(cumulative, level, side="left")), self.bins) - 1
        estimate = (place + (level - cumulative[place]) / distribution[place]) * self.bin_width
        return {"estimate": estimate, "ci_low_file": low, "ci_high_file": max(high, low)}
