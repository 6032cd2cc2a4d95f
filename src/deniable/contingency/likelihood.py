"""Fit the model of independence to randomized values by maximum likelihood through the channel.

Original answers have the proportions pi(theta) of the model, and randomized values P' pi.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import softmax

from deniable.arrays import Flags, Floats, quotients
from deniable.channels import Channel
from deniable.contingency.two_step import Independence
from deniable.errors import DeniableError, SingularChannelError
from deniable.estimation import euclidean_projection

TOLERANCE = 1e-8  # a fit has converged if a further step promises a smaller gain, in nats
MAX_STEPS = 60
MAX_HALVINGS = 12
EVENED = 0.05
"""Proportion of the first guess that is spread evenly, so that no logarithm is infinite."""
LONGEST_STEP = 2.0  # largest change of the logarithm of a cell in one step
RIDGE = 1e-10
ENTRIES_AT_ONCE = 2**24


@dataclass(frozen=True, eq=False)
class ModelFit:
    """A model fitted to a batch of tables of randomized values.

    Attributes
    ----------
    proportions, reported : arrays, shapes (..., cells) and (..., reports)
        Proportions of original answers under the model, and of randomized values.
    information : array, shape (..., parameters, parameters)
        Fisher information of all records, at the fit.
    converged : array of bool, shape (...)
        False if the likelihood still rises, for example towards a marginal proportion of zero.
    """

    proportions: Floats
    reported: Floats
    information: Floats
    converged: Flags

    def distance_from_zero(self, model: Independence) -> Floats:
        """Return the least free marginal proportion of `model` over its standard error, (...)."""
        shares, variances = self._margins(model)
        return self._least(shares, np.sqrt(np.maximum(variances, 0.0)))

    def effective_records(self, model: Independence) -> Floats:
        """Return the least effective number of records of `model`'s free marginals, shape (...).

        A proportion s with variance V is as precise as from s (1 - s) / V original records.
        """
        shares, variances = self._margins(model)
        return self._least(shares * (1 - shares), variances)

    def _least(self, above: Floats, below: Floats) -> Floats:
        least = quotients(above, below, np.inf).min(axis=-1)
        return np.asarray(least.reshape(self.converged.shape))

    def _margins(self, model: Independence) -> tuple[Floats, Floats]:
        """Return the proportions in all free marginals side by side, and their variances."""
        pi = self.proportions.reshape(-1, model.cells)
        information = self.information.reshape(len(pi), *self.information.shape[-2:])
        covariance = np.linalg.inv(_ridged(information))
        slopes = slopes_at(pi, model.design)
        shares, variances = [], []
        for axis in range(len(model.shape)):
            slope = model.margin(slopes, axis)
            shares.append(model.margin(pi, axis))
            variances.append(np.sum(slope * (covariance @ slope), axis=1))
        return np.concatenate(shares, axis=-1), np.concatenate(variances, axis=-1)


def fit_at(
    pi: Floats, records: Floats, channel: Channel, model: Independence, converged: Any = True
) -> ModelFit:
    """Return the fit with original proportions `pi`, tables of the `model`, shape (..., cells).

    `records` (numbers) and `converged` have the shape (...). `channel` is over the cells.
    """
    batch, shape = pi.reshape(-1, model.cells), pi.shape[:-1]
    reported = channel.reported(batch)
    slopes = slopes_at(batch, model.design)
    information = _information(slopes, reported, records.reshape(-1), channel)
    return ModelFit(
        pi,
        reported.reshape(*shape, channel.reports),
        information.reshape(*shape, *information.shape[1:]),
        np.full(shape, converged, dtype=bool),
    )


def fit_through_channel(reports: npt.ArrayLike, channel: Channel, model: Independence) -> ModelFit:
    """Return the tables of a `model` that maximize the likelihood of counts of randomized values.

    Fisher scoring with halved steps runs over all tables at once. `reports`, shape (..., reports),
    are counts through the `channel` over the joint cells. A `DeniableError` is raised if the
    channel is singular or does not fit the model, or if the counts are invalid.
    """
    if channel.size != model.cells:
        raise DeniableError(
            f"the channel has {channel.size} categories, but the model's tables have "
            f"{model.cells} cells; give the channel of the joint cells"
        )
    if channel.singular:
        raise SingularChannelError(
            f"the channel over {channel.size} categories is singular: randomized values cannot "
            "distinguish between models; change its probabilities"
        )
    counts = np.asarray(reports, dtype=float)
    channel.frequencies(counts)  # raises the same errors as an estimate
    batch, shape = counts.reshape(-1, channel.reports), counts.shape[:-1]
    theta, converged = _scored(batch, channel, model)
    pi = softmax(theta @ model.design.T, axis=-1).reshape(*shape, model.cells)
    return fit_at(pi, batch.sum(axis=1), channel, model, converged.reshape(shape))


def _scored(batch: Floats, channel: Channel, model: Independence) -> tuple[Floats, Flags]:
    """Return the parameters after the last scoring step, and flags of convergence."""
    records = batch.sum(axis=1)
    rough = euclidean_projection(channel.estimate(batch, "own"))
    even = (1 - EVENED) * rough + EVENED / model.cells
    theta: Floats = np.asarray(np.log(model.fit(even)) @ model.design)
    converged = np.zeros(len(batch), dtype=bool)
    running = np.arange(len(batch))
    current = _log_likelihood(batch, theta, channel, model)
    for _ in range(MAX_STEPS):
        n, at = batch[running], theta[running]
        pi = softmax(at @ model.design.T, axis=-1)
        reported = channel.reported(pi)
        slopes = slopes_at(pi, model.design)
        # Without a floor a value may have the probability 0; then it does not occur.
        score = np.einsum("bpc,bc->bp", slopes, channel.expected(quotients(n, reported)))
        information = _ridged(_information(slopes, reported, records[running], channel))
        step = np.linalg.solve(information, score[:, :, None])[:, :, 0]
        promised = np.einsum("bp,bp->b", score, step) / 2
        done = promised < TOLERANCE
        converged[running[done]] = True
        theta[running[done]] += step[done]  # this last step doubles the correct digits
        running, step, at = running[~done], step[~done], at[~done]
        if not running.size:
            break
        largest = np.abs(step @ model.design.T).max(axis=1, keepdims=True)
        step *= np.minimum(1.0, LONGEST_STEP / np.maximum(largest, 1e-300))
        theta[running], current[running], moved = _climb(
            batch[running], at, step, current[running], channel, model
        )
        running = running[moved]  # without a better point at any step length, a table is final
        if not running.size:
            break
    return theta, converged


def slopes_at(pi: Floats, design: Floats) -> Floats:
    """Return derivatives of the cells `pi` by the parameters of a `design` matrix.

    The shape is (tables, parameters, cells).
    """
    return np.asarray(pi[:, None, :] * (design.T - (pi @ design)[:, :, None]))


def _information(slopes: Floats, reported: Floats, records: Floats, channel: Channel) -> Floats:
    tables, parameters, _ = slopes.shape
    found = np.empty((tables, parameters, parameters))
    for those in portions(tables, parameters * channel.reports):
        through = channel.reported(slopes[those])
        weighted = through * quotients(records[those, None], reported[those])[:, None, :]
        np.matmul(weighted, np.swapaxes(through, 1, 2), out=found[those])
    return found


def portions(tables: int, entries: int) -> Iterator[slice]:
    """Yield slices of `tables` that fit in memory if each table has `entries` numbers."""
    at_once = max(ENTRIES_AT_ONCE // max(entries, 1), 1)
    return (slice(start, start + at_once) for start in range(0, tables, at_once))


def _log_likelihood(batch: Floats, theta: Floats, channel: Channel, model: Independence) -> Floats:
    reported = channel.reported(softmax(theta @ model.design.T, axis=-1))
    with np.errstate(divide="ignore"):
        logs = np.log(reported)
    return np.asarray(np.where(batch > 0, batch * logs, 0.0).sum(axis=-1))


def _climb(
    batch: Floats,
    theta: Floats,
    step: Floats,
    current: Floats,
    channel: Channel,
    model: Independence,
) -> tuple[Floats, Floats, Flags]:
    """Take a step, and halve it until the likelihood does not fall."""
    theta, current = theta.copy(), current.copy()
    pending, length = np.arange(len(batch)), 1.0
    for _ in range(MAX_HALVINGS):
        trial = theta[pending] + length * step[pending]
        found = _log_likelihood(batch[pending], trial, channel, model)
        better = found >= current[pending]
        theta[pending[better]] = trial[better]
        current[pending[better]] = found[better]
        pending, length = pending[~better], length / 2
        if not pending.size:
            break
    moved = np.ones(len(batch), dtype=bool)
    moved[pending] = False
    return theta, current, moved


def _ridged(information: Floats) -> Floats:
    # If a marginal proportion tends to 0, so does the information in one direction.
    size = information.shape[-1]
    scale = np.einsum("bpp->b", information) / max(size, 1)
    ridge = (RIDGE * np.maximum(scale, 1e-300))[:, None, None] * np.eye(size)
    return np.asarray(information + ridge)
