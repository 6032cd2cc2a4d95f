"""Bayesian networks over categorical attributes, and their files."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from deniable.errors import DataError, DeniableError
from deniable.files import read_fitted, write_text
from deniable.records import Domain, attributes_to_json, domain_from_json, refuse_foreign_codes

Configuration = tuple[int, ...]

SUM_TOLERANCE = 1e-6
ABOUT = (
    "A Bayesian network: parameters, no records. Tables stand in ancestral order. A row is "
    "[codes of the first parents, probabilities of the attribute's categories]; a record takes "
    "the longest row that agrees with its parents."
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


def read(path: Path | str, domain: Domain | None = None) -> BayesianNetwork:
    """Read a network that `write` wrote.

    Parameters
    ----------
    path : path
    domain : Domain, optional
        The domain that the network must have.

    Raises
    ------
    DataError
        Naming the file and what is wrong with it.
    """
    network = read_fitted(path, from_json)
    if domain is not None and network.domain != domain:
        raise DataError(
            f"{path}: its attributes or categories are not those of the manifest; restore the "
            "file, or fit it again"
        )
    return network
