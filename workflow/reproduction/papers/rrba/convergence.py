"""Convergence of RRBA: Figures 5 and 6 of [rrba], section 5.

A replicate has 200 blocks of clients, drawn with replacement from a file, who answer about one
table of two attributes. It follows the cell with a proportion closest to the requested one. There
are three criteria of convergence.

``first`` and ``lasting`` are the published rule: two consecutive tables differ by less than delta*,
the width of a 95 % interval of a Bernoulli variable observed n times, where n is the size of a
block. The rule is met for the first time, or for good ("and remains valid throughout the blocks").
It does not measure the distance from the original table. As long as tables are distributions, two
estimates differ by less than 2 z sd with the probability Pr(|Z| < sqrt(2) z p), for every block
size, in block 3 and in block 200.

``precise``: the estimate pooled over all blocks so far is as precise as truthful answers of 500
people. Its standard error, which does not require the true proportions, is at most
sqrt(pi (1 - pi) / 500), in blocks of any size. 500 is the size of Survey, but the choice was not
blind. For q = pi the text on Figure 6 (which p and block sizes converge) follows from any reference
between about 490 and 580, and from no reference far outside. So this does not confirm the text.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from deniable import rrba
from deniable.arrays import Floats, at_least
from deniable.estimation import Z_95
from deniable.records import Microdata
from deniable.sampling import multinomial

from reproduction.study import Cell, Simulated, Simulator, measured

UPDATES: Mapping[str, rrba.Rule] = {  # rules for the next table, by ``update``
    "printed": rrba.PRINTED,
    "printed_first_version": rrba.PRINTED_FIRST_VERSION,
    "projected": rrba.Rule("second_version", 0.1),
    "pooled": rrba.POOLED,
    "uniform": rrba.Rule("none"),
}


class Followed(NamedTuple):
    """The cell of a file that a replicate follows."""

    combination: rrba.Combination  # two attributes
    cell: int  # position in their table
    proportion: float  # of the cell
    proportions: Floats  # of the table in the file, shape (cells,)


@dataclass(frozen=True, eq=False)
class Convergence(Simulator):
    """Simulator of the convergence of RRBA.

    The measures of a criterion are:

    - ``converged``: 1 if it was met within the blocks;
    - ``tuples``: answers until then, or all answers if it was not met (a restricted mean);
    - ``error``: absolute error, cut off at 1, of the result then or at the end. The result is the
      average of the last two tables (section 5, step 4), with ``precise`` the pooled estimate;
    - ``within``: 1 if that error is within the 95 % interval of the reference sample.

    The measures of ``none``, without stopping, are ``error_last`` of the last table,
    ``error_average`` of the last two, ``error_pooled``, and ``invalid`` (1 if a table has a cell
    below 0).
    """

    files: Mapping[str, Microdata]  # by data set
    blocks: int = 200  # of a replicate, at least 2
    reference: int = 500  # number of truthful answers of the criterion ``precise``

    def simulate(self, cell: Cell, generator: np.random.Generator, replicates: int) -> Simulated:
        followed = closest_cell(self.files[cell["dataset"]], cell["probability"])
        size = cell["block_size"]
        blocks = np.full((replicates, self.blocks), size)
        clients = multinomial(generator, blocks, followed.proportions)
        runs = rrba.collect(clients, cell["p"], generator, UPDATES[cell["update"]])
        return self._outcomes(runs, followed, size)

    def _outcomes(self, runs: rrba.Collection, followed: Followed, size: int) -> Simulated:
        truth, at = followed.proportion, followed.cell
        sent = np.concatenate((runs.tables, runs.state.table[:, None]), axis=1)
        tables, later = sent[..., at], sent[:, 1:]
        averages = (tables[:, 1:] + tables[:, :-1]) / 2
        pooled = runs.running_estimates()[..., at]
        met = np.abs(np.diff(tables, axis=1)) < interval_width(tables[:, 1:], size)
        # A diverged table does not change any more, but this does not count as convergence.
        met &= np.abs(later).max(axis=-1) < rrba.DIVERGENCE_THRESHOLD
        lasting = np.logical_and.accumulate(met[:, ::-1], axis=1)[:, ::-1]
        precise = at_least(self._reference_error(pooled), runs.running_standard_errors()[..., at])
        reach = Z_95 * float(self._reference_error(np.array(truth)))
        criteria = {"first": (met, averages), "lasting": (lasting, averages)}
        criteria["precise"] = precise, pooled
        for criterion, (reached, returned) in criteria.items():
            block = np.where(reached.any(axis=1), reached.argmax(axis=1), self.blocks - 1)
            value = np.take_along_axis(returned, block[:, None], axis=1)[:, 0]
            measures = {
                "converged": reached.any(axis=1),
                "tuples": (block + 1.0) * size,
                "error": _error(value, truth),
                "within": np.abs(value - truth) <= reach,
            }
            yield from measured(measures, criterion=criterion)
        last = {"error_last": tables, "error_average": averages, "error_pooled": pooled}
        errors = {measure: _error(each[:, -1], truth) for measure, each in last.items()}
        yield from measured(errors | {"invalid": later.min(axis=(1, 2)) < 0}, criterion="none")

    def _reference_error(self, proportion: Floats) -> Floats:
        # An estimate at or below 0 would require an error of 0.
        least = 1 / self.reference
        pi = np.clip(proportion, least, 1 - least)
        return np.asarray(np.sqrt(pi * (1 - pi) / self.reference))


def _error(value: Floats, truth: float) -> Floats:
    return np.asarray(np.minimum(np.abs(value - truth), 1.0))  # published rule: up to millions


@cache
def closest_cell(data: Microdata, probability: float) -> Followed:
    """Return the cell with a proportion closest to `probability`, of all pairs in `data`."""
    found = []
    for combination in combinations(data.domain.names, 2):
        proportions = data.counts(combination).reshape(-1) / len(data)
        cell = int(np.abs(proportions - probability).argmin())
        found.append(Followed(combination, cell, float(proportions[cell]), proportions))
    return min(found, key=lambda each: abs(each.proportion - probability))


def interval_width(estimate: npt.ArrayLike, size: int) -> Floats:
    """Return delta*, the width of the 95 % interval of a Bernoulli variable (section 5).

    Let v be the `estimate` and n the `size` of a block. If v n is over 5, the width is
    2 z sqrt(v (1 - v) / n). Otherwise it is the width of the interval of the log odds, with v n at
    least one half. Any v is allowed, because tables of the published rule can leave [0, 1].
    """
    v = np.asarray(estimate, dtype=float)
    inside = np.clip(v, 0.5 / size, 1 - 0.5 / size)
    normal = 2 * Z_95 * np.sqrt(inside * (1 - inside) / size)
    reach = Z_95 / np.sqrt(size * inside * (1 - inside))
    centre = scipy.special.logit(inside)
    by_odds = scipy.special.expit(centre + reach) - scipy.special.expit(centre - reach)
    return np.asarray(np.where(at_least(5.0, v * size), by_odds, normal))
