"""Measure the utility of masked records by mean SSE ([idp], section 4.1)."""

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats
from deniable.errors import DeniableError
from deniable.idp.methods import Masking


def mean_sse(original: npt.ArrayLike, masked: npt.ArrayLike) -> Floats:
    """Return the mean over records of the squared distance to the masked record.

    The squared distance is the mean over attributes of (x_j - x'_j)^2 / s_j^2, with s_j^2 the
    sample variance of the original attribute ([idp], (4) and (5)). The formulas are not preserved
    in the text of the paper. If (5) is a sum over attributes, multiply by their number. `original`
    has the shape (records, attributes), `masked` (..., records, attributes), the result (...).

    Examples
    --------
    >>> mean_sse([[0.0], [2.0]], [[1.0], [2.0]])
    array(0.25)
    """
    true = np.asarray(original, dtype=float)
    apart = np.asarray(masked, dtype=float) - true
    return np.asarray(np.mean(apart * apart / sample_variances(true), axis=(-2, -1)))


def sample_variances(values: npt.ArrayLike) -> Floats:
    """Return the sample variance of each attribute of `values`, shape (records, attributes).

    Raises `DeniableError` if there is a single record, or an attribute is constant.
    """
    table = np.asarray(values, dtype=float)
    if table.ndim != 2 or len(table) < 2:
        raise DeniableError("a distance in standard deviations needs a table of at least 2 records")
    variances = table.var(axis=0, ddof=1)
    if (constant := np.flatnonzero(table.min(axis=0) == table.max(axis=0))).size:
        raise DeniableError(
            f"column {constant[0]} is constant, so distances in standard deviations are not "
            "defined; leave it out"
        )
    return np.asarray(variances)


def masking_sse(masking: Masking, noisy_centroids: Floats, variances: Floats) -> Floats:
    """Return the mean SSE of replicates from their noisy centroids alone, without records.

    For a cluster of the `masking` with the value v it is exactly scatter + n (mean - v)^2.
    `noisy_centroids` is a result of `Masking.noisy_centroids`, and `variances` a result of
    `sample_variances`. The result has the shape (runs,).
    """
    clusters = masking.clusters
    apart = noisy_centroids - clusters.centroids
    apart *= apart
    return _in_all(masking, apart @ clusters.sizes.astype(float), variances)


def expected_squares(masking: Masking, targets: Floats) -> Floats:
    """Return the expected squared distance of each released value of a `masking` from a target.

    For a centre c, noise of scale b, the domain [0, U], a target a in [0, U] and d = c - a, the
    clipped value V has

        E(V - a)^2 = d^2 + 2 b^2 - b exp(-(U - c) / b) (U - a + b) - b exp(-c / b) (a + b).

    `targets` and results have the shape (attributes, clusters).
    """
    b, c, upper = masking.scales, masking.centres, masking.upper[:, None]
    positive = np.where(b > 0, b, 1.0)
    above = np.where(b > 0, np.exp(-(upper - c) / positive), 0.0)
    below = np.where(b > 0, np.exp(-c / positive), 0.0)
    clipped = b * (2 * b - above * (upper - targets + b) - below * (targets + b))
    return np.asarray((c - targets) ** 2 + clipped)


def expected_sse(masking: Masking, variances: Floats) -> float:
    """Return the expectation over the noise of the mean SSE, in closed form.

    `masking` and `variances` are as in `masking_sse`.
    """
    clusters = masking.clusters
    squares = expected_squares(masking, clusters.centroids) @ clusters.sizes.astype(float)
    return float(_in_all(masking, squares, variances))


def _in_all(masking: Masking, squares: Floats, variances: Floats) -> Floats:
    """Return the mean SSE from summed squares around the clusters' means, (..., attributes)."""
    ranking = masking.clusters.ranking
    total = squares + masking.clusters.scatter.sum(axis=1)
    return np.asarray((total / variances).mean(axis=-1) / ranking.records)
