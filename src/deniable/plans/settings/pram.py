"""Channels of PRAM: matrices by block and stratum, from public numbers or from records."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from deniable.arrays import Floats
from deniable.channels import Channel
from deniable.errors import DeniableError, refuse_unknown
from deniable.plans.blocks import group_columns, weighted_cells
from deniable.plans.making import refuse_weights
from deniable.plans.risks import sum_of_epsilons
from deniable.plans.settings.matrices import PramMatrix
from deniable.plans.settings.shared import PlanInputs
from deniable.plans.strata import strata_of
from deniable.pram import StratifiedProtocol, randomized_domain
from deniable.randomized_response import Protocol
from deniable.records import Domain
from deniable.schema import Part, answering_batches


def through_matrices(
    matrix: PramMatrix,
    given: PlanInputs,
    strata: tuple[str, ...],
    joint: Sequence[Sequence[str]],
    part: Part | None,
) -> tuple[StratifiedProtocol, dict[str, Any]]:
    """Return the protocol of each stratum, and the other fields of a plan that `matrix` determines.

    All matrices have the settings `matrix`. If matrices are made from the original records
    in `given`, of the `part` that answers, strata without records have no matrix. Columns in
    `strata` are released unchanged, and groups of columns in `joint` share a matrix. Raises
    `DeniableError` if a matrix is impossible, the records are missing, or a matrix never changes a
    record or cannot be estimated from.
    """
    domain = given.schema.domain()
    known = strata_of(domain, strata)
    randomized = randomized_domain(domain, strata)
    names = group_columns(joint, randomized)
    blocks = [randomized.project(block) for block in names]
    for name in getattr(matrix, "files", {}):
        refuse_unknown("block of columns in matrix.files", name, map(" x ".join, names))
    weight = getattr(matrix, "weight", None)
    shares = {key: [np.full(block.size, 1 / block.size) for block in blocks] for key in known}
    if matrix.from_records:
        if weight is None:
            refuse_weights(given.schema, f"matrices of kind {matrix.kind}")
        if given.data is None:
            raise DeniableError(
                f"matrices of kind {matrix.kind} are made from the original records, which are "
                "missing; the data owner must also accept chosen_by_data"
            )
        batches = (batch for batch, _ in answering_batches(given.data.portions(), part))
        within = [domain.project([*strata, *block]) for block in names]
        if weight is not None:
            weights = [each.name for each in given.schema.columns if each.kind == "weight"]
            refuse_unknown("column of weights", weight, weights)
        found = weighted_cells(within, batches, given.schema[weight] if weight else None)
        counts = [once.reshape(len(known), -1) for once, _ in found]
        there = [number for number in range(len(known)) if counts[0][number].sum()]
        shares = {known[at]: [own[at] / own[at].sum() for own in counts] for at in there}
    protocols = {}
    for stratum, own in shares.items():
        where = f" in the stratum {' x '.join(strata)} = {' x '.join(stratum)}" if stratum else ""
        channels = tuple(_channel(matrix, where, *each) for each in zip(blocks, own, strict=True))
        protocols[stratum] = Protocol(randomized, names, channels)
    protocol = StratifiedProtocol(domain, strata, protocols, matrix.is_invariant)
    bounds = matrix.bounds(blocks)
    return protocol, {
        "target": sum_of_epsilons(bounds) if bounds else protocol.epsilon,
        "why": (f"{matrix.kind}: as requested",) * len(blocks),
        "chosen_from": matrix.origin,
        "weight": weight if matrix.is_invariant else None,
        "keep_back": bounds,
    }


def _channel(matrix: PramMatrix, where: str, block: Domain, shares: Floats) -> Channel:
    where = " x ".join(block.names) + where
    try:
        channel = matrix.channel(shares, block)
    except DeniableError as error:
        raise DeniableError(f"{where}: {error}") from None
    if channel.size > 1 and np.array_equal(channel.matrix(), np.eye(channel.size)):
        raise DeniableError(
            f"{where}: the matrix never changes a record; choose a smaller epsilon or retention"
        )
    # Randomized values of an invariant matrix have unbiased frequencies, even if it is singular.
    if channel.singular and not matrix.is_invariant:
        raise DeniableError(
            f"{where}: the matrix is singular, so nothing could be estimated from the file; choose "
            "another epsilon or retention, or another kind or loss"
        )
    return channel
