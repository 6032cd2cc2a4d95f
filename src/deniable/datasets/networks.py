"""The networks of [rrba]: Survey, Alarm and Child, and the files that are drawn from them.

The text names data sets of 500, 10,000 and 10,000 records (Table 2) that are samples of published
Bayesian networks, and gives neither files nor seeds. Here the networks are taken from pgmpy once
and kept under resources/networks (tools/write_networks.py), and the records drawn from their tables
by this module: independently of each other, from recorded seeds, so that the files do not change
with pgmpy's own sampler.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from deniable.arrays import Codes, Floats
from deniable.datasets.bayesian_network import BayesianNetwork, ConditionalTable, read
from deniable.errors import DataError, DeniableError
from deniable.records import Microdata
from deniable.sampling import generator_for

NETWORKS = ("survey", "alarm", "child")
SEED = 2024
"""Root of the streams of all drawn files; each adds its own name."""


@dataclass(frozen=True)
class DrawnFile:
    """A file of records drawn from a network, and what identifies it.

    Attributes
    ----------
    name : str
    network : str
        Of `NETWORKS`.
    records : int
    resampled_from : str
        Another drawn file whose records are drawn with replacement; empty if the records come from
        the network itself.
    """

    name: str
    network: str
    records: int
    resampled_from: str = ""

    @property
    def sha256(self) -> str:
        """Of the codes, see `digest`."""
        return CODES[self.name]


FILES: Mapping[str, DrawnFile] = {
    each.name: each
    for each in (
        DrawnFile("survey", "survey", 500),
        DrawnFile("alarm", "alarm", 10_000),
        DrawnFile("child", "child", 10_000),
        # Tables 4 and 5 have n = 8,000 whatever the data set, Survey's 500 records included.
        DrawnFile("survey_8000", "survey", 8_000),
        DrawnFile("survey_8000_resampled", "survey", 8_000, "survey"),
        DrawnFile("alarm_8000", "alarm", 8_000),
        DrawnFile("child_8000", "child", 8_000),
    )
}
"""The files of Table 2, and those with n = 8,000 for Tables 4 and 5."""
CODES = {
    "survey": "078086131d859269f62c58c451d917a42c62e0e811c757a051ab1b7d5f6b9adc",
    "alarm": "cada0539e90bffc79abc83f1e642a764657e8b0b638b9ca7ea11c9d08b09dfb8",
    "child": "2d85a3e0426a675b662ed1bb81aa17309bfdf52f0d37986e83eb2ed8671ea3e2",
    "survey_8000": "581c0721aa83a635fec5b0ad2f248a1e9ebdc839aa1ce917923ff330bc1a3ef2",
    "survey_8000_resampled": "65488e81933e3cc352d63d029313cf5497d21e3b30c35f1c1b099c22f27c4e91",
    "alarm_8000": "931c4e2a0fb47c267ea2347c0eca70f83bae35503025ef6c3294298e6bd3c93c",
    "child_8000": "04c185817291837563854dba2c194ccde4bf7c69f212560b24c6b0fa944daf4e",
}
"""The SHA-256 of the codes of each file."""


def from_resources(name: str, folder: Path | str) -> BayesianNetwork:
    """Read a network that tools/write_networks.py wrote.

    Parameters
    ----------
    name : str
        Of `NETWORKS`.
    folder : path
        resources/networks.

    Raises
    ------
    DeniableError
        For another name, and where the file is missing, damaged, or another network's.
    """
    _refuse_unknown(name)
    path = Path(folder) / f"{name}.json"
    network = read(path)
    found = network.provenance.get("network")
    if found != name:
        raise DataError(
            f"{path}: it says that it holds the network {found!r}, not {name!r}; restore the "
            "file, or write it again with tools/write_networks.py"
        )
    return network


def _refuse_unknown(name: str) -> None:
    if name not in NETWORKS:
        raise DeniableError(f"unknown network {name!r}; use {', '.join(NETWORKS)}")


def draw(network: BayesianNetwork, records: int, generator: np.random.Generator) -> Microdata:
    """Draw independent records, each attribute given its parents (forward sampling).

    Unlike `deniable.datasets.surrogates.sample`, which draws by quota: counts here have a sample's
    noise.

    Parameters
    ----------
    network : BayesianNetwork
        With a row for every configuration of parents.
    records : int, >= 1
    generator : numpy.random.Generator
        One uniform number a record and attribute is taken from it, in ancestral order.
    """
    if records < 1:
        raise DeniableError(f"{records} records cannot be drawn; ask for at least 1")
    columns: dict[str, Codes] = {}
    for table in network.tables:
        cumulative = np.cumsum(dense_table(network, table), axis=-1)
        # A distribution whose floats sum to less than 1 must not lead beyond its last category.
        cumulative /= cumulative[..., -1:]
        own = cumulative[tuple(columns[name] for name in table.parents)]
        uniform = generator.random(records)
        columns[table.attribute] = np.sum(uniform[:, None] >= own, axis=-1)
    return Microdata(network.domain, tuple(columns[name] for name in network.domain.names))


def dense_table(network: BayesianNetwork, table: ConditionalTable) -> Floats:
    """Return Pr(category | parents), axes the parents in order, then the attribute itself."""
    domain = network.domain
    sizes = (*(domain[name].size for name in table.parents), domain[table.attribute].size)
    values = np.full(sizes, np.nan)
    for configuration, probabilities in table.rows.items():
        if len(configuration) == len(table.parents):
            values[configuration] = probabilities
    if np.isnan(values).any():
        raise DeniableError(
            f"the table of {table.attribute!r} lacks a row for some parents; give every "
            "configuration its own"
        )
    return values


def exact_margin(network: BayesianNetwork, names: Sequence[str]) -> Floats:
    """Return the exact joint distribution of a few attributes, by eliminating the others.

    Parameters
    ----------
    network : BayesianNetwork
    names : sequence of str
        The attributes, one axis each.
    """
    parents = network.parents
    needed, frontier = set(names), list(names)
    while frontier:
        for parent in parents[frontier.pop()]:
            if parent not in needed:
                needed.add(parent)
                frontier.append(parent)
    letters = {name: position for position, name in enumerate(network.domain.names)}
    operands: list[Any] = []
    for table in network.tables:
        if table.attribute in needed:
            axes = [letters[name] for name in (*table.parents, table.attribute)]
            operands += [dense_table(network, table), axes]
    joint = np.einsum(*operands, [letters[name] for name in names], optimize="greedy")
    return np.asarray(joint / joint.sum())


def drawn_file(name: str, network_of: Callable[[str], BayesianNetwork]) -> Microdata:
    """Draw one of `FILES` again, the same records each time.

    Parameters
    ----------
    name : str
        Of `FILES`.
    network_of : callable
        Where networks come from, by name.

    Raises
    ------
    DeniableError
        For another name, and where the codes are not those recorded: the network's tables or the
        random stream have then changed.
    """
    if name not in FILES:
        raise DeniableError(f"unknown file {name!r}; use {', '.join(FILES)}")
    file = FILES[name]
    stream = generator_for(SEED, {"file": name, "records": file.records})
    if file.resampled_from:
        original = drawn_file(file.resampled_from, network_of)
        taken = stream.integers(0, len(original), file.records)
        drawn = Microdata(original.domain, tuple(column[taken] for column in original.columns))
    else:
        drawn = draw(network_of(file.network), file.records, stream)
    found = digest(drawn)
    if found != file.sha256:
        raise DeniableError(
            f"the file {name!r} has codes of sha256 {found[:12]}, recorded are {file.sha256[:12]}; "
            "the network or the random stream has changed: restore them, or record anew"
        )
    return Microdata(drawn.domain, drawn.columns, {"data_source": "network", "sha256": found})


def drawn_from_resources(name: str, folder: Path | str) -> Microdata:
    """Draw one of `FILES` from the committed networks.

    Raises
    ------
    DeniableError
        As `drawn_file` and `from_resources`.
    """
    return drawn_file(name, lambda network: from_resources(network, folder))


def digest(microdata: Microdata) -> str:
    """Return the SHA-256 of names, categories and codes, column by column."""
    state = hashlib.sha256()
    for attribute, column in zip(microdata.domain, microdata.columns, strict=True):
        state.update("\0".join((attribute.name, *attribute.categories, "")).encode())
        state.update(column.astype("<u2").tobytes())
    return state.hexdigest()
