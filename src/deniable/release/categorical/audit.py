"""The audit of releases: what they state of their privacy, and whether it is so."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from deniable.pram import StratifiedProtocol, label
from deniable.privacy import (
    Finding,
    Matrix,
    audit_sampler,
    cells_by_others,
    column_epsilon,
    exact_epsilon,
)
from deniable.randomized_response import SAMPLER_COLUMNS, audit as multirr_audit
from deniable.release import released
from deniable.sampling import generator_for, whole_weights

LARGEST_EXACT = 64  # categories of a matrix whose every ratio is taken in whole numbers


def audit_release(description: Mapping[str, Any]) -> pd.DataFrame:
    """Audit what a release states of its privacy, from its channel file.

    Of randomized response, as `deniable.randomized_response.audit.audit_release`. Of PRAM the
    claims are those in the file, for the worst stratum; the exact epsilon is that of the matrices
    as the file spells them, in whole numbers; the shipped one that of the channels that are built
    of them. A stratum attribute is claimed to have no finite epsilon, which is checked for nothing.

    Parameters
    ----------
    description : mapping
        What `deniable.release.categorical.design.describe` wrote.

    Returns
    -------
    DataFrame
        The columns of `deniable.randomized_response.audit.audit_multirr`. For PRAM ``matrix`` is
        its kind.
    """
    if "protocols" not in description:
        return multirr_audit.audit_release(description)
    protocol = StratifiedProtocol.from_json(description)
    privacy = description["privacy"]
    claims = privacy["epsilon_by_changed_attribute"]
    rows = [
        ("attribute", name, Finding(float(claims[name]), *_worst(protocol, name)))
        for name in protocol.randomized.names
    ]
    whole = Finding(float(privacy["epsilon"]), *_worst(protocol, None))
    rows.append(("record", "all attributes", whole))
    return released(description["release"], description["parameters"]["matrix"]["kind"], rows)


def _worst(protocol: StratifiedProtocol, changed: str | None) -> tuple[float, float]:
    """Return the exact and the shipped epsilon of the worst stratum.

    Parameters
    ----------
    protocol : StratifiedProtocol
    changed : str or None
        The attribute that changes; None if all do, whose epsilons add up over blocks.
    """
    found = []
    for own in protocol.protocols.values():
        exact, shipped = 0.0, 0.0
        for block, channel in zip(own.clusters, own.channels, strict=True):
            if changed is not None and changed not in block:
                continue
            classes = None
            if changed is not None:
                classes = cells_by_others(
                    protocol.domain.project(block).shape, block.index(changed)
                )
            P = channel.matrix()
            shipped += column_epsilon(P, classes)
            exact += _exact(P, classes) if len(P) <= LARGEST_EXACT else column_epsilon(P, classes)
        found.append((exact, shipped))
    return max(exact for exact, _ in found), max(shipped for _, shipped in found)


def _exact(P: np.ndarray, classes: list[list[int]] | None) -> float:
    """Return the epsilon of a matrix whose rows are taken in their exact proportions."""
    rows = [whole_weights(row) for row in P.tolist()]
    common = math.lcm(*(sum(row) for row in rows))
    weights: Matrix = np.array(
        [[weight * (common // sum(row)) for weight in row] for row in rows], dtype=object
    )
    return exact_epsilon(weights, classes)


def audit_release_samplers(
    description: Mapping[str, Any], root_seed: int, draws: int = 400_000
) -> pd.DataFrame:
    """Hold each channel of a release against its matrix, by drawing from every true category.

    Parameters, columns and threshold are those of
    `deniable.randomized_response.audit.audit_release_samplers`; a cluster in a stratum is named
    "education in Female".
    """
    if "protocols" not in description:
        return multirr_audit.audit_release_samplers(description, root_seed, draws)
    rows = list(_sampler_tests(description, root_seed, draws))
    return pd.DataFrame(rows, columns=SAMPLER_COLUMNS)


def _sampler_tests(
    description: Mapping[str, Any], root_seed: int, draws: int
) -> Iterator[dict[str, Any]]:
    release = description["release"]
    for stratum, own in StratifiedProtocol.from_json(description).protocols.items():
        for block, channel in zip(own.clusters, own.channels, strict=True):
            name = " x ".join(block) + (f" in {label(stratum)}" if stratum else "")
            key = {"audit": "sampler", "release": release, "cluster": name}
            randomize = partial(channel.randomize, source=generator_for(root_seed, key))
            test = audit_sampler(randomize, channel.matrix(), max(draws // channel.size, 1))
            holds = test.impossible == 0 and test.p_value > 1e-4
            about = {"release": release, "cluster": name, "cells": channel.size}
            yield about | asdict(test) | {"holds": holds}
