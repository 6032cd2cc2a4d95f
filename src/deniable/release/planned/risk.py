"""What a protected file leaves of the risk of its records, for their owner's eyes alone.

Rows of one table, in the columns ``about``, ``measure``, ``before``, ``after``: of each column the
share of values that are reported as they are and the largest posterior probability of its most
exposed categories; of the declared keys how many records are alone with theirs, or with few
others, and how probable it is that a match by them is right. Of columns that go out as they are,
how many values they have, and how many of these one record alone has. And how many records were
left out.

Where reports are no categories, an intruder takes each for the category that gives it most often,
in the middle of those that do so alike.

The probability that a protected record with the keys j is that of a given person with these keys is
M[j, j] / R[j], with M the channel of the keys and R[j] the expected number of records reported so:
SOURCE: Shlomo and Skinner (2010), "Assessing the protection provided by misclassification-based
disclosure limitation methods for survey microdata", for a file of all persons that are matched.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import pyarrow as pa

from deniable.arrays import Codes, Counts, Floats
from deniable.channels import Channel
from deniable.errors import DeniableError
from deniable.plans import ColumnsPlan
from deniable.randomized_response import Protocol, reports_categories
from deniable.records import Microdata
from deniable.release.planned.values import Values

LARGEST_MATRIX = 1 << 22
MOST_KEY_CELLS = 1 << 21
RECORDS = "all records"
EXPOSED = 3  # categories shown of a column
FEW = (1, 2, 4)
ALIKE = 1e-12  # relative: probabilities that differ by less are the same


class Risk:
    """Counts records and their reports, portion by portion.

    Parameters
    ----------
    plan : ColumnsPlan
    keys : sequence of str
        Columns that an intruder is taken to know.

    Attributes
    ----------
    left_out : int
        Number of records that were left out for missing values.

    Raises
    ------
    DeniableError
        If keys are no randomized columns, have too many cells, or are parts of a cluster.
    """

    def __init__(self, plan: ColumnsPlan, keys: Sequence[str]) -> None:
        self._protocol, self._keys = plan.protocol, tuple(keys)
        self._true = {name: np.zeros(size, dtype=np.int64) for name, size in self._sizes().items()}
        self._same = dict.fromkeys(self._true, 0)
        self._records = self.left_out = 0
        self._before: Counts | None = None
        self._after: Counts | None = None
        self._released = {name: Values() for name in plan.passed}
        if self._keys:
            self._begin_keys()

    def add(
        self,
        codes: Mapping[str, Codes],
        data: Microdata,
        reports: Microdata,
        released: Mapping[str, pa.Array],
    ) -> None:
        """Take the records of a portion, their `reports` in this order, what goes out as it is.

        The records are `data`, the randomized columns, and `codes`, by column; `released` columns
        go out as they are.
        """
        self._records += len(data)
        for name, values in self._released.items():
            values.add(released[name])
        for name, counts in self._true.items():
            np.add(counts, np.bincount(codes[name], minlength=counts.size), out=counts)
            if name in reports.domain.names and self._comparable(name):
                self._same[name] += int(np.count_nonzero(codes[name] == reports.column(name)))
        if self._before is not None:
            self._before += data.counts(self._keys).reshape(-1)
            if self._after is not None:
                self._after += self._taken_for(reports).counts(self._keys).reshape(-1)

    def exact_cells(self) -> pd.DataFrame:
        """Return how many values of each column are reported as they are, where they can be."""
        rows = [
            (name, self._records, same, same / max(self._records, 1))
            for name, same in self._same.items()
            if self._comparable(name)
        ]
        return pd.DataFrame(rows, columns=["attribute", "records", "exact", "share"])

    def table(self) -> pd.DataFrame:
        """Return all measures."""
        rows = [
            (row["attribute"], "share of values reported as they are", 1.0, row["share"])
            for row in self.exact_cells().to_dict("records")
        ]
        rows += [row for name in self._true for row in self._exposed(name)]
        for name, values in self._released.items():
            rows += [(name, measure, number, number) for measure, number in values.told()]
        if self._before is not None:
            rows += self._of_keys(self._before)
        if self.left_out:
            rows.append((RECORDS, "records left out for missing values", self.left_out, 0))
        return pd.DataFrame(rows, columns=["about", "measure", "before", "after"])

    def _sizes(self) -> dict[str, int]:
        return {each.name: each.size for each in self._protocol.domain}

    def _cluster_of(self, name: str) -> tuple[tuple[str, ...], Channel]:
        pairs = zip(self._protocol.clusters, self._protocol.channels, strict=True)
        return next(pair for pair in pairs if name in pair[0])

    def _comparable(self, name: str) -> bool:
        return reports_categories(self._cluster_of(name)[1])

    def _exposed(self, name: str) -> list[tuple[str, str, float, float]]:
        """Return the categories that a report raises most, before and after the likeliest one."""
        cluster, channel = self._cluster_of(name)
        if len(cluster) > 1 or channel.size * channel.reports > LARGEST_MATRIX:
            return []
        shares = self._true[name] / max(self._records, 1)
        joint = shares[:, None] * channel.matrix()
        reported = joint.sum(axis=0)
        posterior = (joint[:, reported > 0] / reported[reported > 0]).max(axis=1)
        there = np.flatnonzero(shares > 0)
        exposed = there[np.argsort(-posterior[there], kind="stable")[:EXPOSED]]
        categories = self._protocol.domain[name].categories
        measure = "largest posterior probability of {!r}"
        return [
            (name, measure.format(categories[u]), float(shares[u]), float(posterior[u]))
            for u in exposed.tolist()
        ]

    def _begin_keys(self) -> None:
        domain = self._protocol.domain.project(self._keys)
        if domain.size > MOST_KEY_CELLS:
            raise DeniableError(
                f"keys {', '.join(self._keys)} have {domain.size:,} cells, over "
                f"{MOST_KEY_CELLS:,}; name fewer keys"
            )
        for name in self._keys:
            cluster, _ = self._cluster_of(name)
            if not set(cluster) <= set(self._keys):
                raise DeniableError(
                    f"key {name!r} is randomized together with {', '.join(cluster)}; name all of "
                    "them as keys, or none"
                )
        self._before = np.zeros(domain.size, dtype=np.int64)
        channels = [self._cluster_of(name)[1] for name in self._keys]
        if all(each.size * each.reports <= LARGEST_MATRIX for each in channels):
            self._after = np.zeros(domain.size, dtype=np.int64)
            self._likeliest = {
                cluster: likeliest_cells(channel)
                for cluster in _within(self._protocol, self._keys)
                if not reports_categories(channel := self._protocol.channel_of(cluster))
            }

    def _taken_for(self, reports: Microdata) -> Microdata:
        """Return what an intruder takes the reports for, of the keys."""
        columns: dict[str, Codes] = {}
        for cluster in _within(self._protocol, self._keys):
            if cluster not in self._likeliest:
                columns |= {name: reports.column(name) for name in cluster}
                continue
            (reported,) = self._protocol.reported_as(cluster).names
            cells = self._likeliest[cluster][reports.column(reported)]
            part = self._protocol.domain.project(cluster)
            columns |= dict(zip(part.names, part.unravel(cells), strict=True))
        domain = self._protocol.domain.project(self._keys)
        return Microdata(domain, tuple(columns[name] for name in self._keys))

    def _of_keys(self, before: Counts) -> list[tuple[str, str, float, float]]:
        about, after = " x ".join(self._keys), self._after
        rows = []
        for few in FEW:
            measure = (
                "records alone with their keys" if few == 1 else f"records with up to {few} alike"
            )
            known = _with_up_to(after, few) if after is not None else float("nan")
            rows.append((about, measure, _with_up_to(before, few), known))
        if after is None:
            return rows
        kept, reported = _kept_and_reported(self._protocol, self._keys, before)
        there = before > 0
        # What no report is taken for is never matched.
        right = np.divide(kept, reported, out=np.zeros_like(kept), where=reported > 0)[there]
        share = 1 / before[there]
        return [
            *rows,
            (
                *(about, "expected probability that a match is right"),
                *(float(there.sum() / before.sum()), float(kept[there].sum() / before.sum())),
            ),
            (
                *(about, "largest probability that a match is right"),
                *(float(share.max()), float(right.max())),
            ),
        ]


def likeliest_cells(channel: Channel) -> Codes:
    """Return which cell of a `channel` gives each report most often; of several the middle.

    The shape is (reports,).
    """
    matrix = channel.matrix()
    likeliest = matrix >= matrix.max(axis=0) * (1 - ALIKE)
    middle = (likeliest.sum(axis=0) + 1) // 2
    return np.asarray((np.cumsum(likeliest, axis=0) >= middle).argmax(axis=0))


def _within(protocol: Protocol, keys: Sequence[str]) -> list[tuple[str, ...]]:
    return [cluster for cluster in protocol.clusters if set(cluster) <= set(keys)]


def _with_up_to(counts: Counts, few: int) -> float:
    return float(counts[(counts > 0) & (counts <= few)].sum())


def _kept_and_reported(
    protocol: Protocol, keys: Sequence[str], counts: Counts
) -> tuple[Floats, Floats]:
    """Return M[j, j] and the expected number of records reported as j, of each cell of the keys."""
    domain = protocol.domain.project(keys)
    clusters = _within(protocol, keys)
    ordered = [name for cluster in clusters for name in cluster]
    axes = [list(keys).index(name) for name in ordered]
    table = counts.reshape(domain.shape).transpose(axes).astype(float)
    sizes = [protocol.domain.project(cluster).size for cluster in clusters]
    table, kept = table.reshape(sizes), np.ones(1)
    for axis, cluster in enumerate(clusters):
        channel = protocol.channel_of(cluster)
        matrix = channel.matrix()
        if not reports_categories(channel):
            taken = np.zeros((channel.reports, channel.size))
            taken[np.arange(channel.reports), likeliest_cells(channel)] = 1
            matrix = matrix @ taken
        table = np.moveaxis(np.tensordot(matrix, table, axes=(0, axis)), 0, axis)
        kept = np.multiply.outer(kept, np.diag(matrix))
    shape = [domain.shape[axis] for axis in axes]
    back = np.argsort(axes)
    return tuple(  # type: ignore[return-value]
        each.reshape(shape).transpose(back).reshape(-1) for each in (kept, table)
    )
