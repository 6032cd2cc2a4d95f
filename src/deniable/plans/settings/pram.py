"""Channels of PRAM: matrices by block and stratum, from public numbers or from records."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.arrays import Counts, Floats
from deniable.channels import Channel, invariance_gap
from deniable.errors import DeniableError, shown
from deniable.plans.categorical import answering_batches
from deniable.plans.interface import Origin, Part
from deniable.plans.strata import strata_of
from deniable.pram import Stratum, label
from deniable.randomized_response import Protocol
from deniable.records import Domain
from deniable.schema import RecordsFile, Schema

if TYPE_CHECKING:
    from deniable.plans.settings.matrices import PramMatrix

DESIGN_TOLERANCE = 1e-9  # of a solver


@dataclass(frozen=True)
class PramRequest:
    """A request for matrices.

    Attributes
    ----------
    matrix : PramMatrix
        The settings of all matrices.
    strata : tuple of str
        Columns that are released unchanged.
    blocks : tuple of tuples of str
        Columns that share a matrix.
    part : Part, optional
        The part of the respondents that answers.
    """

    matrix: "PramMatrix"
    strata: tuple[str, ...]
    blocks: tuple[tuple[str, ...], ...]
    part: Part | None = None


def pram_protocols(
    schema: Schema, request: PramRequest, data: RecordsFile | None
) -> tuple[dict[Stratum, Protocol], Origin]:
    """Return the channels of each stratum, and the information that they follow from.

    Parameters
    ----------
    schema : Schema
    request : PramRequest
    data : RecordsFile, optional
        The original records, for matrices that are made from them. Strata without records then
        have no matrix.

    Raises
    ------
    DeniableError
        If there is no such matrix, the records are missing, or a matrix never changes a record,
        cannot be estimated from, or misses what was requested.
    """
    domain, matrix = schema.domain(), request.matrix
    known = strata_of(domain, request.strata)
    randomized = domain.project([name for name in domain.names if name not in request.strata])
    blocks = [randomized.project(block) for block in request.blocks]
    counts = None
    if matrix.from_records:
        refuse_weights(schema)
        if data is None:
            raise DeniableError(
                f"matrices of kind {matrix.kind} are made from the original records, which are "
                "missing; the data owner must also accept chosen_by_data"
            )
        counts = _counts(
            domain.project(request.strata) if known[0] else None, blocks, data, request
        )
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
        channels = tuple(
            _channel(request, stratum, *each) for each in zip(blocks, shares, strict=True)
        )
        protocols[stratum] = Protocol(randomized, request.blocks, channels)
    return protocols, matrix.origin


def refuse_weights(schema: Schema) -> None:
    """Raise `DeniableError` if the `schema` has a weight, which frequencies do not use."""
    weights = [column.name for column in schema.columns if column.kind == "weight"]
    if weights:
        raise DeniableError(
            f"column {shown(weights[0])} is a weight, but matrices from records use unweighted "
            "frequencies only. Declare the column as left_out or choose another matrix"
        )


def _counts(
    strata: Domain | None, blocks: Sequence[Domain], data: RecordsFile, request: PramRequest
) -> list[Counts]:
    """Return for each block the counts of its cells by stratum, shape (strata, cells)."""
    number = 1 if strata is None else strata.size
    found = [np.zeros((number, block.size), dtype=np.int64) for block in blocks]
    for batch, _ in answering_batches(data.portions(), request.part):
        codes: dict[str, Any] = batch.codes
        own = 0 if strata is None else strata.ravel([codes[name] for name in strata.names])
        for counts, block in zip(found, blocks, strict=True):
            cells = block.ravel([codes[name] for name in block.names]).astype(np.int64)
            both = own * block.size + cells
            np.add(
                counts, np.bincount(both, minlength=counts.size).reshape(counts.shape), out=counts
            )
    return found


def _channel(request: PramRequest, stratum: Stratum, block: Domain, shares: Floats) -> Channel:
    where = " x ".join(block.names)
    if stratum:
        where += f" in the stratum {' x '.join(request.strata)} = {label(stratum)}"
    try:
        channel = request.matrix.channel(shares, block)
    except DeniableError as error:
        raise DeniableError(f"{where}: {error}") from None
    if channel.size > 1 and np.array_equal(channel.matrix(), np.eye(channel.size)):
        raise DeniableError(
            f"{where}: the matrix never changes a record; choose a smaller epsilon or retention"
        )
    # Randomized values of an invariant matrix have unbiased frequencies, even if it is singular.
    if channel.singular and not request.matrix.is_invariant:
        raise DeniableError(
            f"{where}: the matrix is singular, so nothing could be estimated from the file; choose "
            "another epsilon or retention, or another kind or loss"
        )
    _refuse_other_than_requested(where, request, channel, shares)
    return channel


def _refuse_other_than_requested(
    where: str, request: PramRequest, channel: Channel, shares: Floats
) -> None:
    matrix = request.matrix
    moved = invariance_gap(channel, shares) if matrix.is_invariant else 0.0
    if moved > DESIGN_TOLERANCE:
        raise DeniableError(
            f"{where}: the matrix moves a frequency by {moved:.2g} and is not invariant; choose "
            "another kind of matrix"
        )
    retention = getattr(matrix, "retention", None)
    if matrix.kind in ("retention", "designed") and retention is not None and channel.size > 1:
        # An invariant matrix never returns a category without records.
        kept = float(np.diag(channel.matrix())[shares > 0].min())
        if kept < retention - DESIGN_TOLERANCE:
            raise DeniableError(
                f"{where}: a category is retained with {kept:.9g} only, not {retention:g}; choose "
                "another kind of matrix"
            )
    epsilon = getattr(matrix, "epsilon", None)
    if epsilon is not None and channel.epsilon > epsilon + DESIGN_TOLERANCE:
        raise DeniableError(
            f"{where}: epsilon is {channel.epsilon:.9g}, above {epsilon:g}; choose another kind of "
            "matrix"
        )
