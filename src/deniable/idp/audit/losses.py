"""How well one noisy centroid tells two data sets apart, exactly.

A centroid m in [0, U] is released as m + Laplace(b), clipped to [0, U]. Between two such releases
the logarithm of the likelihood ratio is, inside the domain, linear in the outcome but for kinks at
the two centroids; at the ends there are atoms. Its supremum is at one of these points.

- Equal scales: |m - m'| / b, and clipping takes nothing from it, for the atoms attain it.
- No noise on either side: 0 if the centroids are equal, else infinite. Noise on one side only:
  infinite, for that side has outcomes which the other does not.

Independent centroids: suprema add up, for each outcome can be had with each other.
"""

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from deniable.arrays import Floats
from deniable.errors import DeniableError
from deniable.idp.audit.changes import Changes, Cut, Edges

Method = Literal["dp", "dp_um", "idp_ls", "idp_cbls", "idp_cbls_prose"]
"""The methods of [idp]; the last is Proposition 3 as its proof says it in words."""


def sensitivity(method: Method, edges: Edges, upper: float) -> Floats:
    """Return the sensitivity that a method claims for the centroid of clusters.

    Parameters
    ----------
    method : str
    edges : Edges
        Of clusters of at least three values for Proposition 3.
    upper : float
        The domain is [0, upper].
    """
    low, high = edges.low, edges.high
    if method in {"dp", "dp_um"}:
        return np.asarray(upper / edges.sizes)
    if method == "idp_ls":
        return np.asarray(np.maximum(upper - low[..., 0], high[..., 0]) / edges.sizes)
    if method not in {"idp_cbls", "idp_cbls_prose"}:
        raise DeniableError(
            f"unknown method {method!r}; use dp, dp_um, idp_ls, idp_cbls or idp_cbls_prose"
        )
    upward = (high[..., 0] - low[..., 1]) + (low[..., 2] - low[..., 1])
    downward = (high[..., 1] - low[..., 0]) + (high[..., 1] - high[..., 2])
    if method == "idp_cbls":
        upward = upward + (high[..., 0] - high[..., 1])
        downward = downward + (low[..., 1] - low[..., 0])
    return np.asarray(np.maximum(upward, downward) / edges.sizes)


def distance_in_scales(distance: Floats, scale: Floats) -> Floats:
    """Return |distance| / scale, with 0 / 0 = 0: nothing is told by what does not change."""
    far = np.abs(distance)
    found = np.where(far > 0, np.inf, 0.0)
    return np.divide(far, scale, out=found, where=scale > 0)


def loss_between(
    centre: Floats, scale: Floats, other: Floats, other_scale: Floats, upper: float
) -> Floats:
    """Return the largest |log likelihood ratio| between two clipped noisy centroids.

    Parameters
    ----------
    centre, other : arrays, in [0, upper]
    scale, other_scale : arrays, >= 0
    upper : float
    """
    m, b, m2, b2 = np.broadcast_arrays(centre, scale, other, other_scale)
    found = np.where((b > 0) | (b2 > 0) | (m != m2), np.inf, 0.0)
    noisy = (b > 0) & (b2 > 0)
    m, b, m2, b2 = m[noisy], b[noisy], m2[noisy], b2[noisy]
    level = np.log(b2) - np.log(b)
    worst = np.zeros(m.shape)
    for y in (0.0, upper):
        atom = np.abs(y - m2) / b2 - np.abs(y - m) / b
        worst = np.maximum(worst, np.maximum(np.abs(atom), np.abs(level + atom)))
    apart = np.abs(m - m2)
    worst = np.maximum(worst, np.maximum(np.abs(level + apart / b2), np.abs(level - apart / b)))
    found[noisy] = worst
    return found


class Loss(Protocol):
    """What a change of a cluster tells of the record that made it."""

    def __call__(self, changes: Changes) -> Floats:
        """Return the loss of each change, >= 0, possibly infinite."""


@dataclass(frozen=True, eq=False)
class FrozenScale:
    """Reading (i): what is computed at the actual data set, the scale, is held fixed.

    Attributes
    ----------
    scales : array, shape (clusters,)
        Those of the mechanism that ships.
    """

    scales: Floats

    def __call__(self, changes: Changes) -> Floats:
        """Return the loss of each change."""
        return distance_in_scales(changes.change, self.scales[changes.clusters])


@dataclass(frozen=True, eq=False)
class AsItRuns:
    """Reading (ii): the algorithm as it runs on both data sets, each with its own scales.

    Attributes
    ----------
    method : str
    cut : Cut
    centres, scales : array, shape (clusters,)
        Of the mechanism that ships.
    epsilon : float
        Of the attribute.
    """

    method: Method
    cut: Cut
    centres: Floats
    scales: Floats
    epsilon: float

    def __call__(self, changes: Changes) -> Floats:
        """Return the loss of each change."""
        upper = self.cut.upper
        centre = self.centres[changes.clusters]
        # The change of a centroid may round to just outside the domain.
        other = np.clip(centre + changes.change, 0.0, upper)
        other_scale = sensitivity(self.method, changes.after, upper) / self.epsilon
        return loss_between(centre, self.scales[changes.clusters], other, other_scale, upper)
