"""Multi-dimensional randomized response: RR-Independent, RR-Joint and RR-Clusters ([multirr]).

The attributes are partitioned into clusters, and each cluster has its own channel. RR-Independent
has clusters of one attribute, and RR-Joint has one cluster.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal, TypeVar, get_args

import numpy as np

from deniable.arrays import Codes
from deniable.channels import (
    MAX_MATRIX_ENTRIES,
    Channel,
    KeepOrReplace,
    ProductChannel,
    log_rounded_up,
    product_of_ratios,
)
from deniable.errors import DeniableError, named_types, refuse_unknown
from deniable.records import Attribute, Domain, Microdata
from deniable.sampling import Numbers, RandomnessSource

Reading = Literal["printed", "keep", "diagonal"]
"""Interpretations of the RR matrix of [multirr], 6.3.1; see `rr_channel`."""

ClusterMechanism = Literal["joint", "kronecker"]
"""Ways to randomize a cluster of attributes; see `cluster_channel`."""

Projection = Literal["clip", "simplex", "likelihood"]
"""Ways to turn an unbiased estimate into a distribution; see `deniable.estimation`."""

PairEstimator = Literal[
    "randomized",
    "randomized_joint",
    "rr_independent",
    "pair_unbiased",
    "pair_clipped",
    "pair_projected",
    "pair_likelihood",
]
"""Estimators of the joint distribution of two attributes."""

Assessment = Literal[
    "attributes", "attributes_inverted", "secure_sum", "pairs_joint", "pairs_kronecker"
]
"""Ways to assess dependences without a trusted party; see `assessment`."""

Clustering = tuple[tuple[str, ...], ...]
"""Clusters of attributes, by name."""

READINGS: tuple[Reading, ...] = get_args(Reading)
CLUSTER_MECHANISMS: tuple[ClusterMechanism, ...] = get_args(ClusterMechanism)

Probability = TypeVar("Probability", float, Fraction)
MAX_JOINT_CELLS = 1000  # the limit of the audit cell by cell
MIN_RECORDS_PER_CELL = 10
BETWEEN = " | "
LONGEST_LABEL = 60
OF_ALL = "any"


def rr_channel(size: int, p: float, reading: Reading) -> KeepOrReplace:
    """Return the RR matrix of an attribute ([multirr], 6.3.1), in one of three interpretations.

    The paper has p on the diagonal and (1 - p) / |A| elsewhere; these rows do not sum to 1. The
    `reading` is

    - ``printed``: each of these rows is divided by its sum. Epsilon is the published
      |ln(p |A| / (1 - p))|. For p |A| < 1 - p the diagonal is the smaller entry.
    - ``keep``: the answer is kept with the probability p, and otherwise replaced by one of the |A|
      categories at random. Epsilon is ln(1 + p |A| / (1 - p)).
    - ``diagonal``: p on the diagonal, (1 - p) / (|A| - 1) elsewhere. Epsilon is
      |ln(p (|A| - 1) / (1 - p))|.

    The number of categories |A|, `size`, is at least 1, and `p` is in (0, 1).
    """
    _refuse_bad(size, p, reading)
    if size == 1:
        return KeepOrReplace(1.0, np.zeros(1))
    if reading == "keep":
        return KeepOrReplace.uniform(size, p)
    if reading == "diagonal":
        return KeepOrReplace.from_entries(size, p, (1 - p) / (size - 1))
    elsewhere = (1 - p) / size
    total = p + (size - 1) * elsewhere
    return KeepOrReplace.from_entries(size, p / total, elsewhere / total)


def rr_odds(size: int, p: Probability, reading: Reading) -> Probability:
    """Return diagonal / off-diagonal entry of an RR matrix ([multirr], 6.3.1), of the type of `p`.

    `size`, `p` and `reading` are as in `rr_channel`. The result is exact for a fraction `p`.
    """
    _refuse_bad(size, p, reading)
    if size == 1:  # the only category is returned for every p
        return p / p
    if reading == "diagonal":
        return p * (size - 1) / (1 - p)
    odds = p * size / (1 - p)
    return odds if reading == "printed" else 1 + odds


def claimed_epsilon(size: int, p: float, reading: Reading) -> float:
    """Return the epsilon of an attribute by the paper's formula (6.3.1), under a `reading`.

    `size`, `p` and `reading` are as in `rr_channel`. The channel's own `epsilon` is exact.
    """
    return abs(math.log(rr_odds(size, p, reading)))


def cluster_channel(
    sizes: Sequence[int], p: float, reading: Reading, mechanism: ClusterMechanism
) -> Channel:
    """Return the channel of a cluster of attributes with `sizes` categories.

    `p` and `reading` are as in `rr_channel` for each attribute, `mechanism` is one of

    - ``joint`` (6.3.2): one matrix over the cluster's cells. It has p_C on the diagonal and p_C
      exp(-sum of the attributes' epsilons) elsewhere, with p_C = 1 / (1 + (cells - 1) exp(-sum)).
      In the published p_C the sign of (cells - 1) is wrong.
    - ``kronecker``: one matrix per attribute. [castell] inverts their product by attribute.

    For a change of all attributes, both have epsilon = sum of the attributes' epsilons. For a
    change of one attribute, ``kronecker`` has that attribute's epsilon, ``joint`` the whole sum.
    """
    refuse_unknown("cluster mechanism", mechanism, CLUSTER_MECHANISMS)
    if len(sizes) == 1:
        return rr_channel(sizes[0], p, reading)
    if mechanism == "kronecker":
        return ProductChannel(tuple(rr_channel(size, p, reading) for size in sizes))
    cells = math.prod(sizes)
    odds = math.exp(-sum(claimed_epsilon(size, p, reading) for size in sizes))
    diagonal = 1 / (1 + (cells - 1) * odds)
    return KeepOrReplace.from_entries(cells, diagonal, diagonal * odds)


@dataclass(frozen=True, eq=False)
class Protocol:
    """A partition of a domain's attributes into clusters, each with a channel for its cells.

    `clusters` are tuples of attribute names of the `domain`, and `channels` are in their order.
    Given a record's original values, its randomized values of different clusters are independent.
    So the epsilon of a whole record is exactly the sum over clusters.
    """

    domain: Domain
    clusters: Clustering
    channels: tuple[Channel, ...]

    def __post_init__(self) -> None:
        names = sorted(name for cluster in self.clusters for name in cluster)
        if names != sorted(self.domain.names):
            raise DeniableError(
                f"clusters have {', '.join(names)}, but the domain has "
                f"{', '.join(sorted(self.domain.names))}; each attribute belongs to one cluster"
            )
        if len(self.channels) != len(self.clusters):
            raise DeniableError(
                f"{len(self.clusters)} clusters, but {len(self.channels)} channels; give one "
                "channel per cluster"
            )
        for cluster, channel in zip(self.clusters, self.channels, strict=True):
            name, part = " x ".join(cluster), self.domain.project(cluster)
            if len(channel.shape) > 1 and channel.shape != part.shape:
                raise DeniableError(
                    f"the cluster {name} has {part.shape} categories, but its channels "
                    f"{channel.shape}; give a channel for each attribute, in their order"
                )
            if channel.size != part.size:
                text = f"the cluster {name} has {part.size} cells, but its channel {channel.size}"
                raise DeniableError(text)

    @property
    def epsilon(self) -> float:
        """Exact epsilon of one whole record, rounded up."""
        return ProductChannel(self.channels).epsilon

    def epsilon_by_changed_attribute(self) -> dict[str, float]:
        """Return the exact epsilon of a change in one attribute, rounded up, by attribute."""
        sent = list(zip(self.clusters, self.channels, strict=True))
        return {name: composed_epsilon(self.domain, sent, name) for name in self.domain.names}

    def channel_of(self, cluster: Sequence[str]) -> Channel:
        """Return the channel of a `cluster`, one of `clusters`."""
        return self.channels[self.clusters.index(tuple(cluster))]

    def randomize(
        self, data: Microdata, chance: RandomnessSource, records: Numbers | None = None
    ) -> Microdata:
        """Randomize every record ([multirr], Protocols 1 and 2, randomization part).

        `data` has the original records, over the domain. `chance` draws the randomized records,
        over `report_domain`. For keyed draws, `records` has their numbers in the whole file, by
        default from 0.
        """
        reported: dict[str, Codes] = {}
        ways = zip(self.clusters, self.channels, self._reports, strict=True)
        for cluster, channel, domain in ways:
            own = [data.column(name) for name in cluster]
            # The codes of a single column are its cells; they keep their small type.
            cells = own[0] if len(own) == 1 else self.domain.project(cluster).ravel(own)
            reports = channel.report(cells, chance, cluster, records)
            reported.update(zip(domain.names, domain.unravel(reports), strict=True))
        known = all(channel.returns_categories for channel in self.channels)
        ordered = data.domain if known else self.report_domain
        return Microdata(ordered, tuple(reported[name] for name in ordered.names), data.marks)

    def reported_as(self, cluster: Sequence[str]) -> Domain:
        """Return the domain of a `cluster`'s randomized values; see `as_reports`."""
        return self._reports[self.clusters.index(tuple(cluster))]

    @cached_property
    def _reports(self) -> tuple[Domain, ...]:
        # Cached, because a channel may have tens of thousands of randomized values with names.
        pairs = zip(self.clusters, self.channels, strict=True)
        return tuple(as_reports(self.domain.project(names), channel) for names, channel in pairs)

    @cached_property
    def report_domain(self) -> Domain:
        """The domain of a randomized file. A cluster is at the place of its first attribute."""
        own = {name: cluster for cluster in self.clusters for name in cluster}
        of_cluster = dict(zip(self.clusters, self._reports, strict=True))
        found: dict[str, Attribute] = {}
        for name in self.domain.names:
            reports = of_cluster[own[name]]
            named = (reports[name],) if name in reports.names else reports
            found |= {each.name: each for each in named}
        return Domain(tuple(found.values()))

    def refuse_other_reports(self) -> None:
        """Raise `DeniableError` unless each channel has as many randomized values as categories."""
        for cluster, channel in zip(self.clusters, self.channels, strict=True):
            if not channel.square:
                raise DeniableError(
                    f"the channel of the cluster {' x '.join(cluster)} has {channel.reports} "
                    f"randomized values for {channel.size} cells, so they are not categories of "
                    "these attributes; give a square channel"
                )


def composed_epsilon(
    domain: Domain, reports: Iterable[tuple[Sequence[str], Channel]], changed: str | None = None
) -> float:
    """Return the exact epsilon of independent messages about one record.

    It is the sum of their epsilons, rounded up once. The sum is exact for the matrices of this
    module. They have the same ratio for any two cells, so two records that differ in all attributes
    are the worst pair for every message. `reports` has, for each message, attribute names of the
    `domain` and their channel; an attribute may be in several. `changed` is the attribute that
    changes, by default all of them.
    """

    def parity(names: Sequence[str], channel: Channel) -> Fraction | None:
        if changed is None:
            return channel.exact_parity
        return channel.parity_of_attribute(domain.project(names).shape, names.index(changed))

    told = [each for each in reports if changed is None or changed in each[0]]
    return log_rounded_up(product_of_ratios(parity(*each) for each in told))


@named_types
def rr_independent(domain: Domain, p: float, reading: Reading) -> Protocol:
    """Return RR-Independent, which randomizes every attribute separately ([multirr], Protocol 1).

    It is for the attributes of `domain`, with `p`, in (0, 1), and `reading` as in `rr_channel`.
    """
    return rr_clusters(domain, tuple((name,) for name in domain.names), p, reading, "kronecker")


@named_types
def rr_clusters(
    domain: Domain, clusters: Clustering, p: float, reading: Reading, mechanism: ClusterMechanism
) -> Protocol:
    """Return RR-Clusters for given clusters ([multirr], section 4).

    The `clusters` are a partition of the attributes of the `domain`. `p` and `reading` are as in
    `rr_channel`, the `mechanism` as in `cluster_channel`.
    """
    channels = tuple(
        cluster_channel(domain.project(cluster).shape, p, reading, mechanism)
        for cluster in clusters
    )
    return Protocol(domain, clusters, channels)


@named_types
def rr_joint(domain: Domain, records: int, p: float, reading: Reading) -> Protocol:
    """Return RR-Joint: one matrix over all cells of the domain ([multirr], Protocol 2).

    Raises `DeniableError` if the `domain` has over 1,000 cells, or there are fewer than 10
    `records` per cell. Bound (7) of the paper requires n much larger than the number of cells. `p`
    and `reading` are as in `rr_channel`.
    """
    refuse_too_large(domain, records)
    return rr_clusters(domain, (domain.names,), p, reading, "joint")


def refuse_too_large(domain: Domain, records: int) -> None:
    """Raise `DeniableError` unless one matrix over all cells of a `domain` suits the `records`."""
    cells = domain.size
    if cells > MAX_JOINT_CELLS or records < MIN_RECORDS_PER_CELL * cells:
        from deniable.estimation import best_case_relative_error  # noqa: PLC0415 - for a message

        error = best_case_relative_error(cells, records)
        raise DeniableError(
            f"RR-Joint over {', '.join(domain.names)} has {cells:,} cells for {records:,} records; "
            f"it takes at most {MAX_JOINT_CELLS:,} cells and at least {MIN_RECORDS_PER_CELL} "
            f"records per cell. By bound (7), estimates need n >> number of cells: here even equal "
            f"frequencies would have a relative error of {error:.0%} (simultaneous 95 %, before "
            "any randomization). Name fewer attributes, or use rr_clusters"
        )


def _refuse_bad(size: int, p: float | Fraction, reading: str) -> None:
    if size < 1:
        raise DeniableError(f"an attribute needs at least one category, not {size}")
    if not 0 < p < 1:
        raise DeniableError(f"p is {p}; it must be above 0 and below 1")
    refuse_unknown("reading", reading, READINGS)


def as_reports(part: Domain, channel: Channel) -> Domain:
    """Return the domain of the randomized values of attributes, `part`, through one `channel`.

    If the values are categories of these attributes, it is `part`. Otherwise it is one attribute
    that has the names of all of them, and one category per randomized value. The name of a value
    has the categories that give it the highest probability. If such names are long or ambiguous,
    the values are numbered from 1.

    Examples
    --------
    >>> from deniable.channels import SubsetSelection
    >>> colours = Domain((Attribute("colour", ("red", "green", "blue")),))
    >>> as_reports(colours, SubsetSelection(3, 2, 0.8))["colour"].categories
    ('red | green', 'red | blue', 'green | blue')
    """
    if channel.returns_categories:
        return part
    labels = [str(number) for number in range(1, channel.reports + 1)]
    if channel.size * channel.reports <= MAX_MATRIX_ENTRIES:
        categories, named = part.cell_labels(), []
        for column in channel.matrix().T:
            likeliest = [categories[u] for u in (column == column.max()).nonzero()[0]]
            named.append(OF_ALL if len(likeliest) == len(categories) else BETWEEN.join(likeliest))
        if len(set(named)) == len(named) and max(map(len, named)) <= LONGEST_LABEL:
            labels = named
    return Domain((Attribute(" x ".join(part.names), tuple(labels)),))
