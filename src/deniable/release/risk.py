"""Measure the disclosure risk of a protected file, for its owner alone.

If randomized values are not categories, the intruder takes each one for the category that leads to
it most often. If there are several, the intruder takes the middle one.

The probability that a protected record with the quasi-identifiers j belongs to a given person with
these is M[j, j] / R[j]. M is their transition matrix and R[j] the expected number of randomized
records with j. SOURCE: Shlomo and Skinner (2010), "Assessing the protection provided by
misclassification-based disclosure limitation methods for survey microdata", for a file of all
persons that are matched.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from deniable.arrays import Codes, Counts, Floats, quotients
from deniable.channels import Channel
from deniable.errors import DeniableError, shown
from deniable.plans import Plan
from deniable.randomized_response import Protocol
from deniable.records import Microdata
from deniable.schema import OutsideBounds

MAX_MATRIX_ENTRIES = 1 << 22
MAX_CELLS = 1 << 21
MAX_VALUES = 100_000
RISK_OF_RECORDS = "all records"
EXPOSED = 3  # categories shown of a column
GROUPS = {1: "no other", 2: "at most one other", 4: "at most 3 others"}
"""Sizes of small groups of records, and the other records of a group in words."""
SAME = 1e-12  # relative difference of equal probabilities
Rows = list[tuple[str, str, float, float]]


class Risk:
    """Counts of original and randomized records of a `plan`, batch by batch.

    Raises `DeniableError` if the quasi-identifiers are not randomized columns, have too many cells,
    or are only a part of a jointly randomized cluster.

    The `quasi_identifiers` are columns that an intruder may know. `left_out` is the number of
    records that were left out for missing values, and `outside` counts the values outside bounds.
    `groups` counts the rows of each combination of values that are released unchanged.
    """

    def __init__(self, plan: Plan, quasi_identifiers: Sequence[str]) -> None:
        self._protocol = plan.record_protocol
        self._original: dict[str, Counts] = {}
        self._unchanged: Counter[str] = Counter()
        self._records = self.left_out = 0
        self.groups: Counter[str] = Counter()
        self.outside: tuple[OutsideBounds, ...] = ()
        self._passed: dict[str, _Values] = {}
        names = tuple(quasi_identifiers)
        self._known = _QuasiIdentifiers(self._protocol, names) if names else None

    def add_groups(self, table: pa.Table) -> None:
        """Count the rows of a `table` of columns that are released unchanged, if there are any."""
        if names := table.column_names:
            own = table.group_by(names).aggregate([([], "count_all")])
            keys = map(str, own.select(names).to_pylist())
            self.groups.update(dict(zip(keys, own["count_all"].to_pylist(), strict=True)))

    def add(
        self, original: Microdata, randomized: Microdata, passed: Mapping[str, pa.Array]
    ) -> None:
        """Add a batch: `original` and `randomized` values, and the unchanged columns, `passed`."""
        self._records += len(original)
        for name, column in passed.items():
            self._passed.setdefault(name, _Values()).add(column)
        for attribute in original.domain:
            name, codes = attribute.name, original.column(attribute.name)
            counts = np.bincount(codes, minlength=attribute.size)
            self._original[name] = self._original.get(name, 0) + counts
            if name in randomized.domain.names and randomized.domain[name] == attribute:
                same = np.count_nonzero(codes == randomized.column(name))
                self._unchanged[name] += int(same)
        if self._known is not None:
            self._known.add(original, randomized)

    def add_unchanged(self, name: str, unchanged: int, records: int) -> None:
        """Add the number of `unchanged` numbers in the column `name`, of all `records`."""
        self._unchanged[name] += unchanged
        self._records = max(self._records, records)

    def exact_cells(self) -> pd.DataFrame:
        """Return the number and the proportion of unchanged values of each column."""
        table = pd.DataFrame({"attribute": [*self._unchanged], "records": self._records})
        table["exact"] = [*self._unchanged.values()]
        return table.assign(share=table["exact"] / max(self._records, 1))

    def outside_bounds(self) -> pd.DataFrame:
        """Return the counts of values outside the bounds of each numeric column."""
        names = ["column", "lower_bound", "upper_bound", "below", "above", "proportion"]
        rows = [(e.column, e.low, e.high, e.below, e.above, e.proportion) for e in self.outside]
        return pd.DataFrame(rows, columns=names)

    def table(self) -> pd.DataFrame:
        """Return all measures."""
        exact = self.exact_cells()
        rows: Rows = [
            (name, "proportion of values released unchanged", 1.0, share)
            for name, share in zip(exact["attribute"], exact["share"], strict=True)
        ]
        rows += [row for name in self._original for row in self._exposed(name)]
        for name, values in self._passed.items():
            rows += [(name, measure, number, number) for measure, number in values.measures()]
        if self._known is not None:
            rows += self._known.measures()
        if self.left_out:
            rows.append((RISK_OF_RECORDS, "records left out for missing values", self.left_out, 0))
        return pd.DataFrame(rows, columns=["about", "measure", "before", "after"])

    def _exposed(self, name: str) -> Rows:
        if self._protocol is None or (name,) not in self._protocol.clusters:
            return []
        channel = self._protocol.channel_of((name,))
        if _is_large(channel) or not self._records:
            return []
        shares = self._original[name] / self._records
        posterior = np.nanmax(channel.posterior(shares), axis=0)
        there = np.flatnonzero(shares > 0)
        exposed = there[np.argsort(-posterior[there], kind="stable")[:EXPOSED]]
        categories = self._protocol.domain[name].categories
        measure = "largest posterior probability of {!r}"
        return [
            (name, measure.format(categories[u]), float(shares[u]), float(posterior[u]))
            for u in exposed.tolist()
        ]


class _QuasiIdentifiers:
    """Counts of records by quasi-identifiers, before and (unless too expensive) after a draw."""

    def __init__(self, protocol: Protocol | None, names: tuple[str, ...]) -> None:
        for name in names:
            if names.count(name) > 1:
                text = f"the quasi-identifier {shown(name)} is given twice; name it once"
                raise DeniableError(text)
        if protocol is None:
            raise DeniableError(
                "risks of quasi-identifiers are measured for plans that randomize all records in "
                "the same way; leave --quasi-identifiers out"
            )
        self._protocol, self._domain = protocol, protocol.domain.project(names)
        if self._domain.size > MAX_CELLS:
            raise DeniableError(
                f"the quasi-identifiers {', '.join(names)} have {self._domain.size:,} cells, over "
                f"{MAX_CELLS:,}; name fewer"
            )
        clusters = [each for each in protocol.clusters if not {*each}.isdisjoint(names)]
        for cluster in clusters:
            if not {*cluster} <= {*names}:
                name = next(name for name in names if name in cluster)
                raise DeniableError(
                    f"quasi-identifier {name!r} is randomized together with {', '.join(cluster)}; "
                    "name all of them, or none"
                )
        self._channels = {cluster: protocol.channel_of(cluster) for cluster in clusters}
        self._before = np.zeros(self._domain.size, dtype=np.int64)
        self._after: Counts | None = None
        if not any(map(_is_large, self._channels.values())):
            self._after = np.zeros(self._domain.size, dtype=np.int64)
            self._likeliest = {
                cluster: likeliest_cells(channel)
                for cluster, channel in self._channels.items()
                if not channel.returns_categories
            }

    def add(self, original: Microdata, randomized: Microdata) -> None:
        self._before += original.counts(self._domain.names).reshape(-1)
        if self._after is not None:
            self._after += self._taken_for(randomized).counts(self._domain.names).reshape(-1)

    def _taken_for(self, randomized: Microdata) -> Microdata:
        columns: dict[str, Codes] = {}
        for cluster in self._channels:
            if cluster not in self._likeliest:
                columns |= {name: randomized.column(name) for name in cluster}
                continue
            (name,) = self._protocol.reported_as(cluster).names
            cells = self._likeliest[cluster][randomized.column(name)]
            part = self._protocol.domain.project(cluster)
            columns |= dict(zip(part.names, part.unravel(cells), strict=True))
        return Microdata(self._domain, tuple(columns[name] for name in self._domain.names))

    def measures(self) -> Rows:
        about, before, after = " x ".join(self._domain.names), self._before, self._after
        rows: Rows = []
        for size, others in GROUPS.items():
            measure = f"records that share their quasi-identifiers with {others}"
            rows.append((about, measure, _in_groups(before, size), _in_groups(after, size)))
        if after is None:
            return rows
        kept, randomized = self._kept_and_randomized()
        there = before > 0
        # If no randomized value is taken for a category, it is never matched.
        right = quotients(kept, randomized)[there]
        share = 1 / before[there]
        expected = float(there.sum() / before.sum()), float(kept[there].sum() / before.sum())
        largest = float(share.max()), float(right.max())
        rows.append((about, "expected probability that a match is right", *expected))
        rows.append((about, "largest probability that a match is right", *largest))
        return rows

    def _kept_and_randomized(self) -> tuple[Floats, Floats]:
        """Return M[j, j] and the expected number of randomized records of each cell."""
        axes = [self._domain.position(name) for cluster in self._channels for name in cluster]
        table, kept = self._before.reshape(self._domain.shape).transpose(axes), np.ones(1)
        shape, randomized = table.shape, np.asarray(table, dtype=float)
        for cluster, channel in self._channels.items():
            matrix = channel.matrix()
            if cluster in self._likeliest:
                matrix = matrix @ (self._likeliest[cluster][:, None] == np.arange(channel.size))
            # The first axis of the table becomes the last one.
            randomized = randomized.reshape(channel.size, -1).T @ matrix
            kept = np.multiply.outer(kept, np.diag(matrix))
        back, both = np.argsort(axes), (kept, randomized)
        kept, randomized = (each.reshape(shape).transpose(back).reshape(-1) for each in both)
        return kept, randomized


class _Values:
    def __init__(self) -> None:
        self._counts: Counter[object] | None = Counter()

    def add(self, column: pa.Array) -> None:
        if self._counts is None:
            return
        found = pc.value_counts(column.drop_null())
        if len(found) <= MAX_VALUES:
            values, counts = (found.field(name).to_pylist() for name in ("values", "counts"))
            self._counts.update(dict(zip(values, counts, strict=True)))
        if max(len(found), len(self._counts)) > MAX_VALUES:
            self._counts = None

    def measures(self) -> Iterator[tuple[str, float]]:
        if self._counts is None:
            yield f"different values, over {MAX_VALUES:,}; at least", float(MAX_VALUES)
            return
        yield "different values that are released as is", float(len(self._counts))
        alone = sum(count == 1 for count in self._counts.values())
        yield "of them, values of one record alone", float(alone)


def likeliest_cells(channel: Channel) -> Codes:
    """Return the (middle) cell of a `channel` that leads to each value most often, (reports,)."""
    matrix = channel.matrix()
    likeliest = matrix >= matrix.max(axis=0) * (1 - SAME)
    middle = (likeliest.sum(axis=0) + 1) // 2
    return np.asarray((np.cumsum(likeliest, axis=0) >= middle).argmax(axis=0))


def _is_large(channel: Channel) -> bool:
    return channel.size * channel.reports > MAX_MATRIX_ENTRIES


def _in_groups(counts: Counts | None, size: int) -> float:
    if counts is None:
        return float("nan")
    return float(counts[(counts > 0) & (counts <= size)].sum())
