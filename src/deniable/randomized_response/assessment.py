"""Three protocols to assess dependences without a trusted party ([multirr], 4.1 to 4.3).

Clusters are formed from the dependence of every pair of attributes, which no party can compute
alone. Each protocol returns a two-way table for every pair. Estimates, by equation (2), are clipped
at 0 and rescaled (6.4), because Cramer's V needs proportions of at least 0.
"""

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import get_args

import numpy as np
from numpy.random import Generator

from deniable.arrays import Counts, Floats
from deniable.channels import Channel, ProductChannel
from deniable.errors import DeniableError, refuse_unknown
from deniable.estimation import clip_and_rescale, estimate_or_uniform
from deniable.randomized_response.adjustment import weighted_pairs
from deniable.randomized_response.dependence import Pair
from deniable.randomized_response.protocols import (
    Assessment,
    ClusterMechanism,
    Protocol,
    Reading,
    claimed_epsilon,
    cluster_channel,
    composed_epsilon,
    rr_independent,
)
from deniable.records import Domain, Microdata

# Tables of randomized values, and for measures of dependence, shape (..., rows, columns).
PairCounts = Mapping[Pair, Counts]
PairTables = Mapping[Pair, Floats]


def two_way_counts(data: Microdata) -> dict[Pair, Counts]:
    """Count every pair of attributes in `data`, three times as fast as `Microdata.counts`."""
    tables = weighted_pairs(data.columns, None, data.domain.shape)
    return dict(zip(combinations(data.domain.names, 2), tables, strict=True))


@dataclass(frozen=True, eq=False)
class AssessmentProtocol(ABC):
    """The messages of the parties, the estimates from them, and their epsilons.

    Epsilons are for one party's randomized values before any sum (see
    `deniable.randomized_response.waiver`). The `domain` has at least two attributes.
    """

    domain: Domain

    def __post_init__(self) -> None:
        if len(self.domain) < 2:
            raise DeniableError(
                f"the domain has one attribute, {self.domain.names[0]!r}; dependences need two or "
                "more"
            )

    @abstractmethod
    def drawn_reports(self, data: Microdata, generator: Generator, runs: int) -> PairCounts:
        """Return pair counts of the protocol on original records, `data`.

        The `generator` draws `runs` replicates, on the first axis of the tables.
        """

    def tables(self, reports: PairCounts) -> PairTables:
        """Return the tables for measures of dependence: the counts `reports`, or estimates."""
        return {pair: counts.astype(float) for pair, counts in reports.items()}

    @property
    @abstractmethod
    def sent(self) -> Sequence[tuple[tuple[str, ...], Channel]]:
        """The messages of a party: blocks of attributes and their channels."""

    @property
    def epsilon(self) -> float:
        """Exact epsilon of one whole record, rounded up: the sum over all its messages."""
        return composed_epsilon(self.domain, self.sent)

    def epsilon_by_changed_attribute(self) -> dict[str, float]:
        """Return the exact epsilon of a change in one attribute, rounded up, by attribute.

        It is the sum over the messages that depend on the attribute.
        """
        return {name: composed_epsilon(self.domain, self.sent, name) for name in self.domain.names}


@dataclass(frozen=True, eq=False)
class AttributeReports(AssessmentProtocol):
    """Randomized response on each attribute of a `domain` ([multirr], 4.1).

    All pairs use the same randomization of each attribute, with `p` and `reading` as in
    `deniable.randomized_response.protocols.rr_channel`. Dependences are measured on the randomized
    values. If `inverted`, an addition to [multirr], they are measured on estimated joint
    distributions.

    Examples
    --------
    >>> from deniable.records import Attribute
    >>> domain = Domain((Attribute("a", ("0", "1")), Attribute("b", ("0", "1", "2"))))
    >>> protocol = AttributeReports(domain, 0.5, "keep")
    >>> round(protocol.epsilon, 6) == round(math.log(3) + math.log(4), 6)
    True
    """

    p: float
    reading: Reading
    inverted: bool = False

    @cached_property
    def protocol(self) -> Protocol:
        """The protocol RR-Independent of all attributes."""
        return rr_independent(self.domain, self.p, self.reading)

    def drawn_reports(self, data: Microdata, generator: Generator, runs: int) -> PairCounts:
        drawn = [two_way_counts(self.protocol.randomize(data, generator)) for _ in range(runs)]
        return {pair: np.stack([run[pair] for run in drawn]) for pair in drawn[0]}

    def tables(self, reports: PairCounts) -> PairTables:
        if not self.inverted:
            return super().tables(reports)
        own = {name: channel for (name,), channel in self.sent}
        channels = {(one, two): ProductChannel((own[one], own[two])) for one, two in reports}
        return _clipped_estimates(reports, channels)

    @property
    def sent(self) -> Sequence[tuple[tuple[str, ...], Channel]]:
        return list(zip(self.protocol.clusters, self.protocol.channels, strict=True))


@dataclass(frozen=True, eq=False)
class SecureSum(AssessmentProtocol):
    """Exact bivariate distributions of a `domain` by secure sum ([multirr], 4.2).

    The tables equal the original ones (see `deniable.randomized_response.secure_sums`), so the
    original records are counted. No epsilon bounds the disclosure by these tables. Protection needs
    trust, and large counts.
    """

    def drawn_reports(self, data: Microdata, generator: Generator, runs: int) -> PairCounts:
        tables = two_way_counts(data).items()
        return {pair: np.broadcast_to(table, (runs, *table.shape)) for pair, table in tables}

    sent = ()  # no randomized value

    @property
    def epsilon(self) -> float:
        """Infinity, because a count may reveal the value of a party with certainty."""
        return math.inf

    def epsilon_by_changed_attribute(self) -> dict[str, float]:
        return dict.fromkeys(self.domain.names, math.inf)


@dataclass(frozen=True, eq=False)
class PairReports(AssessmentProtocol):
    """Randomized response on each pair of attributes, counted by secure sum ([multirr], 4.3).

    The `mechanism` of a cluster of two randomizes each pair of the `domain`. It is "joint", one
    matrix for the pair as in the paper, or "kronecker" (see
    `deniable.randomized_response.protocols.cluster_channel`). `p` and `reading` are as in
    `rr_channel`.
    """

    p: float
    reading: Reading
    mechanism: ClusterMechanism = "joint"

    @cached_property
    def channels(self) -> dict[Pair, Channel]:
        """The channel of every pair, in the order of the domain."""
        given, pairs = (self.p, self.reading, self.mechanism), combinations(self.domain.names, 2)
        return {pair: cluster_channel(self.domain.project(pair).shape, *given) for pair in pairs}

    def drawn_reports(self, data: Microdata, generator: Generator, runs: int) -> PairCounts:
        # The counts of masked pairs are drawn from the original counts.
        drawn = {}
        for pair, true in two_way_counts(data).items():
            cells = np.broadcast_to(true.reshape(-1), (runs, true.size))
            counts = self.channels[pair].randomize_counts(cells, generator)
            drawn[pair] = counts.reshape(runs, *true.shape)
        return drawn

    def tables(self, reports: PairCounts) -> PairTables:
        return _clipped_estimates(reports, self.channels)

    @property
    def sent(self) -> Sequence[tuple[tuple[str, ...], Channel]]:
        return list(self.channels.items())

    @property
    def waived_epsilon(self) -> float:
        """The paper's claimed epsilon of a record, "as if each attribute were released only once".

        `deniable.randomized_response.waiver` refutes it.
        """
        return sum(claimed_epsilon(size, self.p, self.reading) for size in self.domain.shape)


def assessment_protocol(
    method: Assessment, domain: Domain, p: float, reading: Reading
) -> AssessmentProtocol:
    """Return the protocol of a `method` for the attributes of a `domain`.

    `p` and `reading` are as in `rr_channel`; "secure_sum" does not use them.
    """
    refuse_unknown("assessment", method, get_args(Assessment))
    if method == "secure_sum":
        return SecureSum(domain)
    if method.startswith("attributes"):
        return AttributeReports(domain, p, reading, method == "attributes_inverted")
    return PairReports(domain, p, reading, "joint" if method == "pairs_joint" else "kronecker")


def epsilons(protocol: Protocol | AssessmentProtocol) -> dict[str, float]:
    """Return the exact epsilons of a `protocol`, rounded up, by name of their column in tables.

    ``record_epsilon`` is for the whole record, ``attribute_epsilon`` the largest for one attribute.
    """
    of_attributes = protocol.epsilon_by_changed_attribute()
    return {"attribute_epsilon": max(of_attributes.values()), "record_epsilon": protocol.epsilon}


def _clipped_estimates(reports: PairCounts, channels: Mapping[Pair, Channel]) -> PairTables:
    """Estimate the distribution of each pair, with one warning for all singular channels."""
    if erased := [" x ".join(pair) for pair in reports if channels[pair].singular]:
        warnings.warn(
            f"the channels of {len(erased)} of {len(reports)} pairs are singular "
            f"({', '.join(erased)}): the estimates of their singular attributes are uniform",
            RuntimeWarning,
            stacklevel=3,
        )
    tables = {}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the channel over .* is singular", RuntimeWarning)
        for pair, counts in reports.items():
            flat = counts.reshape(*counts.shape[:-2], -1)
            estimate = clip_and_rescale(estimate_or_uniform(flat, channels[pair]))
            tables[pair] = estimate.reshape(counts.shape)
    return tables
