"""Releases at an epsilon that was asked for held to it, and rehearsals beside the truth."""

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from deniable.pram import StratifiedProtocol, shares
from deniable.privacy import Finding
from deniable.randomized_response import Protocol, audit_of_release
from deniable.records import Microdata
from deniable.release import AskedRelease, ReleaseKey, marked
from deniable.release.categorical import (
    check_against_truth,
    coverage_of_redraws,
    epsilons_of_blocks,
    pair_distances,
)
from deniable.sampling import generator_for

ASKED = "record, as asked for"


def audit_asked(description: Mapping[str, Any]) -> pd.DataFrame:
    """Audit what a release states of its privacy, from the `description` in its channel file.

    Epsilons are those of `deniable.release.categorical.epsilons_of_blocks`. Claims are those of the
    file, and, of the record, the epsilon that was asked for. Returned are the columns of
    `deniable.randomized_response.audit.audit_multirr`; ``matrix`` is the channel asked for.
    """
    protocol, privacy = Protocol.from_json(description), description["privacy"]
    found = epsilons_of_blocks(protocol)
    rows = [
        (ASKED, "all attributes", Finding(float(privacy["asked_epsilon"]), *found[None])),
        ("record", "all attributes", Finding(float(privacy["epsilon"]), *found[None])),
    ]
    claims = privacy["epsilon_by_changed_attribute"]
    rows += [
        ("attribute", name, Finding(float(claims[name]), *found[name]))
        for name in protocol.domain.names
    ]
    return audit_of_release(description["release"], description["parameters"]["channel"], rows)


def audited(made: Mapping[str, Any]) -> pd.DataFrame:
    """Return the audit of a release by the ``release`` it `made`, with whose records they are."""
    said = made["release"]
    return audit_asked(said).assign(data_source=said["data_source"])


def checked(
    release: AskedRelease,
    made: Mapping[str, Any],
    data: Microdata,
    key: ReleaseKey,
    seed: int,
) -> dict[str, pd.DataFrame]:
    """Return a rehearsal's estimates and synthetic records beside the truth.

    What the `release` has `made` is held against its true `data`. The `seed` is that of redraws,
    the `key` is not looked at.
    """
    protocol = StratifiedProtocol.from_json(made["release"])
    generator = generator_for(seed, {"release": release.name, "check": "redraws"})
    coverage = coverage_of_redraws(protocol, data, generator)
    distances = distances_from_truth(protocol, data, made["synthetic"])
    distances["pairs"] = distances["attributes"].map(pair_distances(made["pairs"], data))
    distances["synthetic_from"] = made["synthetic"].marks["synthetic_from"]
    return {
        "check": check_against_truth(made["estimates"], coverage),
        "synthetic_check": marked(distances, release, data),
    }


def distances_from_truth(
    protocol: StratifiedProtocol, data: Microdata, synthetic: Microdata
) -> pd.DataFrame:
    """Say how far `synthetic` records are from the true `data`, which a rehearsal knows.

    A row for each attribute of the `protocol` and each pair: ``attributes``, ``one_cluster`` and
    ``synthetic``, the total variation distance between both tables.
    """
    rows = []
    names = protocol.domain.names
    for attributes in [*combinations(names, 1), *combinations(names, 2)]:
        apart = np.abs(shares(synthetic, attributes) - shares(data, attributes)).sum() / 2
        together = any(set(attributes) <= set(block) for block in protocol.blocks)
        rows.append(
            {"attributes": " x ".join(attributes), "one_cluster": together}
            | {"synthetic": float(apart)}
        )
    return pd.DataFrame(rows)
