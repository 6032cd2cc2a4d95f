"""Bayesian networks over categorical attributes, and files drawn from them, for example for [rrba].

[rrba] uses data sets of 500, 10,000 and 10,000 records (Table 2). They are samples of published
Bayesian networks, without published files or seeds. tools/write_networks.py took the networks from
pgmpy and stored them under resources/networks. This module draws independent records from their
tables with recorded seeds, so that the files do not depend on pgmpy.
"""

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from deniable.arrays import Codes, Counts, Floats
from deniable.errors import DataError, DeniableError, refuse_unknown
from deniable.files import read_fitted, write_fitted
from deniable.records import (
    Domain,
    Microdata,
    attributes_to_json,
    domain_from_json,
    refuse_foreign_codes,
)
from deniable.sampling import generator_for

Configuration = tuple[int, ...]

SUM_TOLERANCE = 1e-6
ABOUT = (
    "A Bayesian network: parameters, no records. Tables are in ancestral order. A row is "
    "[codes of the first parents, probabilities of the attribute's categories]; a record takes "
    "the longest row that agrees with its parents."
)
NETWORKS = ("survey", "alarm", "child")
SEED = 2024  # root seed of the streams of all drawn files; each adds its own name


@dataclass(frozen=True)
class ConditionalTable:
    """The distribution of one `attribute` given its parents, with fallbacks to fewer parents.

    The last of the `parents` is dropped first. `rows` map codes of the first parents to the
    probability of each category. A record uses the longest key that agrees with its parents; the
    empty key agrees with every record.
    """

    attribute: str
    parents: tuple[str, ...]
    rows: Mapping[Configuration, tuple[float, ...]]

    @property
    def ordered_rows(self) -> list[tuple[Configuration, tuple[float, ...]]]:
        """The rows, with shorter keys first, then by code."""
        return sorted(self.rows.items(), key=lambda row: (len(row[0]), row[0]))


@dataclass(frozen=True)
class BayesianNetwork:
    """A joint distribution over a `domain` as a product of conditional distributions.

    There is one of `tables` for each attribute, parents before children. The `provenance` has the
    arguments of `fit`, and the mean and largest total variation distance, over pairs of attributes,
    of a sample of the same size from the file. Raises `DataError`, with table and row, if a table
    is missing, repeated or out of order, or a row is invalid.
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
                        "table later; list it once, and put the tables of parents first"
                    )
            _refuse_bad_rows(table, self.domain, where)
            before.add(table.attribute)
        for name in self.domain.names:
            if name not in before:
                raise DataError(f"attribute {name!r} has no table; add one")


def _refuse_bad_rows(table: ConditionalTable, domain: Domain, where: str) -> None:
    size = domain[table.attribute].size
    parents = [domain[name] for name in table.parents]
    if () not in table.rows:
        raise DataError(f"{where}: no row for records without a row of their own; add the row []")
    for key, probabilities in table.rows.items():
        row, fault = f"{where}, row {list(key)}", ""
        if len(key) > len(parents):
            fault = f"{len(key)} codes, but {len(parents)} parents"
        elif len(probabilities) != size:
            fault = f"{len(probabilities)} probabilities, but {size} categories"
        elif not all(0 <= p <= 1 for p in probabilities):
            fault = "a probability is outside 0 .. 1"
        elif abs(math.fsum(probabilities) - 1) > SUM_TOLERANCE:
            fault = f"the probabilities sum to {math.fsum(probabilities):.9g}, not to 1"
        if fault:
            raise DataError(f"{row}: {fault}; correct the row, or fit the network again")
        for parent, code in zip(parents, key, strict=False):
            refuse_foreign_codes(np.array([code]), parent.size, f"{row}, parent {parent.name!r}")


def _from_json(value: Any) -> BayesianNetwork:
    domain = domain_from_json(value["attributes"])
    tables = tuple(_table_from_json(table) for table in value["tables"])
    return BayesianNetwork(domain, tables, dict(value["provenance"]))


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
                raise DataError(f"{where}: not [codes of parents, probabilities]; correct the row")
    return ConditionalTable(table["attribute"], tuple(table["parents"]), rows)


def write(path: Path | str, network: BayesianNetwork) -> None:
    """Write a `network` to `path` as JSON, with one line per attribute and row."""
    value = {
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
    write_fitted(path, value, ("attributes", "tables", "rows"))


def read(path: Path | str) -> BayesianNetwork:
    """Read the network at `path`; raise `DataError`, with the file, if this is impossible."""
    return read_fitted(path, _from_json)


def draw(network: BayesianNetwork, records: int, generator: np.random.Generator) -> Microdata:
    """Draw independent `records`, each attribute given its parents (forward sampling).

    Counts have sampling error, unlike counts of `deniable.datasets.surrogates.sample`. The
    `generator` draws one uniform number per record and attribute, in the ancestral order of the
    `network`.
    """
    columns: dict[str, Codes] = {}
    for table in network.tables:
        row, cumulative = rows_in_use(table, network.domain, columns, records)
        uniform = generator.random(records)
        columns[table.attribute] = np.sum(uniform[:, None] >= cumulative[row], axis=-1)
    return Microdata(network.domain, tuple(columns[name] for name in network.domain.names))


def rows_in_use(
    table: ConditionalTable, domain: Domain, columns: Mapping[str, Codes], records: int
) -> tuple[Counts, Floats]:
    """Return the row of a `table` that each record uses, and the rows' cumulative probabilities.

    `columns` has the codes of the parents, attributes of the `domain`, for all `records`. The
    shapes are (records,) and (rows, categories).
    """
    lookup = np.zeros([domain[name].size for name in table.parents], dtype=np.int64)
    for row, (key, _) in enumerate(table.ordered_rows):
        lookup[key] = row  # longer keys come later and overwrite shorter ones
    cumulative = np.cumsum([probabilities for _, probabilities in table.ordered_rows], axis=1)
    # After this division, rows are exactly 1 from the last possible category on.
    cumulative /= cumulative[:, -1:]
    in_use = lookup[tuple(columns[name] for name in table.parents)]
    return np.broadcast_to(in_use, records), cumulative


@dataclass(frozen=True)
class DrawnFile:
    """A file of `records` records drawn from a `network`, one of `NETWORKS`.

    If it is `resampled_from` another file, its records are drawn with replacement from that file.
    """

    network: str
    records: int
    resampled_from: str = ""


FILES: Mapping[str, DrawnFile] = {
    "survey": DrawnFile("survey", 500),
    "alarm": DrawnFile("alarm", 10_000),
    "child": DrawnFile("child", 10_000),
    # Tables 4 and 5 have n = 8,000 for every data set, also for Survey with its 500 records.
    "survey_8000": DrawnFile("survey", 8_000),
    "survey_8000_resampled": DrawnFile("survey", 8_000, "survey"),
    "alarm_8000": DrawnFile("alarm", 8_000),
    "child_8000": DrawnFile("child", 8_000),
}
"""The files of Table 2, and files with n = 8,000 for Tables 4 and 5."""
CODES = {  # the SHA-256 of the codes of each file
    "survey": "078086131d859269f62c58c451d917a42c62e0e811c757a051ab1b7d5f6b9adc",
    "alarm": "cada0539e90bffc79abc83f1e642a764657e8b0b638b9ca7ea11c9d08b09dfb8",
    "child": "2d85a3e0426a675b662ed1bb81aa17309bfdf52f0d37986e83eb2ed8671ea3e2",
    "survey_8000": "581c0721aa83a635fec5b0ad2f248a1e9ebdc839aa1ce917923ff330bc1a3ef2",
    "survey_8000_resampled": "65488e81933e3cc352d63d029313cf5497d21e3b30c35f1c1b099c22f27c4e91",
    "alarm_8000": "931c4e2a0fb47c267ea2347c0eca70f83bae35503025ef6c3294298e6bd3c93c",
    "child_8000": "04c185817291837563854dba2c194ccde4bf7c69f212560b24c6b0fa944daf4e",
}


def from_resources(name: str, folder: Path | str) -> BayesianNetwork:
    """Read the network `name`, one of `NETWORKS`, from `folder`.

    Raises `DeniableError` for another name, and if the file is missing, damaged or has another
    network.
    """
    refuse_unknown("network", name, NETWORKS)
    path = Path(folder) / f"{name}.json"
    network = read(path)
    if (found := network.provenance.get("network")) != name:
        raise DataError(
            f"{path}: its provenance has the network {found!r}, not {name!r}; restore the file, or "
            "write it again with tools/write_networks.py"
        )
    return network


def drawn_file(name: str, network_of: Callable[[str], BayesianNetwork]) -> Microdata:
    """Return the records of the file `name`, one of `FILES`, which are the same each time.

    `network_of` returns a network by its name. Raises `DeniableError` for another name, and if the
    codes are not the recorded ones, because the network or the random stream has changed.
    """
    refuse_unknown("file", name, FILES)
    file = FILES[name]
    stream = generator_for(SEED, {"file": name, "records": file.records})
    if file.resampled_from:
        original = drawn_file(file.resampled_from, network_of)
        taken = stream.integers(0, len(original), file.records)
        drawn = Microdata(original.domain, tuple(column[taken] for column in original.columns))
    else:
        drawn = draw(network_of(file.network), file.records, stream)
    if (found := digest(drawn)) != CODES[name]:
        raise DeniableError(
            f"the file {name!r} has codes of sha256 {found[:12]}, recorded are {CODES[name][:12]}; "
            "the network or the random stream has changed: restore them, or record the new digest"
        )
    return Microdata(drawn.domain, drawn.columns, {"data_source": "network", "sha256": found})


def digest(microdata: Microdata) -> str:
    """Return the SHA-256 of names, categories and codes of `microdata`, column by column."""
    state = hashlib.sha256()
    for attribute, column in zip(microdata.domain, microdata.columns, strict=True):
        state.update("\0".join((attribute.name, *attribute.categories, "")).encode())
        state.update(column.astype("<u2").tobytes())
    return state.hexdigest()
