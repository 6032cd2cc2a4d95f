"""The channel of a block at an epsilon: of a stated kind, or with the least expected error."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

import numpy as np

from deniable import design
from deniable.channels import (
    MAKERS,
    MAX_DESIGNED_CELLS,
    MAX_EPSILON,
    MAX_MATRIX_ENTRIES,
    MAX_NOISE_POINTS,
    MAX_POINTS_OR_MISSING,
    MAX_RESPONSES,
    Channel,
    KeepOrReplace,
    RestrictedChannel,
    SquareWave,
    SquareWaveOrMissing,
    protocol_candidates,
    two_step_with_epsilon,
)
from deniable.errors import DeniableError, MissingExtraError
from deniable.plans.blocks import Block
from deniable.records import Attribute, Domain

INVARIANT: Final = "invariant"
"""Two-step matrices that preserve the original frequencies on average, and disclose them."""
DESIGNED: Final = "designed"
"""Matrices with the least error for a distribution."""
MECHANISMS = (*MAKERS, DESIGNED, INVARIANT)
"""Kinds of channels in plans: the registered ones, and two that need more than an epsilon."""
BEST: Final = "best"
NOTHING_TO_HIDE = "generalized-rr: one category reveals nothing"


@dataclass(frozen=True, eq=False)
class Choice:
    """A `channel`, its `kind`, and the reason, `why`."""

    kind: str
    channel: Channel
    why: str


def choose(
    block: Block, epsilon: float, kind: str = BEST, *, designs: bool = False, must: bool = False
) -> Choice:
    """Return the channel of a `block`, with at most this exact `epsilon`.

    The `epsilon` is above 0, or any number for a block of one cell. Channels have an epsilon of at
    most 30. The `kind` is one of `MECHANISMS`, or "best": the possible kind with the least
    `Block.error`. For a single number, "best" compares the square wave and generalized RR, which
    have numbers as randomized values. It does not compare Laplace noise and the staircase. On grids
    of 11 to 301 points, at epsilons from .25 to 8, the error of Laplace noise was 57 to 500,000
    times the least. The error of the staircase was 1.7 to 121 times the least where its values
    distinguished all points. If `designs`, "best" includes designs for the block's prior, of up to
    `MAX_DESIGNED_CELLS` cells. If `must`, an impossible kind is an error. Otherwise the best kind
    replaces it, with the reason in `why`. Raises `DeniableError` if the channel is impossible.
    """
    if block.possible is not None:
        if kind == INVARIANT:
            raise DeniableError(
                f"{block.label}: invariant matrices do not support impossible combinations; choose "
                "another mechanism"
            )
        found = choose(_of_possible_cells(block), epsilon, kind, designs=designs, must=must)
        why = f"{found.why}; {block.size} of {block.part.size} combinations are possible"
        return Choice(found.kind, RestrictedChannel(found.channel, block.possible), why)
    if block.part.size == 1:
        return Choice("generalized-rr", KeepOrReplace(1.0, np.zeros(1)), NOTHING_TO_HIDE)
    epsilon = min(epsilon, MAX_EPSILON)
    try:
        if kind == BEST:
            return _best(block, epsilon, designs)
        fault = _fault(block, kind)
        if kind == DESIGNED and block.part.size > MAX_DESIGNED_CELLS and not must:
            most = f"is for at most {MAX_DESIGNED_CELLS} cells"
            fault = f"{most}, unless it is requested for a column by name"
        if not fault:
            channel = _made(block, epsilon, kind)
            fault = _fault_of(block, channel)
        if not fault:
            error = block.error(channel)
            return Choice(kind, channel, f"{kind}: as requested; {_in_words(error)}")
        if must:
            raise DeniableError(f"{kind} {fault}; choose another mechanism")
        best = _best(block, epsilon, designs)
        return Choice(best.kind, best.channel, f"{best.why}; {kind} {fault}")
    except MissingExtraError:
        raise
    except DeniableError as error:
        raise DeniableError(f"{block.label}: {error}") from None


def _of_possible_cells(block: Block) -> Block:
    """Return a block of one attribute, with the possible cells of a `block` as categories."""
    cells = np.flatnonzero(np.asarray(block.possible))
    labels = np.array(block.part.cell_labels())[cells]
    part = Domain((Attribute(block.label, tuple(labels.tolist())),))
    made_for = None if block.designed_for is None else block.designed_for[cells]
    made_for = None if made_for is None else made_for / made_for.sum()
    return Block(part, {}, block.prior[cells], categories_only=True, designed_for=made_for)


def _best(block: Block, epsilon: float, designs: bool) -> Choice:
    found = [
        (block.error(channel), kind, channel)
        for kind, channel in _candidates(block, epsilon, designs)
        if not _fault_of(block, channel)
    ]
    found.sort(key=lambda each: float(f"{each[0]:.12g}"))  # equal up to rounding: simplest first
    (error, kind, channel), *others = found
    against = ", ".join(f"{other:.4g} by {name}" for other, name, _ in others)
    why = f"{kind}: {_in_words(error)}" + (f", against {against}" if against else "")
    return Choice(kind, channel, why)


def _candidates(block: Block, epsilon: float, designs: bool) -> Iterator[tuple[str, Channel]]:
    yield "generalized-rr", KeepOrReplace.of_epsilon(block.part.size, epsilon)
    if not _fault(block, "square-wave"):
        yield "square-wave", _made(block, epsilon, "square-wave")
        return  # a number stays a number; smoothed EM estimates its distribution best
    for each in protocol_candidates(block.part.size, epsilon):
        if each.kind != "generalized-rr":
            yield each.kind, each.channel
    if designs and block.part.size <= MAX_DESIGNED_CELLS:
        with suppress(MissingExtraError):
            yield DESIGNED, _made(block, epsilon, DESIGNED)


def _made(block: Block, epsilon: float, kind: str) -> Channel:
    if kind == INVARIANT:
        return two_step_with_epsilon(block.prior, epsilon)
    if kind == "square-wave" and not block.on_a_grid:
        return SquareWaveOrMissing.of_epsilon(block.part.size - 1, epsilon)
    if kind != DESIGNED:
        return MAKERS[kind].of_epsilon(block.part.size, epsilon)
    prior = block.fitting_prior if block.designed_for is None else block.designed_for
    return _designed(tuple(prior.tolist()), epsilon, "square" if block.categories_only else "any")


@lru_cache(maxsize=256)
def _designed(
    prior: tuple[float, ...], epsilon: float, reports: Literal["square", "any"]
) -> Channel:
    requirements = design.Requirements(epsilon=epsilon)
    return design.design(np.array(prior), requirements, reports=reports).channel


def _fault(block: Block, kind: str) -> str | None:
    """Return the reason why a kind is impossible for a block, at any epsilon; None if possible."""
    if kind == INVARIANT:
        if block.part.size > MAX_NOISE_POINTS:
            return f"is for at most {MAX_NOISE_POINTS} cells, not {block.part.size:,}"
        return None if np.all(block.prior > 0) else "needs a record in every cell"
    if (maker := MAKERS.get(kind)) is None:
        return None
    if kind == "square-wave" and block.number:
        if block.on_a_grid or 2 < block.part.size <= MAX_POINTS_OR_MISSING + 1:
            return None
        return f"is for 2 to {MAX_POINTS_OR_MISSING} points where numbers can be missing"
    if maker.on_grid and not block.on_a_grid:
        return "is for a number by itself" + " that is never missing" * block.number
    if maker.max_cells is not None and block.part.size > maker.max_cells:
        cells = "points" if maker.on_grid else "cells"
        return f"is for at most {maker.max_cells} {cells}, not {block.part.size:,}"
    return None


def _fault_of(block: Block, channel: Channel) -> str | None:
    """Return the reason why a block cannot have a channel; None if it can."""
    kept = channel.returns_categories
    as_number = isinstance(channel, (SquareWave, SquareWaveOrMissing)) and block.beyond
    if block.categories_only and not kept and not as_number:
        return "has other randomized values than categories, which this column cannot hold"
    if (
        channel.weight_and_replacement is None
        and channel.size * channel.reports > MAX_MATRIX_ENTRIES
    ):
        return (
            f"has {channel.reports:,} randomized values for {channel.size:,} cells, over "
            f"{MAX_MATRIX_ENTRIES:,} entries"
        )
    if channel.reports > max(MAX_RESPONSES, 4 * channel.size):
        return f"has {channel.reports:,} randomized values, over {MAX_RESPONSES:,}"
    if channel.singular:
        return "does not distinguish some cells at this epsilon, so nothing can be estimated"
    return None


def _in_words(error: float) -> str:
    return f"n times the mean variance of estimated proportions is {error:.4g}"
