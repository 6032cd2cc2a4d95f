"""Channels of PRAM: matrices by block and stratum, from public numbers or from records."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from deniable.arrays import Counts, Floats
from deniable.channels import Channel
from deniable.errors import DeniableError
from deniable.plans.blocks import group_columns
from deniable.plans.categorical import answering_batches
from deniable.plans.interface import Part
from deniable.plans.making import refuse_weights
from deniable.plans.settings.shared import PlanInputs
from deniable.plans.strata import randomized_domain, strata_of
from deniable.pram import Stratum
from deniable.randomized_response import Protocol
from deniable.records import Domain
from deniable.schema import RecordsFile

if TYPE_CHECKING:
    from deniable.plans.settings.matrices import PramMatrix


def pram_protocols(
    matrix: "PramMatrix",
    given: PlanInputs,
    strata: tuple[str, ...],
    joint: Sequence[Sequence[str]],
    part: Part | None,
) -> dict[Stratum, Protocol]:
    """Return the channels of each stratum.

    The settings `matrix` are those of all matrices. If matrices are made from the original records
    in `given`, of the `part` that answers, strata without records have no matrix. Columns in
    `strata` are released unchanged, and groups of columns in `joint` share a matrix.

    Raises
    ------
    DeniableError
        If there is no such matrix, the records are missing, or a matrix never changes a record or
        cannot be estimated from.
    """
    domain = given.schema.domain()
    known = strata_of(domain, strata)
    randomized = randomized_domain(domain, strata)
    names = group_columns(joint, randomized)
    blocks = [randomized.project(block) for block in names]
    counts = None
    if matrix.from_records:
        refuse_weights(given.schema, f"matrices of kind {matrix.kind}")
        if given.data is None:
            raise DeniableError(
                f"matrices of kind {matrix.kind} are made from the original records, which are "
                "missing; the data owner must also accept chosen_by_data"
            )
        counts = _counts(domain.project(strata) if strata else None, blocks, given.data, part)
    protocols = {}
    for number, stratum in enumerate(known):
        if counts is not None and not counts[0][number].sum():
            continue
        shares = [
            np.full(block.size, 1 / block.size)
            if counts is None
            else counts[position][number] / counts[position][number].sum()
            for position, block in enumerate(blocks)
        ]
        where = f" in the stratum {' x '.join(strata)} = {' x '.join(stratum)}" if stratum else ""
        channels = tuple(
            _channel(matrix, where, *each) for each in zip(blocks, shares, strict=True)
        )
        protocols[stratum] = Protocol(randomized, names, channels)
    return protocols


def _counts(
    strata: Domain | None, blocks: Sequence[Domain], data: RecordsFile, part: Part | None
) -> list[Counts]:
    """Return for each block the counts of its cells by stratum, shape (strata, cells)."""
    number = 1 if strata is None else strata.size
    found = [np.zeros((number, block.size), dtype=np.int64) for block in blocks]
    for batch, _ in answering_batches(data.portions(), part):
        codes = batch.codes
        own = 0 if strata is None else strata.ravel([codes[name] for name in strata.names])
        for counts, block in zip(found, blocks, strict=True):
            cells = block.ravel([codes[name] for name in block.names]).astype(np.int64)
            both = np.bincount(own * block.size + cells, minlength=counts.size)
            counts[...] += both.reshape(counts.shape)
    return found


def _channel(matrix: "PramMatrix", where: str, block: Domain, shares: Floats) -> Channel:
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
