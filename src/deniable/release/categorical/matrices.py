"""The matrices of a release as tables: every stratum's and every block's, to the last digit."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from deniable.channels import Channel, write_channel
from deniable.files import write_table
from deniable.pram import Block, StratifiedProtocol, Stratum, cell_labels, label
from deniable.records import Domain

INDEX = "index.csv"


@dataclass(frozen=True, eq=False)
class NamedMatrix:
    """A matrix that was used, and what it is of.

    Attributes
    ----------
    stratum : tuple of categories
    block : Domain
    channel : Channel
    file : str
        Name of its file, safe in any file system and the only one of its name.
    """

    stratum: Stratum
    block: Domain
    channel: Channel
    file: str

    def entries(self) -> pd.DataFrame:
        """Return the matrix as a row an entry."""
        categories = cell_labels(self.block)
        P = self.channel.matrix()
        return pd.DataFrame(
            {
                "stratum": label(self.stratum),
                "block": " x ".join(self.block.names),
                "true": np.repeat(categories, len(categories)),
                "reported": categories * len(categories),
                "probability": [repr(float(entry)) for entry in P.reshape(-1)],
            }
        )


def named_matrices(protocol: StratifiedProtocol) -> Iterator[NamedMatrix]:
    """Yield the matrix of each block in each stratum."""
    for number, (stratum, own) in enumerate(protocol.protocols.items(), start=1):
        for block, channel in zip(own.clusters, own.channels, strict=True):
            prefix = f"{number:02d}_{_safe(stratum)}." if stratum else ""
            name = f"{prefix}{own.clusters.index(block) + 1:02d}_{_safe(block)}.csv"
            yield NamedMatrix(stratum, protocol.domain.project(block), channel, name)


def matrices_table(protocol: StratifiedProtocol) -> pd.DataFrame:
    """Return all matrices: ``stratum``, ``block``, ``true``, ``reported``, ``probability``.

    Probabilities are text, with as many digits as give the same number again.
    """
    return pd.concat([each.entries() for each in named_matrices(protocol)], ignore_index=True)


def matrices_index(protocol: StratifiedProtocol) -> pd.DataFrame:
    """Return a row a matrix: its file and what it does.

    Returns
    -------
    DataFrame
        ``file``, ``stratum``, ``block``, ``categories``, ``epsilon`` (exact), ``least_retention``
        (smallest diagonal entry), ``invariant``.
    """
    return pd.DataFrame(
        [
            {
                "file": each.file,
                "stratum": label(each.stratum),
                "block": " x ".join(each.block.names),
                "categories": each.block.size,
                "epsilon": each.channel.epsilon,
                "least_retention": float(np.diag(each.channel.matrix()).min()),
                "invariant": protocol.invariant,
            }
            for each in named_matrices(protocol)
        ]
    )


def write_matrices(protocol: StratifiedProtocol, folder: Path | str) -> None:
    """Write each matrix to a file of its own, and an index of them.

    The files have the form that ``deniable channel`` reads.
    """
    for each in named_matrices(protocol):
        write_channel(Path(folder) / each.file, each.channel, cell_labels(each.block))
    write_table(Path(folder) / INDEX, matrices_index(protocol))


def _safe(names: Stratum | Block) -> str:
    return re.sub(r"[^A-Za-z0-9-]+", "_", "_x_".join(names))[:60]
