"""Surrogates of published categorical files: Bayesian networks without records, and samples."""

import itertools

import numpy as np

from deniable.arrays import Counts, Floats
from deniable.datasets.networks import BayesianNetwork, ConditionalTable, Configuration, rows_in_use
from deniable.errors import DataError
from deniable.records import Microdata

MAX_SEARCHED_DOMAIN = 12  # attributes; the exact search visits every subset of attributes
MAX_PARENTS = 3
MIN_SUPPORT, MIN_CELL = 200, 3  # records behind a row of a table, and behind a cell that is not 0
UNITS = 10_000  # probabilities are written in ten-thousandths


def fit(microdata: Microdata, *, sha256: str = "") -> BayesianNetwork:
    """Fit a Bayesian network to `microdata`; equal data give exactly the same network.

    The structure has the largest AIC (log-likelihood in nats less the number of free parameters) of
    all networks with at most 3 parents. Dynamic programming over sets of attributes finds it
    exactly (Silander and Myllymäki, UAI 2006). The score applies the rules below.

    No row and no probability describes a single person. A row represents at least 200 records: a
    rarer configuration of parents shares a row with others that agree in the first parents. A cell
    represents at least 3 records: smaller ones become 0 or 3, so that each category keeps its total
    in the table. Probabilities are rounded to 4 digits.

    The provenance has the `sha256` of the published file. Raises `DataError` for more than 12
    attributes, more than 66 categories of one, or fewer than 200 records.
    """
    domain, records = microdata.domain, len(microdata)
    if len(domain) > MAX_SEARCHED_DOMAIN:
        raise DataError(
            f"{len(domain)} attributes, but the search for a structure allows at most "
            f"{MAX_SEARCHED_DOMAIN}; project the records first"
        )
    # With so many records in a row, some cell reaches `MIN_CELL`, so no row is empty.
    if records < MIN_SUPPORT or max(domain.shape) > MIN_SUPPORT // MIN_CELL:
        raise DataError(
            f"{records} records with up to {max(domain.shape)} categories of an attribute; give at "
            f"least {MIN_SUPPORT} records, and at most {MIN_SUPPORT // MIN_CELL} categories"
        )
    tables = []
    for child, parents in _best_structure(microdata):
        names = tuple(domain.names[parent] for parent in parents)
        counts = microdata.counts((*names, domain.names[child]))
        keys, weights, _ = _supported_rows(counts)
        probabilities = (_in_units(weights) / UNITS).tolist()
        rows = {key: tuple(row) for key, row in zip(keys, probabilities, strict=True)}
        tables.append(ConditionalTable(domain.names[child], names, rows))
    drawn = sample(BayesianNetwork(domain, tuple(tables)), records, np.random.default_rng(0))
    distance = pairwise_total_variation(microdata, drawn)
    provenance = {
        "records": records,
        "sha256": sha256,
        "max_parents": MAX_PARENTS,
        "min_support": MIN_SUPPORT,
        "min_cell": MIN_CELL,
        "mean_total_variation": round(float(distance.sum()) / max(1, len(distance)), 4),
        "largest_total_variation": round(max(distance.tolist(), default=0.0), 4),
    }
    return BayesianNetwork(domain, tuple(tables), provenance)


def _supported_rows(counts: Counts) -> tuple[list[Configuration], Counts, Counts]:
    """Return the keys of a table's rows, and their weights and records, (rows, categories).

    `counts` has an axis for each parent, in their order, and the axis of the child last.
    """
    margin = counts.reshape(-1, counts.shape[-1]).sum(axis=0)
    keys: list[Configuration] = []
    found = []
    for parents in range(counts.ndim - 1, 0, -1):
        own = counts.sum(axis=-1) >= MIN_SUPPORT
        keys += [tuple(key) for key in np.argwhere(own).tolist()]
        found.append(counts[own])
        counts = np.where(own[..., None], 0, counts).sum(axis=parents - 1)
    keys.append(())
    records = np.concatenate([*found, counts[None]])
    weights = records.copy()
    if counts.sum() < MIN_SUPPORT:
        weights[-1] = margin
    small = (weights > 0) & (weights < MIN_CELL)
    raised = (np.where(small, weights, 0).sum(axis=0) + MIN_CELL // 2) // MIN_CELL
    largest_first = np.argsort(np.where(small, -weights, 0), axis=0, kind="stable")
    rank = np.argsort(largest_first, axis=0, kind="stable")
    weights[small] = np.where(rank < raised, MIN_CELL, 0)[small]
    return keys, weights, records


def _in_units(weights: Counts) -> Counts:
    """Return rows scaled to the sum UNITS, by largest remainders, in integers on all machines."""
    units, remainder = np.divmod(weights * UNITS, weights.sum(axis=1, keepdims=True))
    rank = np.argsort(np.argsort(-remainder, axis=1, kind="stable"), axis=1, kind="stable")
    units += rank < UNITS - units.sum(axis=1, keepdims=True)
    return np.asarray(units, dtype=np.int64)


def _score(counts: Counts) -> int:
    """Return the AIC of one table in thousandths of a nat, as an integer: so ties are exact."""
    _, weights, records = _supported_rows(counts)
    total = weights.sum(axis=1, keepdims=True)
    # A record in a cell that was rounded to 0 counts as if the cell held one record.
    likelihood = (records * np.log(np.maximum(weights, 1) / total)).sum()
    return round(1000 * float(likelihood - np.count_nonzero(weights) + len(weights)))


def _best_structure(microdata: Microdata) -> list[tuple[int, tuple[int, ...]]]:
    """Return (child, ordered parents) in ancestral order; sets of attributes are bit masks."""
    size = len(microdata.domain)
    names = microdata.domain.names
    best_parents: dict[tuple[int, int], tuple[int, tuple[int, ...]]] = {}
    for child, among in itertools.product(range(size), range(1 << size)):
        members = [other for other in range(size) if among >> other & 1]
        if child in members:
            continue
        candidates = [best_parents[child, among & ~(1 << other)] for other in members]
        if len(members) <= MAX_PARENTS:
            counts = microdata.counts([*(names[other] for other in members), names[child]])
            for axes in itertools.permutations(range(len(members))):
                score = _score(counts.transpose(*axes, len(members)))
                candidates.append((score, tuple(members[axis] for axis in axes)))
        best_parents[child, among] = max(candidates, key=lambda candidate: candidate[0])
    # The best network over a set ends in some child, with the best network over the others.
    best: list[tuple[int, int]] = [(0, -1)]
    for among in range(1, 1 << size):
        ends = [
            (best[rest][0] + best_parents[child, rest][0], child)
            for child in range(size)
            if (rest := among & ~(1 << child)) != among
        ]
        best.append(max(ends, key=lambda end: end[0]))
    structure = []
    among = (1 << size) - 1
    while among:
        child = best[among][1]
        among &= ~(1 << child)
        structure.append((child, best_parents[child, among][1]))
    return structure[::-1]


def sample(network: BayesianNetwork, records: int, generator: np.random.Generator) -> Microdata:
    """Draw `records` records of a `network` by quota, each attribute given its parents.

    A row of a table has the probabilities of the categories, given values of the parents. Among
    the records that use this row, each category occurs in the expected number of records, rounded
    up or down at random without bias. These records are chosen at random. So a surrogate has the
    marginal distributions of the published file up to rounding, without sampling error. Equal
    states of the `generator` give equal records, in random order, marked with `data_source`
    "surrogate".
    """
    columns: dict[str, Counts] = {}
    for table in network.tables:
        row, cumulative = rows_in_use(table, network.domain, columns, records)
        users = np.bincount(row, minlength=len(cumulative))[:, None]
        # Systematic rounding: one uniform offset per row rounds every count down or up.
        offset = generator.random((len(cumulative), 1))
        reached = np.minimum(np.floor(users * cumulative + offset).astype(np.int64), users)
        counts = np.diff(reached, axis=1, prepend=0)
        shuffled = generator.permutation(records)
        by_row = shuffled[np.argsort(row[shuffled], kind="stable")]
        codes = np.empty(records, dtype=np.int64)
        codes[by_row] = np.repeat(np.tile(np.arange(counts.shape[1]), len(counts)), counts.ravel())
        columns[table.attribute] = codes
    order = generator.permutation(records)
    return Microdata(
        network.domain,
        tuple(columns[name][order] for name in network.domain.names),
        {"data_source": "surrogate"},
    )


def pairwise_total_variation(a: Microdata, b: Microdata) -> Floats:
    """Return the distances of the two-way marginal distributions of two files, `a` and `b`.

    There is one for each pair of attributes: half the sum of absolute differences, in 0 .. 1. Both
    files have the same domain, and records.
    """
    pairs = itertools.combinations(a.domain.names, 2)
    gaps = (a.counts(pair) / len(a) - b.counts(pair) / len(b) for pair in pairs)
    return np.array([float(np.abs(gap).sum()) / 2 for gap in gaps])
