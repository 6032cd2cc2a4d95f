"""Synthetic data sets from an estimated joint distribution ([multirr], sections 1 and 3.2).

The text repeats "each combination of attribute values as many times as dictated by its frequency".
A frequency seldom dictates a whole number of records; here is how each estimate is rounded. All of
it starts from what is released already, so it costs no further privacy, however often it is drawn.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from deniable.arrays import Codes, Positions
from deniable.errors import DeniableError
from deniable.estimation import rescaled
from deniable.randomized_response.dependence import Clusters
from deniable.records import Domain, Microdata
from deniable.sampling import RandomSource, refuse_no_source

TIE_DIGITS = 9  # remainders that differ less are the same number, rounded differently


def repeat_cells(proportions: npt.ArrayLike, records: int) -> npt.NDArray[np.int64]:
    """Return how often to repeat each cell, by largest remainders.

    Every cell is within 1 of records x proportion, a cell of proportion 0 is not repeated, and the
    sum is exact. Equal remainders go to the first cell. Nothing is random; where most of the cells
    expect less than one record, what is rounded is a sizeable part of the whole, and always in
    favour of the larger cells.

    The `proportions` are of any shape and sum 1, the `records` at least one.

    Examples
    --------
    >>> repeat_cells([0.5, 0.26, 0.24], 10)
    array([5, 3, 2])
    """
    _refuse_no_records(records)
    shares = records * rescaled(proportions, "the proportions")
    times = np.floor(shares).astype(np.int64)
    remainders = np.round(shares - times, TIE_DIGITS).reshape(-1)
    order = np.argsort(-remainders, kind="stable")
    times.reshape(-1)[order[: records - int(times.sum())]] += 1
    return times


def synthesize(
    domain: Domain,
    clusters: Clusters,
    distributions: Sequence[npt.ArrayLike],
    records: int,
    source: RandomSource,
) -> Microdata:
    """Return synthetic records from the estimate of RR-Clusters, RR-Independent or RR-Joint.

    Each cluster's cells are repeated by largest remainders, and the clusters then matched at
    random: independent of each other, as the estimate takes them to be. A cluster's distribution is
    met as closely as whole records allow, whatever the match.

    The `clusters` are a partition of the `domain`'s attributes, each with one of `distributions`
    over its cells. So many `records`, at least one, are in random order, drawn from the `source`,
    and without marks.
    """
    refuse_no_source(source)
    names = [name for cluster in clusters for name in cluster]
    if sorted(names) != sorted(domain.names) or len(distributions) != len(clusters):
        raise DeniableError(
            f"{len(clusters)} clusters of {', '.join(names)} and {len(distributions)} "
            f"distributions, for the attributes {', '.join(domain.names)}; each attribute belongs "
            "to one cluster, each cluster has one distribution"
        )
    columns: dict[str, Codes] = {}
    for cluster, distribution in zip(clusters, distributions, strict=True):
        part = domain.project(cluster)
        times = repeat_cells(distribution, records).reshape(-1)
        if times.size != part.size:
            raise DeniableError(
                f"the cluster {' x '.join(cluster)} has {part.size} cells, but its distribution "
                f"{times.size}"
            )
        cells = np.repeat(np.arange(part.size), times)[_random_order(records, source)]
        columns.update(zip(cluster, part.unravel(cells), strict=True))
    return Microdata(domain, tuple(columns[name] for name in domain.names))


def repeat_records(
    reports: Microdata, weights: npt.ArrayLike, records: int, source: RandomSource
) -> Microdata:
    """Return synthetic records from the estimate of RR-Adjustment: weighted reports, repeated.

    Most of the combinations on file expect less than one record. Largest remainders would drop the
    light ones and round up the heavy ones, everywhere alike: a bias. Systematic sampling (one
    random start, then every whole step along the cumulated weights) repeats each record its
    expected number of times on average, exactly. Records are cumulated in the order of their cells,
    so that equal ones are neighbours: each combination, and each category of the first attribute,
    then comes within 1 of its expected number. The other attributes' categories lie scattered: they
    come within some 30 of 32,561 records on Adult, half of what independent draws would leave.

    So many `records`, at least one, are in random order, drawn from the `source`, and without
    marks. The `weights` of the randomized records, `reports`, are those of
    `deniable.randomized_response.adjustment.adjust`, shape (records,).
    """
    refuse_no_source(source)
    _refuse_no_records(records)
    shares = rescaled(weights, "the weights")
    if shares.shape != (len(reports),):
        raise DeniableError(f"{len(reports)} records, but weights of shape {shares.shape}")
    by_cell = np.lexsort(reports.columns[::-1])
    cumulated = np.cumsum(shares[by_cell])
    # Marks at start, start + 1, ...: each record gets those that fall into its own stretch. Divided
    # first, so that the last stretch ends at exactly `records`; compared by whole and fraction, for
    # a difference to the start might be rounded over a whole number.
    fraction, whole = np.modf(cumulated / cumulated[-1] * records)
    passed = whole.astype(np.int64) + (fraction > source.random(1)[0])
    chosen = np.repeat(by_cell, np.diff(passed, prepend=0))[_random_order(records, source)]
    return Microdata(reports.domain, tuple(column[chosen] for column in reports.columns))


def _random_order(size: int, source: RandomSource) -> Positions:
    # Sorted by random words, for a source of the operating system knows no permutations. Two words
    # are equal once in size**2 / 2**65 times.
    words = source.integers(-(2**63), 2**63, size)
    return np.argsort(words, kind="stable")


def _refuse_no_records(records: int) -> None:
    if records < 1:
        raise DeniableError(f"{records} synthetic records are asked for; ask for at least 1")
