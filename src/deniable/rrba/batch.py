"""RRBA without clients: counts of whole blocks, for many replicates in parallel.

The distribution is the one of `deniable.rrba.protocol` with one table. Given the table of their
block, clients answer independently. So counts of true answers are binomial, and counts of fake
answers are multinomial.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deniable.arrays import Counts, Floats
from deniable.errors import DeniableError
from deniable.rrba.tables import (
    POOLED,
    Rule,
    TableState,
    checked_counts,
    drawn_distribution,
    pooled_estimate,
    refuse_bad_keep,
)
from deniable.sampling import multinomial


@dataclass(frozen=True, eq=False)
class Collection:
    """Replicates of RRBA for one table, with the axes run, block, cell.

    `reported` counts and `tables`, the tables T of the blocks, have the shape (runs, blocks,
    cells). `keep` is p, and `state` the state after the last block.
    """

    keep: float
    reported: Counts
    tables: Floats
    state: TableState

    @property
    def drawn_from(self) -> Floats:
        """The distributions of fake answers, shape (runs, blocks, cells)."""
        return drawn_distribution(self.tables)

    def running_estimates(self) -> Floats:
        """Return the unbiased estimate from all blocks up to each, shape (runs, blocks, cells)."""
        size = self.reported.sum(axis=-1, keepdims=True)
        sums = (self.reported, size * self.drawn_from, size)
        counts, exposure, total = (np.cumsum(each, axis=1) for each in sums)
        return pooled_estimate(counts, exposure, total, self.keep)

    def running_standard_errors(self) -> Floats:
        """Return the standard errors of `running_estimates`, including the sampling of clients.

        Given its table, a block has multinomial reports with lambda = p pi + (1 - p) q. The
        variance is the sum over blocks of n lambda (1 - lambda), divided by (p N)^2. The estimate,
        clipped to [0, 1], replaces pi.
        """
        size = self.reported.sum(axis=-1, keepdims=True)
        total = np.maximum(np.cumsum(size, axis=1), 1)
        pi = np.clip(self.running_estimates(), 0.0, 1.0)
        fake = (1 - self.keep) * self.drawn_from
        # sum of n (p pi + f)(1 - p pi - f), with pi that of the block reached.
        known = self.keep * pi
        squares = np.cumsum(size * fake * (1 - fake), axis=1)
        crossed = np.cumsum(size * (1 - 2 * fake), axis=1)
        variance = squares + known * crossed - total * known**2
        return np.asarray(np.sqrt(np.maximum(variance, 0.0)) / (self.keep * total))

    def estimate(self) -> Floats:
        """Return the unbiased estimate from all blocks, shape (runs, cells)."""
        return self.state.estimate(self.keep)


def collect(
    true_counts: npt.ArrayLike, keep: float, generator: np.random.Generator, rule: Rule = POOLED
) -> Collection:
    """Collect one table from blocks of clients, run by run and block by block.

    `true_counts`, shape (runs, blocks, cells), are numbers of clients by true cell: see
    `sampled_blocks` and `split_blocks`. A block may be empty. p, `keep`, is in (0, 1). The `rule`
    makes the table of the next block from reports. The `generator` draws true and fake answers.
    """
    refuse_bad_keep(keep)
    true = np.asarray(true_counts)
    if true.ndim != 3 or true.dtype.kind not in "iu" or (true.size and true.min() < 0):
        raise DeniableError(
            "true counts must be whole numbers, not negative, with axes run, block, cell; they "
            f"are {true.dtype} of shape {true.shape}"
        )
    runs, blocks, cells = true.shape
    state = TableState.uniform(cells, (runs,))
    reported = np.empty((runs, blocks, cells), dtype=np.int64)
    tables = np.empty((runs, blocks, cells))
    kept = generator.binomial(true, keep)
    replaced = true.sum(axis=-1) - kept.sum(axis=-1)
    for block in range(blocks):
        tables[:, block] = state.table
        fake = multinomial_rows(generator, replaced[:, block], state.drawn_from)
        reported[:, block] = kept[:, block] + fake
        state = state.updated(reported[:, block], keep, rule)
    return Collection(keep, reported, tables, state)


def multinomial_rows(
    generator: np.random.Generator, totals: Counts, probabilities: Floats
) -> Counts:
    """Draw multinomial counts with row-wise `probabilities`, shape (rows, cells); zeros stay zeros.

    NumPy assigns the remainder of rounding to the last category. Here the last one is the most
    likely one. `totals` has the shape (rows,). The `generator` draws.
    """
    rows, last = np.arange(len(probabilities)), probabilities.shape[-1] - 1
    likeliest = probabilities.argmax(axis=-1)
    swapped = probabilities.copy()
    swapped[rows, likeliest] = probabilities[:, last]
    swapped[:, last] = probabilities[rows, likeliest]
    # Sums of floats just above 1 would be refused.
    swapped /= np.maximum(swapped.sum(axis=-1, keepdims=True), 1.0)
    drawn = generator.multinomial(totals, swapped)
    own = drawn[:, last].copy()
    drawn[:, last] = drawn[rows, likeliest]
    drawn[rows, likeliest] = own
    return drawn


def sampled_blocks(
    truth: npt.ArrayLike, sizes: Sequence[int], runs: int, generator: np.random.Generator
) -> Counts:
    """Draw clients with replacement by `generator`, for blocks of `sizes` clients, `runs` times.

    The `truth` is a distribution, shape (cells,). The result has the shape (runs, blocks, cells).
    """
    each = checked_counts(np.asarray(sizes, dtype=np.int64), len(sizes))
    totals = np.broadcast_to(each, (runs, len(sizes)))
    return multinomial(generator, totals, np.asarray(truth, dtype=float))


def split_blocks(
    counts: npt.ArrayLike, sizes: Sequence[int], runs: int, generator: np.random.Generator
) -> Counts:
    """Assign the records of a file to blocks of `sizes` clients at random, `runs` times.

    The `generator` deals them. The `counts` of the file have the shape (cells,). Sizes sum to the
    number of records. The result has the shape (runs, blocks, cells).
    """
    file = checked_counts(counts, np.size(counts))
    if sum(sizes) != file.sum():
        raise DeniableError(
            f"the blocks have {sum(sizes):,} clients, the file {file.sum():,} records; make them "
            "the same"
        )
    blocks, cells = len(sizes), file.size
    records = np.repeat(np.arange(cells), file)
    block = np.repeat(np.arange(blocks), sizes) * cells
    dealt = np.empty((runs, blocks * cells), dtype=np.int64)
    for run in range(runs):
        dealt[run] = np.bincount(generator.permutation(records) + block, minlength=blocks * cells)
    return dealt.reshape(runs, blocks, cells)


def block_sizes(records: int, size: int) -> tuple[int, ...]:
    """Return the sizes of blocks of `size` clients for all `records`; the last has the remainder.

    Examples
    --------
    >>> block_sizes(8, 3)
    (3, 3, 2)
    """
    if records < 0 or size < 1:
        raise DeniableError(f"{records} records cannot be put into blocks of {size}")
    whole, left = divmod(records, size)
    return (size,) * whole + ((left,) if left else ())
