"""The protocol of least variance for a number of categories and an epsilon, within a cost."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats
from deniable.channels.base import Channel
from deniable.channels.keep_or_replace import KeepOrReplace
from deniable.channels.maps import distribution
from deniable.channels.protocols.hadamard import HadamardResponse
from deniable.channels.protocols.projective_geometry import (
    MAX_TRANSFORM as MAX_PROJECTIVE_TRANSFORM,
    ProjectiveGeometry,
    work as projective_work,
)
from deniable.channels.protocols.pure import MAX_TALLY
from deniable.channels.protocols.subset_selection import MAX_ENUMERATED, SubsetSelection
from deniable.errors import ChannelError

ProtocolKind = Literal["generalized-rr", "subset-selection", "hadamard", "projective-geometry"]
MAX_WORK = 2**32
"""Steps of an estimate allowed by default: seconds."""


@dataclass(frozen=True)
class ProtocolCandidate:
    """A protocol at an epsilon, and what it costs.

    Parameters
    ----------
    kind : str
        As in `deniable.channels.makers.MAKERS`.
    name : str
    channel : Channel
    variance : float
        n times the mean variance of the own estimates of the categories, sampling included.
    work : float
        About how many steps an estimate from a tally takes, of a nanosecond or a few.
    fast : bool
        Whether a report is drawn in tens of nanoseconds, not hundreds.
    """

    kind: ProtocolKind
    name: str
    channel: Channel
    variance: float
    work: float
    fast: bool


@dataclass(frozen=True)
class ProtocolChoice:
    """The candidate `chosen`, the `reason`, and all `candidates`, the least variance first."""

    chosen: ProtocolCandidate
    reason: str
    candidates: tuple[ProtocolCandidate, ...]

    @property
    def channel(self) -> Channel:
        """The channel of the chosen protocol."""
        return self.chosen.channel


def best_protocol(
    size: int,
    epsilon: float,
    proportions: npt.ArrayLike | None = None,
    *,
    fast: bool = False,
    largest_work: float = MAX_WORK,
) -> ProtocolChoice:
    """Return the protocol whose own estimates have the least mean variance, within a cost.

    Compared are generalized randomized response, subset selection, Hadamard response and
    projective geometry response, each of at most this exact epsilon. By the inverse "least" the
    variance of a protocol can only be lower.

    Parameters
    ----------
    size : int, at least 1
    epsilon : float, in (0, 30]
    proportions : array, shape (size,), optional
        The true ones, about; by default all alike.
    fast : bool
        Whether only protocols are allowed whose reports are drawn in tens of nanoseconds:
        generalized randomized response and Hadamard response.
    largest_work : float
        Steps that an estimate may take. Generalized randomized response is allowed always. The
        prime of projective geometry response is the best of those that take no more.

    Raises
    ------
    ChannelError
        If epsilon is not in (0, 30], or the proportions are no distribution over the categories.

    Examples
    --------
    >>> best_protocol(10, 1.0).chosen.name
    'subset selection'
    >>> best_protocol(100_000, 1.0).chosen.name
    'projective geometry response'
    >>> best_protocol(100_000, 1.0, fast=True).chosen.name
    'Hadamard response'
    """
    if size < 1:
        raise ChannelError(f"a protocol is for at least one category, not {size}")
    even = np.array([1 / size])
    shares = even if proportions is None else distribution(proportions)
    if proportions is not None and shares.size != size:
        raise ChannelError(f"{shares.size} proportions for {size} categories; give one each")
    # Equal to the last bit where two kinds are the same channel in another order.
    candidates = sorted(
        _candidates(size, epsilon, shares, largest_work),
        key=lambda each: float(f"{each.variance:.12g}"),
    )
    allowed = [
        each
        for each in candidates
        if isinstance(each.channel, KeepOrReplace)
        or (each.work <= largest_work and (each.fast or not fast))
    ]
    chosen = allowed[0]
    return ProtocolChoice(chosen, _reason(chosen, candidates, fast), tuple(candidates))


def _candidates(
    size: int, epsilon: float, shares: Floats, largest_work: float
) -> list[ProtocolCandidate]:
    response = KeepOrReplace.of_epsilon(size, epsilon)
    variance = float(np.mean(_variance_of_response(response, shares)))
    named: tuple[ProtocolKind, str] = "generalized-rr", "generalized randomized response"
    found = [ProtocolCandidate(*named, response, variance, size, fast=True)]
    if size < 2:
        return found
    subsets = SubsetSelection.of_epsilon(size, epsilon)
    if subsets.subset_size > 1 and subsets.reports <= MAX_ENUMERATED:
        variance = float(np.mean(subsets.own_variance(shares)))
        work = subsets.reports * subsets.subset_size
        named = "subset-selection", "subset selection"
        found.append(ProtocolCandidate(*named, subsets, variance, work, fast=False))
    hadamard = HadamardResponse.of_epsilon(size, epsilon)
    if hadamard.reports <= MAX_TALLY:
        variance = float(np.mean(hadamard.own_variance(shares)))
        steps = hadamard.reports * math.log2(hadamard.reports)
        named = "hadamard", "Hadamard response"
        found.append(ProtocolCandidate(*named, hadamard, variance, steps, fast=True))
    if size < MAX_PROJECTIVE_TRANSFORM:
        geometry = ProjectiveGeometry.of_epsilon(size, epsilon, largest_work=largest_work)
        if geometry.dimension == 2:  # one report a category, and one or more for nobody
            return found
        variance = float(np.mean(geometry.own_variance(shares)))
        steps = projective_work(size, geometry.prime)
        named = "projective-geometry", "projective geometry response"
        found.append(ProtocolCandidate(*named, geometry, variance, steps, fast=False))
    return found


def _variance_of_response(response: KeepOrReplace, shares: Floats) -> Floats:
    """Return l (1 - l) / a ** 2, with l the share of a category among the reports."""
    a = response.diagonal_weight
    reported = (1 - a) / response.size + a * shares if response.size > 1 else shares
    return np.asarray(reported * (1 - reported) / a**2)


def _reason(chosen: ProtocolCandidate, candidates: list[ProtocolCandidate], fast: bool) -> str:
    """Return the choice in words."""
    others = [each for each in candidates if each is not chosen]
    worse = [each for each in others if each.variance >= chosen.variance]
    words = [f"{chosen.name}: n times the mean variance is {chosen.variance:.4g}"]
    if worse:
        words.append(
            "against " + ", ".join(f"{each.variance:.4g} by {each.name}" for each in worse)
        )
    for each in others:
        if each not in worse:
            slow = fast and not each.fast
            cost = "is drawn more slowly" if slow else f"takes {each.work:.2g} steps"
            words.append(f"{each.name} has {each.variance:.4g}, but {cost}")
    return "; ".join(words)
