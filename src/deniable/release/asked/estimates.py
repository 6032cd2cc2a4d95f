"""What is made from a file of reports alone: its matrices as a table, and synthetic records."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from deniable.pram import StratifiedProtocol
from deniable.randomized_response import synthesize
from deniable.records import Microdata
from deniable.release import AskedRelease, public_source
from deniable.release.categorical import (
    SYNTHETIC_MARKS,
    estimated_distributions,
    matrices_table,
)


def written_matrices(release: AskedRelease, made: Mapping[str, Any]) -> dict[str, pd.DataFrame]:
    """Return what every report means, in one table, by the ``release`` that a `release` `made`."""
    return {"matrices": matrices_table(StratifiedProtocol.from_json(made["release"]))}


def synthesized(release: AskedRelease, made: Mapping[str, Any]) -> dict[str, Microdata]:
    """Return synthetic records: the cells estimated for each block, matched at random.

    From ``protected`` and ``estimates`` that a `release` has `made`, and its ``release``.
    """
    protocol, reports = StratifiedProtocol.from_json(made["release"]), made["protected"]
    source = public_source(release, reports, "synthesis")
    distributions = estimated_distributions(protocol, made["estimates"])
    records = synthesize(protocol.domain, protocol.blocks, distributions, len(reports), source)
    marks = {"synthetic": SYNTHETIC_MARKS["clusters"], "synthetic_from": "clusters"}
    marked = Microdata(records.domain, records.columns, dict(reports.marks) | marks)
    return {"synthetic": marked}
