"""Protocols and plans of a stated epsilon: records split, attributes sampled, clusters, pairs."""

from collections.abc import Callable, Sequence
from functools import cache
from itertools import combinations, product
from math import prod

import numpy as np

from deniable.channels import KeepOrReplace, refuse_bad_budget
from deniable.errors import DeniableError
from deniable.randomized_response.budgets.plan import Group, Question, QuestionPlan
from deniable.randomized_response.budgets.splitting import (
    ChannelOf,
    How,
    checked_channel,
    mean_variance,
    split_budget,
)
from deniable.randomized_response.dependence import Clusters
from deniable.randomized_response.protocols import Protocol
from deniable.records import Domain

NONUNIFORMITY = 0.03
"""alpha_2 of Yang and others (2020): what they recommend."""
FEWEST_RANGES = 2


def split_record(
    domain: Domain,
    epsilon: float,
    how: How = "even",
    channel_of: ChannelOf = KeepOrReplace.of_epsilon,
) -> QuestionPlan:
    """Return the plan by which everybody answers for every attribute, epsilon split over them.

    The exact epsilon of a record of the `domain` is at most `epsilon`, above 0; `how` is that of
    `split_budget`, and `channel_of` makes an attribute's channel of its size and epsilon.
    """
    return split_clusters(domain, tuple((name,) for name in domain.names), epsilon, how, channel_of)


def split_clusters(
    domain: Domain,
    clusters: Clusters,
    epsilon: float,
    how: How = "even",
    channel_of: ChannelOf = KeepOrReplace.of_epsilon,
) -> QuestionPlan:
    """Return RR-Clusters ([multirr], section 4) of a stated epsilon, which is split over clusters.

    Everybody answers for every cluster; its joint cell goes through one channel, so that an
    attribute's epsilon is that of its cluster.

    Parameters
    ----------
    domain : Domain
    clusters : tuple of tuples of attribute names
        A partition of the attributes.
    epsilon : float, above 0
        The exact epsilon of a record is at most this.
    how : "even", "size" or "least_variance"
        As in `split_budget`, of the clusters' numbers of cells.
    channel_of : function, optional
        How a cluster is asked.
    """
    if sorted(name for cluster in clusters for name in cluster) != sorted(domain.names):
        raise DeniableError(
            f"clusters {clusters} are no partition of {', '.join(domain.names)}; each attribute "
            "belongs to one cluster"
        )
    sizes = [domain.project(cluster).size for cluster in clusters]
    shares = split_budget(epsilon, sizes, how, channel_of)
    questions = (
        _question(domain, cluster, share, channel_of)
        for cluster, share in zip(clusters, shares, strict=True)
    )
    return QuestionPlan(domain, (Group(1, tuple(questions)),))


def protocol_of_epsilon(
    domain: Domain,
    epsilon: float,
    clusters: Clusters | None = None,
    how: How = "even",
    channel_of: ChannelOf = KeepOrReplace.of_epsilon,
) -> Protocol:
    """Return RR-Independent, RR-Clusters or RR-Joint of a stated exact epsilon of a record.

    Each cluster has its share of epsilon (see `split_budget`) and goes, as joint cells, through one
    channel of it. The protocol's exact epsilon is at most the one asked for; by the channels that
    are taken by default it is short of it by rounding alone.

    Parameters
    ----------
    domain : Domain
    epsilon : float, above 0
    clusters : tuple of tuples of attribute names, optional
        By default each attribute by itself, RR-Independent; one of all attributes is RR-Joint.
    how : "even", "size" or "least_variance"
        How epsilon is split over the clusters.
    channel_of : function, optional
        How a cluster is asked; by default by generalized randomized response.

    Raises
    ------
    DeniableError
        If epsilon cannot be split so (see `split_budget`) or a cluster, which the message names,
        cannot be asked so.

    Examples
    --------
    >>> from deniable.records import Attribute
    >>> domain = Domain((Attribute("a", ("x", "y")), Attribute("b", ("x", "y", "z"))))
    >>> protocol = protocol_of_epsilon(domain, 1.0)
    >>> 1 - 1e-12 < protocol.epsilon <= 1
    True
    """
    parts = tuple((name,) for name in domain.names) if clusters is None else clusters
    sizes = [domain.project(cluster).size for cluster in parts]
    shares = split_budget(epsilon, sizes, how, channel_of)
    channels = []
    for cluster, size, share in zip(parts, sizes, shares, strict=True):
        try:
            channels.append(checked_channel(channel_of, size, share))
        except DeniableError as error:
            raise DeniableError(f"{' x '.join(cluster)}: {error}") from None
    return Protocol(domain, parts, tuple(channels))


def sample_attribute(
    domain: Domain,
    epsilon: float,
    weights: Sequence[float] | None = None,
    channel_of: ChannelOf = KeepOrReplace.of_epsilon,
) -> QuestionPlan:
    """Return the plan by which each person answers for one attribute, at the whole epsilon.

    Which one is drawn at random and is part of the report. The exact epsilon of a record is the
    largest of the attributes' own, at most `epsilon`, and that of an attribute its channel's.

    Parameters
    ----------
    domain : Domain
    epsilon : float, above 0
    weights : sequence of float, optional
        In proportion to the probability of each attribute, above 0; by default all alike. They are
        public and must not be made from the records that are asked about.
    channel_of : function, optional
        How an attribute is asked.
    """
    refuse_bad_budget(epsilon)
    names = domain.names
    shares = [1.0] * len(names) if weights is None else [float(weight) for weight in weights]
    if len(shares) != len(names):
        raise DeniableError(f"{len(shares)} weights for {len(names)} attributes; give one each")
    return QuestionPlan(
        domain,
        tuple(
            Group(share, (_question(domain, (name,), epsilon, channel_of),))
            for name, share in zip(names, shares, strict=True)
        ),
    )


def share_pairs(
    domain: Domain,
    epsilon: float,
    pairs: Clusters | None = None,
    channel_of: ChannelOf = KeepOrReplace.of_epsilon,
    records: int | None = None,
) -> QuestionPlan:
    """Return the plan by which each person answers for one pair, at the whole epsilon.

    A group a pair. Shares are in proportion to the root of the mean variance of a cell at uniform
    truth: that minimizes the sum over pairs of these variances (Neyman's allocation). The exact
    epsilon of a record, as of an attribute, is at most `epsilon`.

    With `records`, ordinal attributes of many categories are asked by ranges, the coarser the fewer
    persons and the smaller epsilon (adaptive grids, as TDG of Yang, Wang, Li, Cheng and Su, 2020,
    "Answering multi-dimensional range queries under local differential privacy", section 4.4). The
    numbers of ranges g and h of a pair minimize what the text takes for the squared error of a
    query of half of each attribute,

        (g h / 4) V(g h) / m + (alpha / g + alpha / h)^2,    alpha = .03,

    with m the persons of a pair, V computed from the channel instead of that of local hashing, and
    the second term without the attributes that keep their categories. Within a range estimates are
    even, which is a bias that standard errors do not show.

    Parameters
    ----------
    domain : Domain
        Of at least 2 attributes.
    epsilon : float, above 0
    pairs : tuple of pairs of attribute names, optional
        By default all.
    channel_of : function, optional
        How a pair is asked.
    records : int, optional
        How many persons will be asked; by default grids are full.
    """
    refuse_bad_budget(epsilon)
    asked = tuple(combinations(domain.names, 2)) if pairs is None else pairs
    if not asked or any(len(pair) != 2 for pair in asked):
        raise DeniableError("give at least one pair of two attributes")
    groups = []
    # Of pairs that are asked by ranges, one and the same number of cells is tried time and again.
    variance_of = cache(lambda cells: mean_variance(checked_channel(channel_of, cells, epsilon)))
    for pair in asked:
        shape = domain.project(pair).shape
        if records is not None:
            shape = _grid(domain.project(pair), records / len(asked), variance_of)
        question = _question(domain, pair, epsilon, channel_of, shape)
        variance = mean_variance(question.channel)
        groups.append((float(np.sqrt(max(variance, 0.0))), question))
    largest = max(root for root, _ in groups) or 1.0
    return QuestionPlan(
        domain,
        tuple(Group(max(root / largest, 1e-3), (question,)) for root, question in groups),
    )


def _question(
    domain: Domain,
    names: tuple[str, ...],
    epsilon: float,
    channel_of: ChannelOf,
    grid: tuple[int, ...] | None = None,
) -> Question:
    shape = domain.project(names).shape if grid is None else grid
    return Question(tuple(names), checked_channel(channel_of, prod(shape), epsilon), shape)


def _grid(pair: Domain, persons: float, variance_of: Callable[[int], float]) -> tuple[int, ...]:
    """Return the numbers of ranges of the least error; categories without order are kept."""

    def error(shape: tuple[int, ...]) -> float:
        cells = prod(shape)
        finer = zip(shape, pair.shape, strict=True)
        bias = sum(NONUNIFORMITY / ranges for ranges, size in finer if ranges < size)
        return cells / 4 * variance_of(cells) / persons + bias**2

    choices = [
        range(min(FEWEST_RANGES, attribute.size), attribute.size + 1)
        if attribute.scale == "ordinal"
        else (attribute.size,)
        for attribute in pair
    ]
    return min(product(*choices), key=error)
