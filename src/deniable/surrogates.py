"""Stand-ins for published categorical files: Bayesian networks that hold parameters, no records."""

import itertools
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from deniable.domain import Domain, refuse_foreign_codes
from deniable.errors import DataError, DeniableError
from deniable.files import read_json, write_text
from deniable.microdata import Microdata, attributes_to_json, domain_from_json

Configuration = tuple[int, ...]
Integers = npt.NDArray[np.int64]

LARGEST_SEARCHED_DOMAIN = 12  # attributes; the exact search visits every subset of them
UNITS = 10_000  # probabilities are written in ten-thousandths
SUM_TOLERANCE = 1e-6
ABOUT = (
    "A Bayesian network: parameters, no records. Tables stand in ancestral order. A row is "
    "[codes of the first parents, probabilities of the attribute's categories]; a record takes "
    "the longest row that agrees with its parents. Written by deniable.surrogates.fit and write."
)


@dataclass(frozen=True)
class ConditionalTable:
    """The distribution of one attribute given its parents, with fallbacks to fewer parents.

    Parameters
    ----------
    attribute : str
    parents : tuple of str
        From the one kept longest to the one given up first.
    rows : mapping of tuple of int to tuple of float
        From codes of the first parents to the probability of each category. A record uses the
        longest key that agrees with its parents; the empty key is the last resort.
    """

    attribute: str
    parents: tuple[str, ...]
    rows: Mapping[Configuration, tuple[float, ...]]

    @property
    def ordered_rows(self) -> list[tuple[Configuration, tuple[float, ...]]]:
        """Rows with shorter keys first, then by code."""
        return sorted(self.rows.items(), key=lambda row: (len(row[0]), row[0]))


@dataclass(frozen=True)
class BayesianNetwork:
    """A joint distribution as a product of conditional ones.

    Parameters
    ----------
    domain : Domain
    tables : tuple of ConditionalTable
        One for each attribute, parents before children.
    provenance : mapping of str to plain JSON values
        What `fit` was given (records, sha256 of the published file, options), and the mean and the
        largest total variation distance, over pairs of attributes, of as many records drawn.

    Raises
    ------
    DataError
        Naming table, row and fault: an attribute without a table or with two, an unknown attribute
        or category, parents in a cycle or out of order, a table without its last resort,
        probabilities that are negative or do not sum to 1 within 1e-6.
    """

    domain: Domain
    tables: tuple[ConditionalTable, ...]
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        before: set[str] = set()
        for table in self.tables:
            where = f"table of {table.attribute!r}"
            if table.attribute in before:
                raise DataError(f"{where}: the attribute has two tables; keep one")
            for position, name in enumerate(table.parents):
                self.domain.position(name)
                if name not in before or name in table.parents[:position]:
                    raise DataError(
                        f"{where}: the parent {name!r} is listed twice, in a cycle, or has its "
                        "table later; list it once, and tables so that parents come first"
                    )
            _refuse_bad_rows(table, self.domain, where)
            before.add(table.attribute)
        for name in self.domain.names:
            if name not in before:
                raise DataError(f"attribute {name!r} has no table; add one")

    @property
    def parents(self) -> dict[str, tuple[str, ...]]:
        """Parents of each attribute, in ancestral order."""
        return {table.attribute: table.parents for table in self.tables}


def _refuse_bad_rows(table: ConditionalTable, domain: Domain, where: str) -> None:
    size = domain[table.attribute].size
    parents = [domain[name] for name in table.parents]
    if () not in table.rows:
        raise DataError(f"{where}: no row for records without a row of their own; add the row []")
    for key, probabilities in table.rows.items():
        row = f"{where}, row {list(key)}"
        fault = ""
        if len(key) > len(parents):
            fault = f"{len(key)} codes, but {len(parents)} parents"
        elif len(probabilities) != size:
            fault = f"{len(probabilities)} probabilities, but {size} categories"
        elif not all(0 <= p <= 1 for p in probabilities):
            fault = "a probability is outside 0 .. 1"
        elif abs(math.fsum(probabilities) - 1) > SUM_TOLERANCE:
            fault = f"the probabilities sum to {math.fsum(probabilities):.9g}, not to 1"
        if fault:
            raise DataError(f"{row}: {fault}; mend the row, or fit the network again")
        for parent, code in zip(parents, key, strict=False):
            refuse_foreign_codes(np.array([code]), parent.size, f"{row}, parent {parent.name!r}")


def fit(
    microdata: Microdata,
    *,
    sha256: str = "",
    max_parents: int = 3,
    min_support: int = 200,
    min_cell: int = 3,
) -> BayesianNetwork:
    """Fit structure and tables; the same records give the same network, to the last digit.

    The structure has the largest AIC (log-likelihood in nats less the number of free parameters)
    of all networks with at most `max_parents` parents, found exactly by
    dynamic programming over sets of attributes (Silander and Myllymäki, UAI 2006). What is scored
    is what is kept under the rules below: no dependence is chosen that they would erase.

    No row and no probability describes a single person. A row stands for `min_support` records or
    more: a rarer parent configuration shares a row with the others that agree in the first parents.
    A cell stands for `min_cell` records or more: smaller ones become 0 or `min_cell`, so that each
    category keeps its total in the table. Probabilities are rounded to 4 digits.

    Parameters
    ----------
    microdata : Microdata, at most 12 attributes
    sha256 : str
        Of the published file, for the provenance.
    max_parents, min_support, min_cell : int

    Raises
    ------
    DataError
        If attributes are too many, records or `min_support` too few, or an option makes no sense.
    """
    domain, records = microdata.domain, len(microdata)
    if len(domain) > LARGEST_SEARCHED_DOMAIN:
        raise DataError(
            f"{len(domain)} attributes, but the search for a structure takes at most "
            f"{LARGEST_SEARCHED_DOMAIN}; project the records first"
        )
    if max_parents < 0 or min_cell < 1:
        raise DataError(
            f"max_parents is {max_parents}, min_cell {min_cell}; give at least 0 and at least 1"
        )
    # With so many records in a row some cell reaches `min_cell`: no row is left empty.
    needed = min_cell * max(domain.shape)
    if not needed <= min_support <= records:
        raise DataError(
            f"min_support is {min_support}; it must lie between {needed} (min_cell times the "
            f"largest number of categories) and {records} (the number of records)"
        )
    tables = []
    for child, parents in _best_structure(microdata, max_parents, min_support, min_cell):
        names = tuple(domain.names[parent] for parent in parents)
        counts = microdata.counts((*names, domain.names[child]))
        keys, weights, _ = _supported_rows(counts, min_support, min_cell)
        probabilities = (_in_units(weights) / UNITS).tolist()
        rows = {key: tuple(row) for key, row in zip(keys, probabilities, strict=True)}
        tables.append(ConditionalTable(domain.names[child], names, rows))
    drawn = sample(BayesianNetwork(domain, tuple(tables)), records, np.random.default_rng(0))
    distance = pairwise_total_variation(microdata, drawn)["total_variation"]
    provenance = {
        "records": records,
        "sha256": sha256,
        "max_parents": max_parents,
        "min_support": min_support,
        "min_cell": min_cell,
        "mean_total_variation": round(float(distance.sum()) / max(1, len(distance)), 4),
        "largest_total_variation": round(max(distance, default=0.0), 4),
    }
    return BayesianNetwork(domain, tuple(tables), provenance)


def _supported_rows(
    counts: Integers, min_support: int, min_cell: int
) -> tuple[list[Configuration], Integers, Integers]:
    """Return the rows of a table: keys, weights (rows, categories), records likewise.

    `counts` has an axis for each parent, in their order, and the child's last.
    """
    margin = counts.reshape(-1, counts.shape[-1]).sum(axis=0)
    keys: list[Configuration] = []
    found = []
    for parents in range(counts.ndim - 1, 0, -1):
        own = counts.sum(axis=-1) >= min_support
        keys += [tuple(key) for key in np.argwhere(own).tolist()]
        found.append(counts[own])
        counts = np.where(own[..., None], 0, counts).sum(axis=parents - 1)
    keys.append(())
    records = np.concatenate([*found, counts[None]])
    weights = records.copy()
    if counts.sum() < min_support:
        weights[-1] = margin
    small = (weights > 0) & (weights < min_cell)
    raised = (np.where(small, weights, 0).sum(axis=0) + min_cell // 2) // min_cell
    largest_first = np.argsort(np.where(small, -weights, 0), axis=0, kind="stable")
    rank = np.argsort(largest_first, axis=0, kind="stable")
    weights[small] = np.where(rank < raised, min_cell, 0)[small]
    return keys, weights, records


def _in_units(weights: Integers) -> Integers:
    """Scale each row to sum to UNITS, by largest remainders: integers, so the same everywhere."""
    total = weights.sum(axis=1, keepdims=True)
    units, remainder = np.divmod(weights * UNITS, total)
    rank = np.argsort(np.argsort(-remainder, axis=1, kind="stable"), axis=1, kind="stable")
    units += rank < UNITS - units.sum(axis=1, keepdims=True)
    return np.asarray(units, dtype=np.int64)


def _score(counts: Integers, min_support: int, min_cell: int) -> int:
    """Return the AIC of one table in thousandths of a nat: an integer, so that ties are ties."""
    _, weights, records = _supported_rows(counts, min_support, min_cell)
    total = weights.sum(axis=1, keepdims=True)
    # A record in a cell that was rounded to 0 counts as if the cell held one record.
    likelihood = (records * np.log(np.maximum(weights, 1) / total)).sum()
    return round(1000 * float(likelihood - np.count_nonzero(weights) + len(weights)))


def _best_structure(
    microdata: Microdata, max_parents: int, min_support: int, min_cell: int
) -> list[tuple[int, tuple[int, ...]]]:
    """Return (child, ordered parents) in ancestral order; sets of attributes are bit masks."""
    size = len(microdata.domain)
    names = microdata.domain.names
    best_parents: dict[tuple[int, int], tuple[int, tuple[int, ...]]] = {}
    for child, among in itertools.product(range(size), range(1 << size)):
        members = [other for other in range(size) if among >> other & 1]
        if child in members:
            continue
        candidates = [best_parents[child, among & ~(1 << other)] for other in members]
        if len(members) <= max_parents:
            counts = microdata.counts([*(names[other] for other in members), names[child]])
            for axes in itertools.permutations(range(len(members))):
                ordered = counts.transpose(*axes, len(members))
                score = _score(ordered, min_support, min_cell)
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
    """Draw records, each attribute given its parents, by quota.

    Among the records that use one row of a table, each category gets the expected number, rounded
    up or down at random without bias, and who gets it is random. A stand-in for a published file
    should have that file's margins; with independent draws they would carry a sample's noise on
    top of the error of the model.

    Parameters
    ----------
    network : BayesianNetwork
    records : int
    generator : numpy.random.Generator
        Equal generators give equal records.

    Returns
    -------
    Microdata
        In random order, marked with `data_source` "surrogate".
    """
    columns: dict[str, Integers] = {}
    for table in network.tables:
        row, cumulative = _rows_in_use(table, network.domain, columns, records)
        users = np.bincount(row, minlength=len(cumulative))[:, None]
        # Systematic rounding: one uniform offset a row makes every count floor or ceiling.
        offset = generator.random((len(cumulative), 1))
        reached = np.minimum(np.floor(users * cumulative + offset).astype(np.int64), users)
        counts = np.diff(reached, axis=1, prepend=0)
        shuffled = generator.permutation(records)
        by_row = shuffled[np.argsort(row[shuffled], kind="stable")]
        codes = np.empty(records, dtype=np.int64)
        categories = np.tile(np.arange(counts.shape[1]), len(counts))
        codes[by_row] = np.repeat(categories, counts.ravel())
        columns[table.attribute] = codes
    order = generator.permutation(records)
    return Microdata(
        network.domain,
        tuple(columns[name][order] for name in network.domain.names),
        {"data_source": "surrogate"},
    )


def _rows_in_use(
    table: ConditionalTable, domain: Domain, columns: Mapping[str, Integers], records: int
) -> tuple[Integers, npt.NDArray[np.float64]]:
    """Return the row that each record uses, and the rows' cumulative probabilities."""
    lookup = np.zeros([domain[name].size for name in table.parents], dtype=np.int64)
    for row, (key, _) in enumerate(table.ordered_rows):
        lookup[key] = row  # longer keys come later and overwrite what they refine
    cumulative = np.cumsum([probabilities for _, probabilities in table.ordered_rows], axis=1)
    # Divided by its own last value, it is exactly 1 from the last possible category on.
    cumulative /= cumulative[:, -1:]
    in_use = lookup[tuple(columns[name] for name in table.parents)]
    return np.broadcast_to(in_use, records), cumulative


def pairwise_total_variation(a: Microdata, b: Microdata) -> pd.DataFrame:
    """Compare the two-way margins of two files, as proportions.

    Returns
    -------
    pandas.DataFrame
        A row for each pair of attributes: attribute_1, attribute_2, total_variation (half the sum
        of absolute differences, in 0 .. 1).

    Raises
    ------
    DataError
        If the files have different domains or no records.
    """
    if a.domain != b.domain:
        raise DataError("the two files have different domains; give both the same attributes")
    if not len(a) or not len(b):
        raise DataError("a file without records has no margins; give one with records")
    rows = []
    for pair in itertools.combinations(a.domain.names, 2):
        difference = a.counts(pair) / len(a) - b.counts(pair) / len(b)
        rows.append((*pair, float(np.abs(difference).sum()) / 2))
    return pd.DataFrame(rows, columns=["attribute_1", "attribute_2", "total_variation"])


def to_json(network: BayesianNetwork) -> dict[str, Any]:
    """Describe a network in plain JSON values."""
    return {
        "about": ABOUT,
        "provenance": dict(network.provenance),
        "attributes": attributes_to_json(network.domain),
        "tables": [
            {
                "attribute": table.attribute,
                "parents": list(table.parents),
                # Plain 0 for the many impossible categories keeps files short.
                "rows": [
                    [list(key), [int(p) if p in (0, 1) else p for p in row]]
                    for key, row in table.ordered_rows
                ],
            }
            for table in network.tables
        ],
    }


def from_json(value: Any) -> BayesianNetwork:
    """Rebuild a network from `to_json`.

    Raises
    ------
    DataError
        For values of another shape, and for what `Domain` and `BayesianNetwork` refuse.
    """
    try:
        domain = domain_from_json(value["attributes"])
        tables = tuple(_table_from_json(table) for table in value["tables"])
        return BayesianNetwork(domain, tables, dict(value["provenance"]))
    except DeniableError as error:
        raise DataError(str(error)) from None
    except KeyError as error:
        raise DataError(f"the entry {error} is missing; fit the network again") from None
    except (TypeError, AttributeError) as error:
        raise DataError(f"no network in JSON ({error}); fit the network again") from None


def _table_from_json(table: Mapping[str, Any]) -> ConditionalTable:
    rows: dict[Configuration, tuple[float, ...]] = {}
    for row in table["rows"]:
        where = f"table of {table['attribute']!r}, row {json.dumps(row)}"
        match row:
            case [list(codes), list(probabilities)] if all(
                type(code) is int for code in codes
            ) and all(type(p) in (int, float) for p in probabilities):
                if tuple(codes) in rows:
                    raise DataError(f"{where}: these parents have two rows; keep one")
                rows[tuple(codes)] = tuple(float(p) for p in probabilities)
            case _:
                raise DataError(f"{where}: not [codes of parents, probabilities]; mend the row")
    return ConditionalTable(table["attribute"], tuple(table["parents"]), rows)


def write(path: Path | str, network: BayesianNetwork) -> None:
    """Write a network as JSON, a line for each attribute and row: short, and readable in a diff."""

    def lines(parts: Any) -> str:
        return ",\n".join(
            json.dumps(part, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
            for part in parts
        )

    value = to_json(network)
    text = f'{{\n"about":{lines([value["about"]])},\n"provenance":{lines([value["provenance"]])},\n'
    text += f'"attributes":[\n{lines(value["attributes"])}\n],\n"tables":[\n'
    text += ",\n".join(
        f"{lines([{**table, 'rows': []}])[:-2]}\n{lines(table['rows'])}\n]}}"
        for table in value["tables"]
    )
    write_text(path, f"{text}\n]\n}}\n")


def read(path: Path | str) -> BayesianNetwork:
    """Read a network that `write` wrote.

    Raises
    ------
    DataError
        Naming the file and what is wrong with it.
    """
    try:
        return from_json(read_json(path))
    except OSError as error:
        raise DataError(f"{path}: {error.strerror or error}; check the path") from None
    except DeniableError as error:
        raise DataError(f"{path}: {error}") from None
    except ValueError as error:
        raise DataError(f"{path}: no JSON ({error}); restore the file or fit it again") from None
