"""What can be estimated from a release of numbers alone, and with which certainty.

**Values with noise of known scale b, clipped to [0, U]** (``dp``, ``dp_um``). For any smooth phi
and the clipped noisy value y of a number x, the function

    g(0) = phi(0) - b phi'(0),   g(y) = phi(y) - b^2 phi''(y) inside,   g(U) = phi(U) + b phi'(U)

has the expectation phi(x). *Proof.* The density of x + Laplace(b) is the Green's function of
1 - b^2 d^2/dx^2; integrating by parts twice leaves phi(x) and, at either end, terms that the atoms'
values cancel. QED. So clipping costs no bias: y - b, y or y + b is unbiased for x, and its variance
is estimated without bias by b^2 at the ends and 2 b^2 inside. Powers of x give the standard
deviation and its error.

**Noisy histograms** (``numeric_dp``). Counts have noise of known variance. Means and standard
deviations of bins' middles differ from those of the values by at most half a bin, and intervals are
wider by that. The quantile of a level lies above a bin's edge if fewer records do not reach it:
simultaneous bounds for the shares below all edges give its interval.

Estimates are of the values as they are within their bounds.

**``idp_ls`` and ``idp_cbls``** have noise whose scales depend on the true values and are not
released: nothing is estimated beside what the protected file has.

All intervals are for these very records; none counts that records may be a sample.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy

from deniable.arrays import Counts, Floats
from deniable.estimation import CONFIDENCE, Z_95
from deniable.idp import TABLE_DISTANCE, NoisyHistograms, histograms, split_budget
from deniable.records import NumericMicrodata
from deniable.release import HistogramRelease, IdpRelease, NumericRelease, marked
from deniable.release.numeric.design import HISTOGRAMS, Domains, class_codes

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
MEAN, DEVIATION, SHARE = "mean", "standard deviation", "share of the class"
COLUMNS = (
    *("attribute", "statistic", "class", "from", "to"),
    *("released", "estimate", "standard_error_file", "ci_low_file", "ci_high_file", "note"),
)
UNKNOWN_SCALE = "the noise's scale depends on the true values and is not released: no interval"
NO_INTERVAL = "no interval that is right"
HALF_A_BIN = "the interval is wider by half a bin: where values are in their bins is unknown"
BY_EDGES = "between edges of bins, which bound it simultaneously"
Row = dict[str, Any]


def estimated(release: NumericRelease, made: Mapping[str, Any]) -> dict[str, pd.DataFrame]:
    """Return the estimates of a `release`, from ``release`` and ``protected`` that it `made`."""
    stated = Domains.from_json(made["release"]["domains"])
    estimates = estimate_numbers(release, stated, made["protected"])
    return {"estimates": marked(estimates, release, made["protected"])}


def estimate_numbers(
    release: NumericRelease,
    stated: Domains,
    protected: NumericMicrodata,
    quantiles: Sequence[float] = QUANTILES,
) -> pd.DataFrame:
    """Estimate each attribute's mean, standard deviation and quantiles from the `protected` file.

    The levels of these are `quantiles`, in (0, 1). The domains are `stated` by the `release`;
    intervals of 95 % hold each on its own. In the columns `COLUMNS`, ``released`` is the statistic
    of the protected file as it is. The estimate, its standard error and its interval are empty
    where nothing right can be given; ``note`` says why. Of histograms there is also the share of
    each class in each bin.
    """
    if isinstance(release, HistogramRelease):
        rows = _from_histograms(release, stated, protected, quantiles)
    elif release.method in {"dp", "dp_um"}:
        rows = _from_known_noise(release, stated, protected, quantiles)
    else:
        rows = _plain(protected, UNKNOWN_SCALE, quantiles)
    return pd.DataFrame(rows, columns=list(COLUMNS))


def statistics(values: Floats, quantiles: Sequence[float] = QUANTILES) -> dict[str, float]:
    """Return mean, standard deviation and `quantiles`, by level, of one attribute's `values`.

    A quantile of level a is the least value that a share of at least a of the records does not
    exceed.
    """
    levels = np.quantile(values, quantiles, method="inverted_cdf")
    found = {MEAN: values.mean(), DEVIATION: values.std(ddof=1)}
    found |= {f"quantile {q:g}": value for q, value in zip(quantiles, levels, strict=True)}
    return {name: float(value) for name, value in found.items()}


def _plain(protected: NumericMicrodata, note: str, quantiles: Sequence[float]) -> Iterator[Row]:
    for name, column in zip(protected.names, protected.values.T, strict=True):
        for statistic, value in statistics(column, quantiles).items():
            about = {"attribute": name, "statistic": statistic, "class": ""}
            yield about | {"released": value, "note": note}


def _from_known_noise(
    release: IdpRelease,
    stated: Domains,
    protected: NumericMicrodata,
    quantiles: Sequence[float],
) -> Iterator[Row]:
    k = release.k or 1
    shares = split_budget(release.epsilon, len(stated.names))
    for row in _plain(protected, NO_INTERVAL, quantiles):
        j = stated.names.index(row["attribute"])
        scale, width = stated.widths[j] / shares[j], stated.widths[j]
        # Ends of the domain are exactly there; see `Domains.outer`.
        column = protected.values[:, j]
        at_0, at_upper = column == stated.lower[j], column == stated.upper[j]
        inner = np.where(at_upper, width, column - stated.lower[j])
        if row["statistic"] == MEAN:
            value, error = _mean(inner, at_0.sum() // k, at_upper.sum() // k, k, float(scale))
            row.update(_moved(_interval(value, error), stated.lower[j]), note="")
        elif row["statistic"] == DEVIATION and k == 1:
            found = _deviation(inner, at_0, at_upper, float(scale), float(width))
            row.update(found, note="")
        yield row


def _mean(inner: Floats, at_0: int, at_upper: int, k: int, scale: float) -> tuple[float, float]:
    """Return the unbiased mean and its standard error.

    A cluster of n records has noise of scale `scale` / n; its n records share it, so that each
    cluster adds noise of scale `scale` to the sum, whatever its size. `at_0` and `at_upper` are
    clusters that were clipped to either end. Their sizes are k, but for one at most that has less
    than k more: whole multiples of k in the number of records count them.
    """
    clusters = len(inner) // k
    total = inner.sum() + scale * (at_upper - at_0)
    variance = 2 * clusters - at_0 - at_upper
    return float(total / len(inner)), float(scale * np.sqrt(variance) / len(inner))


def unbiased_power(
    p: int, y: Floats, at_0: Floats, at_upper: Floats, b: float, width: float
) -> Floats:
    """Return what has the expectation x^`p`, p >= 1, from values `y` with noise of scale `b`.

    They are clipped to [0, `width`], those `at_0` and `at_upper` to either end.
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
    # Of the linear part second - 2 mean first: unbiased for its variance given the true values.
    noise = second**2 - fourth - 4 * mean * (first * second - third)
    noise += 4 * mean**2 * (first**2 - second)
    error = np.sqrt(max(noise.sum(), 0.0)) / n
    return _roots(variance, error, n, width)


def _roots(variance: float, error: float, n: int, width: float) -> Row:
    """Return the root of a variance with its interval, which the domain limits."""
    sampled = n / (n - 1)
    most = width**2 / 4
    low, high = (np.clip(variance + sign * Z_95 * error, 0.0, most) for sign in (-1, 1))
    root = float(np.sqrt(sampled * variance)) if variance > 0 else np.nan
    # Near 0 the root is no longer nearly linear: the interval comes from the variance itself.
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
    release: HistogramRelease,
    stated: Domains,
    protected: NumericMicrodata,
    quantiles: Sequence[float],
) -> Iterator[Row]:
    codes, names = class_codes(protected), protected.classes or ("",)
    sizes = np.bincount(codes, minlength=len(names))
    counts = np.array(json.loads(protected.marks[HISTOGRAMS]), dtype=np.int64)
    tables = NoisyHistograms(counts, sizes, stated.widths, release.epsilon)
    scale = TABLE_DISTANCE / split_budget(release.epsilon, len(stated.names))[0]
    distributions = tables.distributions()
    for row in _plain(protected, BY_EDGES, quantiles):
        j = stated.names.index(row["attribute"])
        one = _Histogram(counts[j], sizes, float(stated.widths[j]), float(scale))
        if row["statistic"] == MEAN:
            found = _interval(*one.mean(), one.bin_width / 2)
            row.update(_moved(found, stated.lower[j]), note=HALF_A_BIN)
        elif row["statistic"] == DEVIATION:
            row.update(one.deviation(), note=HALF_A_BIN)
        else:
            level = float(row["statistic"].split()[1])
            mixed = sizes @ distributions[j] / sizes.sum()
            row.update(_moved(one.quantile(level, mixed), stated.lower[j]))
        yield row
    inner = protected.values - stated.lower
    shown = histograms(inner, codes, len(names), stated.widths, release.bins)
    half = discrete_half_width(float(scale), CONFIDENCE)
    for j, name in enumerate(stated.names):
        edges = stated.lower[j] + np.linspace(0.0, stated.widths[j], release.bins + 1)
        for code, of_class in enumerate(names):
            if sizes[code]:
                about = {"attribute": name, "statistic": SHARE, "class": of_class, "note": ""}
                for place in range(release.bins):
                    value = counts[j, code, place] / sizes[code]
                    yield about | {
                        "from": edges[place],
                        "to": edges[place + 1],
                        "released": shown[j, code, place] / sizes[code],
                        "estimate": value,
                        "standard_error_file": np.sqrt(discrete_variance(scale)) / sizes[code],
                        "ci_low_file": value - half / sizes[code],
                        "ci_high_file": value + half / sizes[code],
                    }


def discrete_variance(scale: float) -> float:
    """Return the variance of discrete Laplace noise, 2 q / (1 - q)^2 with q = exp(-1 / `scale`)."""
    return float(2 * np.exp(-1 / scale) / np.expm1(-1 / scale) ** 2)


def discrete_half_width(scale: float, confidence: float) -> int:
    """Return the least m with Pr(|noise| > m) = 2 q^(m + 1) / (1 + q) at most 1 - `confidence`.

    The noise is discrete Laplace, q = exp(-1 / `scale`).
    """
    q = np.exp(-1 / scale)
    m = np.ceil(-scale * np.log((1 - confidence) * (1 + q) / 2) - 1)
    return int(max(m, 0))


@dataclass(eq=False)
class _Histogram:
    """One attribute's noisy counts, shape (classes, bins), with sums that are known.

    The sizes of classes, what their counts would sum to without noise, are public. `width` is that
    of the domain, `scale` that of the noise.
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
        # Unbiased, of sum 1.
        self.shares = (self.counts - surplus[:, None]).sum(axis=0) / self.records
        # The standard deviation of a share, but for the sums that are known: the noises of the
        # classes are independent.
        self.noise = float(np.sqrt(len(self.counts) * discrete_variance(self.scale)) / self.records)

    def _error(self, weights: Floats) -> float:
        return float(self.noise * np.sqrt(((weights - weights.mean()) ** 2).sum()))

    def mean(self) -> tuple[float, float]:
        """Return the mean of the bins' middles and its standard error."""
        return float(self.shares @ self.middles), self._error(self.middles)

    def deviation(self) -> Row:
        """Return the standard deviation of the middles, its interval wider by half a bin."""
        mean, error_of_mean = self.mean()
        squares = (self.middles - mean) ** 2
        variance = float(self.shares @ squares) + error_of_mean**2
        row = _roots(variance, self._error(squares), self.records, self.width)
        beyond = self.bin_width / 2 * np.sqrt(self.records / (self.records - 1))
        row["ci_low_file"] = max(row["ci_low_file"] - beyond, 0.0)
        row["ci_high_file"] += beyond
        return row

    def quantile(self, level: float, distribution: Floats) -> Row:
        """Return a quantile of a proper distribution over bins, and edges around the true one."""
        z = float(-scipy.special.ndtri((1 - CONFIDENCE) / (2 * max(self.bins - 1, 1))))
        steps = np.arange(1, self.bins)
        below = np.cumsum(self.shares)[:-1]
        reach = z * self.noise * np.sqrt(steps * (self.bins - steps) / self.bins)
        edges = steps * self.bin_width
        low = edges[below + reach < level].max(initial=0.0)
        high = edges[below - reach >= level].min(initial=self.width)
        cumulative = np.concatenate([[0.0], np.cumsum(distribution)])
        place = min(int(np.searchsorted(cumulative, level, side="left")), self.bins) - 1
        inside = (level - cumulative[place]) / distribution[place]
        estimate = (place + inside) * self.bin_width
        return {"estimate": estimate, "ci_low_file": low, "ci_high_file": max(high, low)}
