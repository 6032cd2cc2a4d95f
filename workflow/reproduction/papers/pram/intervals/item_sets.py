"""Errors of estimated item sets through product channels, by size ([pram], section 4).

Transactions of 40 items come from a latent-class model that is drawn once: each client belongs to
one of a few kinds, and a kind has a probability for each item. Each item is randomized separately
with the same ε, so the whole record has 40 times this ε. For each kind a replicate draws the
randomized patterns of its favourite items: one multinomial with the distribution (1.1).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from deniable.arrays import Floats
from deniable.channels import KeepOrReplace, ProductChannel
from deniable.estimation import confidence_intervals
from deniable.sampling import multinomial

from reproduction.study import Cell, Simulated, Simulator


@dataclass(frozen=True, eq=False)
class PramItemSets(Simulator):
    """Simulator of estimated supports for clients of several kinds.

    `shares` are the proportions of the kinds. `chances`, shape (kinds, items), are the
    probabilities that they buy each item. Given the kind, items are independent.

    Each output is a mean over the item sets of one size:

    - ``support``, ``standard_error``: the true support; the estimated standard error;
    - ``bias``: error in true standard errors;
    - ``relative_error``: absolute error over the support;
    - ``expected_relative_error``: the exact standard error, (1.3), over the support;
    - ``coverage_score``, ``coverage_wald``: of single intervals for the population;
    - ``coverage_bonferroni``: 1 if the intervals contain the supports for all kinds;
    - ``told_from_zero``: whether the score interval is above 0.
    """

    shares: Floats
    chances: Floats

    @classmethod
    def drawn(cls) -> "PramItemSets":
        """Draw 4 kinds with seed 2016: `shares` by Dirichlet(5, ...), `chances` by Beta(.5, 2)."""
        generator = np.random.default_rng(2016)
        shares = generator.dirichlet(np.full(4, 5.0))
        return cls(shares, generator.beta(0.5, 2.0, size=(4, 40)))

    def pattern_law(self, items: Sequence[int]) -> Floats:
        """Return the distribution of the 2^s patterns of s `items`; the last one varies fastest."""
        chances = self.chances[:, list(items)]
        law = self.shares[:, None]
        for chance in chances.T[..., None]:
            law = law[:, :, None] * np.stack([1 - chance, chance], axis=-1)
            law = law.reshape(len(chances), -1)
        return np.asarray(law.sum(axis=0))

    def favourites(self, size: int) -> list[tuple[int, ...]]:
        """Return the `size` most probable items of each kind."""
        order = np.argsort(-self.chances, axis=1, kind="stable")
        return [tuple(int(item) for item in sorted(row[:size])) for row in order]

    def simulate(self, cell: Cell, generator: np.random.Generator, replicates: int) -> Simulated:
        size, records = cell["size"], cell["records"]
        channel = ProductChannel((KeepOrReplace.of_epsilon(2, cell["epsilon"]),) * size)
        last = np.zeros((1, channel.size))
        last[0, -1] = 1.0
        sets, found = self.favourites(size), []
        for items in sets:
            true = self.pattern_law(items)
            law, support = channel.reported(true), true[-1]
            spread = (law @ channel.solve(last)[0] ** 2 - support**2) / records
            reports = multinomial(generator, np.full(replicates, records), law)
            intervals = partial(confidence_intervals, reports, channel, functionals=last)
            score, wald = intervals(), intervals(method="wald")
            together = intervals(confidence=1 - (1 - 0.95) / len(sets))
            error = score.estimate[:, 0] - support
            found.append(
                {
                    "support": np.full(replicates, support),
                    "bias": error / math.sqrt(spread),
                    "standard_error": score.standard_error[:, 0],
                    "relative_error": np.abs(error) / support,
                    "expected_relative_error": np.full(replicates, math.sqrt(spread) / support),
                    "coverage_score": score.cover(support)[:, 0],
                    "coverage_wald": wald.cover(support)[:, 0],
                    "coverage_bonferroni": together.cover(support)[:, 0],
                    "told_from_zero": score.low[:, 0] > 0,
                }
            )
        for measure in found[0]:
            of = np.min if measure == "coverage_bonferroni" else np.mean
            yield {"measure": measure}, of([each[measure] for each in found], axis=0)
