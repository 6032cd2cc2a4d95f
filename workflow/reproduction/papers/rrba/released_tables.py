"""Distances of released from original tables: Tables 4 and 5 of [rrba], and at equal ε.

A trial releases the table of k attributes of a file of n = 8,000 records and measures its distance
from the original table. The text does not name the k attributes. Here the tables are all sets of k
attributes, or a limited number drawn with a recorded seed. The results are the mean over the sets
and the mean of each set.

The ``reading`` is the measured table:

- ``noisy``: the released table with its cells below 0, probably the table of the text for l2. It
  has no Jensen-Shannon distance.
- ``projected``: the closest table of counts with n records, step one of section 6. The published
  Jensen-Shannon distances need this table or a similar one.
- ``last_block`` (RRBA): the published protocol. Its table is computed by (4) from the last block
  alone and projected. ``noisy`` and ``projected`` pool all blocks.

All ε are for one answer about one table and the replacement of a record. Counts then have the
sensitivity 2, and Laplace noise of scale b has exactly ε = 2 / b.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from deniable import estimation, rrba
from deniable.arrays import Counts, Floats
from deniable.channels import HadamardResponse, KeepOrReplace, ProjectiveGeometry
from deniable.contingency import nearest_tables
from deniable.records import Microdata
from deniable.sampling import SeededNoise, generator_for

from reproduction.papers.rrba.compared_protocols import UnaryEncoding
from reproduction.papers.rrba.names import COMPARED, EVERY, MAIN_READINGS, PROTOCOLS, dataset_of
from reproduction.study import Cell, Simulated, Simulator, replicate, where

FIGURE_7_COLUMNS = (
    *("dataset", "file", "k", "p", "epsilon_claimed", "metric", "method"),
    *("bin_low", "bin_high", "count", "share", "trials", "subsets", "mean", "published"),
)
FIGURE_7_PANELS = (("survey_8000", 0.4), ("survey_8000", 0.5), ("alarm_8000", 0.5))
"""The files and p of Figure 7."""
BINS = 48  # in a panel of Figure 7, with equal widths on the logarithmic scale
MEASURES = {
    "l2": estimation.l2_distances,
    "squared_error": estimation.squared_errors,
    "jensen_shannon": estimation.jensen_shannon_distances,
    "chi_squared": estimation.chi_squared_between,
}
METRICS: Mapping[str, tuple[str, ...]] = {  # measures of each table (``reading``)
    "noisy": ("l2", "squared_error"),
    "projected": tuple(MEASURES),
    "last_block": tuple(MEASURES),
}
BOTH, LAST = ("noisy", "projected"), ("last_block",)
ADAPTED = {
    "rrba": rrba.POOLED,
    "rrba_half_floor": rrba.Rule("pooled", 0.5),
    "rrba_uniform": rrba.Rule("none"),
}
"""Rules for tables of RRBA, by method: cells of at least .1 / m or .5 / m, or a uniform table."""
COUNTED: Mapping[str, type[ProjectiveGeometry] | type[HadamardResponse]] = {
    "projective_geometry": ProjectiveGeometry,
    "hadamard": HadamardResponse,
}
"""The protocols with few randomized values, so each value can be counted. Their inverses are
unbiased for all tables."""
AT_ONCE = 3_000_000  # number of counts that are simulated together

Methods = Mapping[str, tuple[tuple[str, ...], str]]
ReleasedTables = Iterator[tuple[str, tuple[str, ...], Floats]]
"""Method, names of measured tables, and tables with the axes replicate and cell."""


@dataclass(frozen=True, eq=False)
class _Simulation(Simulator):
    """The common part of the two studies.

    The ``subset`` "all" is the mean over the sets, with the largest cells and ε of the sets.
    """

    files: Mapping[str, Microdata]  # by name
    subsets: int = 40  # largest number of sets of k attributes (`drawn_sets`)
    subset_seed: int = 2024  # of the choice of the sets
    block_size: int = 250  # B
    methods: ClassVar[Methods]
    """Measured tables and trust by method, in the order of the outputs. Trust is "local"; "central"
    if a curator sees the original table; or "oracle" if p depends on the original table."""

    def epsilon_exact(self, cell: Cell, method: str, reading: str, m: int) -> float:
        """Return the ε of one answer in a `cell`, by `method` and `reading`, about `m` cells."""
        return float(cell["epsilon"])

    def released(self, cell: Cell, true: Counts, generator: np.random.Generator) -> ReleasedTables:
        """Yield releases in a `cell` of `true` tables (replicates, cells), by `generator`."""
        raise NotImplementedError

    def simulate(self, cell: Cell, generator: np.random.Generator, replicates: int) -> Simulated:
        data = self.files[cell["file"]]
        sets = true_tables(data, cell["k"], self.subsets, self.subset_seed)
        true, names = list(sets.values()), (EVERY, *map("+".join, sets))
        found = {each: np.empty((replicates, len(true))) for each in self._measured()}
        for places in self._batches(true, replicates):
            tables = np.repeat([true[place] for place in places], replicates, axis=0)
            records = float(tables[0].sum())
            for method, readings, noisy in self.released(cell, tables, generator):
                nearest = nearest_tables(noisy, records)
                for reading, metric in ((r, metric) for r in readings for metric in METRICS[r]):
                    shown = noisy if reading == "noisy" else nearest
                    values = MEASURES[metric](shown, tables).reshape(len(places), replicates)
                    found[method, reading, metric][:, places] = values.T
        sizes = [table.size for table in true]
        for (method, reading, metric), values in found.items():
            of_size = {m: self.epsilon_exact(cell, method, reading, m) for m in {*sizes}}
            exact = [of_size[m] for m in sizes]
            columns = (values.mean(axis=1), *values.T)
            every = zip(names, (max(sizes), *sizes), (max(exact), *exact), columns, strict=True)
            one = {"metric": metric, "method": method, "reading": reading}
            one["trust"] = self.methods[method][1]
            for subset, m, epsilon, column in every:
                yield one | {"subset": subset, "cells": m, "epsilon_exact": epsilon}, column

    def blocks_of(self, true: Counts, generator: np.random.Generator) -> Counts:
        """Split `true` tables into random blocks with `generator`, (replicates, blocks, cells)."""
        return np.stack([rrba.split_blocks(table, self.block_size, generator) for table in true])

    def _measured(self) -> list[tuple[str, str, str]]:
        named = ((method, r) for method, (readings, _) in self.methods.items() for r in readings)
        return [(*names, metric) for names in named for metric in METRICS[names[1]]]

    def _batches(self, true: Sequence[Counts], replicates: int) -> Iterator[list[int]]:
        """Yield positions of tables with equal numbers of cells, in batches that fit in memory."""
        blocks = -(-int(true[0].sum()) // self.block_size)
        for cells in dict.fromkeys(table.size for table in true):
            places = [place for place, table in enumerate(true) if table.size == cells]
            step = max(AT_ONCE // (replicates * blocks * cells), 1)
            for start in range(0, len(places), step):
                yield places[start : start + step]


@dataclass(frozen=True, eq=False)
class PrintedTables(_Simulation):
    """Simulator of Tables 4 and 5: RRBA, and Laplace noise with two scales.

    The published scale is 2 |T| / ε; ``laplace_honest`` has the scale 2 / ε. For the pooled rule,
    the exact ε of RRBA is the bound by its floor. The published rule has no floor and no bound.
    """

    methods: ClassVar[Methods] = {
        "rrba": (BOTH + LAST, "local"),
        "laplace": (BOTH, "central"),
        "laplace_honest": (BOTH, "central"),
    }

    def epsilon_exact(self, cell: Cell, method: str, reading: str, m: int) -> float:
        if method == "rrba":
            floored = reading != "last_block"
            return rrba.floor_epsilon([m], cell["p"], rrba.POOLED.floor) if floored else math.inf
        claimed = float(cell["epsilon_claimed"])
        return claimed / m if method == "laplace" else claimed

    def released(self, cell: Cell, true: Counts, generator: np.random.Generator) -> ReleasedTables:
        records, m = int(true[0].sum()), true.shape[1]
        blocks = self.blocks_of(true, generator)
        pooled = rrba.collect(blocks, cell["p"], generator, rrba.POOLED)
        yield "rrba", BOTH, records * pooled.estimate()
        printed = rrba.collect(blocks, cell["p"], generator, rrba.PRINTED)
        yield "rrba", LAST, records * printed.state.table
        for method, factor in (("laplace", m), ("laplace_honest", 1)):
            yield method, BOTH, _laplace(true, 2 * factor / cell["epsilon_claimed"], generator)


@dataclass(frozen=True, eq=False)
class EqualEpsilon(_Simulation):
    """Simulator of releases with the same exact ε of one answer.

    The p of each method and table is the largest that ε allows. ``rrba_at_truth`` has the floor .1
    and the largest p that ε allows both for the original table with its floor and for the uniform
    table. This is the best case of adaptation, but without a guarantee: p depends on the original
    table, and intermediate tables may have smaller cells. ``randomized_response`` is the channel of
    ``rrba_uniform`` with another implementation.
    """

    methods: ClassVar[Methods] = {
        **dict.fromkeys((*ADAPTED, "randomized_response", *PROTOCOLS), (BOTH, "local")),
        "rrba_at_truth": (BOTH, "oracle"),
        "laplace_honest": (BOTH, "central"),
    }

    def released(self, cell: Cell, true: Counts, generator: np.random.Generator) -> ReleasedTables:
        records, m = int(true[0].sum()), true.shape[1]
        epsilon = float(cell["epsilon"])
        blocks = self.blocks_of(true, generator)
        for name, rule in ADAPTED.items():
            keep = rrba.keep_for_epsilon([m], epsilon, 1.0 if rule.basis == "none" else rule.floor)
            yield name, BOTH, records * rrba.collect(blocks, keep, generator, rule).estimate()
        elsewhere = 1 / (math.exp(epsilon) + m - 1)
        channel = KeepOrReplace.from_entries(m, 1 - (m - 1) * elsewhere, elsewhere)
        reports = channel.randomize_counts(true, generator)
        yield "randomized_response", BOTH, records * channel.estimate(reports)
        proportions = true / true.sum(axis=1, keepdims=True)
        smallest = rrba.floored_projection(proportions, rrba.POOLED.floor).min(axis=1)
        at_truth = np.empty(true.shape)
        for least in np.unique(smallest):
            runs = smallest == least
            # A floor of 2 q with 2 cells has the closed form for a smallest cell q.
            keep = rrba.keep_for_epsilon([2], epsilon, float(2 * least))
            at_truth[runs] = rrba.collect(blocks[runs], keep, generator, rrba.POOLED).estimate()
        yield "rrba_at_truth", BOTH, records * at_truth
        yield "laplace_honest", BOTH, _laplace(true, 2 / epsilon, generator)
        # A separate random stream, so the other methods have the same draws without these.
        stream = generator.spawn(1)[0]
        for name, protocol in COUNTED.items():
            counted = protocol.of_epsilon(m, epsilon)
            reports = counted.randomize_counts(true, stream)
            yield name, BOTH, records * counted.estimate(reports, inverse="own")
        # The bits of unary encoding are independent, so only the numbers of ones are drawn.
        bit = UnaryEncoding(m, epsilon)
        ones = stream.binomial(true, bit.own) + stream.binomial(records - true, bit.others)
        estimate = (ones / records - bit.others) / (bit.own - bit.others)
        yield "unary_encoding", BOTH, records * estimate


@cache
def true_tables(data: Microdata, k: int, most: int, seed: int) -> dict[rrba.Combination, Counts]:
    """Return the flat counts of each of the `drawn_sets` of `k` attributes of `data`."""
    sets = drawn_sets(data.domain.names, k, most, seed)
    return {names: data.counts(names).reshape(-1) for names in sets}


def _laplace(true: Counts, scale: float, generator: np.random.Generator) -> Floats:
    counts = true.astype(float)
    return np.asarray(SeededNoise(generator).add(counts, np.full(counts.shape, scale), 1)[0])


def drawn_sets(names: Sequence[str], k: int, most: int, seed: int) -> tuple[rrba.Combination, ...]:
    """Return all sets of `k` of `names`, or a number `most` of them drawn with `seed`, in order."""
    every = list(combinations(names, k))
    if len(every) <= most:
        return tuple(every)
    stream = generator_for(seed, {"sets of": list(names), "k": k, "most": most})
    return tuple(every[i] for i in sorted(stream.permutation(len(every))[:most]))


def figure_7_table(
    simulator: PrintedTables,
    cells: Sequence[Mapping[str, Any]],
    published: pd.DataFrame,
    **runs: Any,
) -> pd.DataFrame:
    """Return the histograms of Figure 7: distances over trials and sets of attributes.

    The `simulator` simulates the `cells` (settings) of Tables 4 and 5 that are in the figure.
    `runs` are arguments of `replicate`; with those of the study, the trials are the same as in the
    tables, with the same `published` averages. Columns are `FIGURE_7_COLUMNS`.
    """
    rows: list[dict[Any, Any]] = []
    for cell in (c for c in cells if (c["file"], c["p"]) in FIGURE_7_PANELS):
        names, values = replicate(simulator, cell=cell, **runs)
        outputs = pd.DataFrame(names)
        for metric in COMPARED:
            sets = where(outputs, metric=metric, reading=MAIN_READINGS[metric])
            sets = sets[sets["subset"] != EVERY]
            every = values[:, sets.index]
            # A distance of 0 has no logarithm and belongs to the first bin.
            edges = np.geomspace(every[every > 0].min() / 1.01, every.max() * 1.01, BINS + 1)
            for method, part in sets.groupby("method", sort=False):
                own = values.take(part.index, axis=1)
                counts, _ = np.histogram(np.maximum(own, edges[0]), edges)
                bins = pd.DataFrame({"bin_low": edges[:-1], "bin_high": edges[1:], "count": counts})
                bins = bins[counts > 0].assign(**cell, metric=metric, method=method)
                bins = bins.assign(trials=len(own), subsets=own.shape[1], mean=own.mean())
                rows += bins.assign(share=bins["count"] / own.size).to_dict("records")
    table = pd.DataFrame(rows, columns=[c for c in FIGURE_7_COLUMNS if c != "published"])
    table["dataset"] = table["file"].map(dataset_of)
    keys = [column for column in published if column not in ("published", "half_unit")]
    return table.merge(published, how="left", on=keys)[list(FIGURE_7_COLUMNS)]
