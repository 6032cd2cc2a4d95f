"""Tests of independence from noisy tables: Table 3 of [rrba], then sizes and powers.

All tables have k binary attributes. Their cells have the proportions

    pi(x) = product of marginals * (1 + rho * product of s_j(x_j)),

with scores s_j of mean 0 and variance 1 under the marginal distribution. The effect rho is the
correlation of the attributes for k = 2. For larger k, any fewer than k attributes are independent.
With the pattern ``pair``, the product is over the first two attributes. Table 3 states neither n
nor the distributions: uniform marginals, n and rho are assumed.

It states p = .5 for RRBA's channel, and ε = .25 for Laplace noise and MCIndep. These are not the
same privacy: the exact ε of RRBA, for the response of a client (local), is ln(1 + p m / (1 - p)).
The ε of the others is for the released table (central). Both are for the replacement of a record.

Methods are ``laplace`` (noise of scale 2 / ε, critical value of the chi-squared distribution);
``laplace_true_limit`` (the statistic of the original table instead of that value, 7.3.1); both with
``_printed_scale`` (2 |T| / ε, 7.4); ``mcindep``; ``rrba`` (7.3, with the channel of a table that
stays uniform); and ``channel_aware`` (`deniable.contingency.independence`). Methods with the same
trust model test the same tables, so their differences have less error than their intervals.

Sizes are decided in looks, each at twice the trials of the look before, up to a limit. At each look
the interval of Clopper and Pearson with the confidence 1 - .05 / looks decides whether a size is at
most .06 (*held*; *held, conservative* if it is below .04) or above (*too large*). The intervals of
all looks hold together with a probability of at least .95 (Bonferroni), whenever the trials stop.
After the last look the rest is *undecided*.
"""

from collections.abc import Mapping
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from deniable import contingency
from deniable.arrays import Flags, Floats
from deniable.channels import KeepOrReplace
from deniable.errors import DeniableError
from deniable.estimation import clopper_pearson
from deniable.rrba import keep_for_epsilon

from reproduction.papers.rrba.names import SIZES, STATED_EPSILON, UNDECIDED
from reproduction.study import Cell, Simulated, Simulator

STATED_KEEP = 0.5  # [rrba], Table 3
LEVEL = 0.05
HYPOTHESES = ("H0", "H1")
"""Independence is true, or false. ("null" would be a missing value for readers of CSV files.)"""
METHODS = ("laplace", "mcindep", "rrba", "channel_aware")
PRINTED_SCALE, TRUE_LIMIT = "laplace_printed_scale", "laplace_true_limit"
NOISIER_LIMIT = f"{TRUE_LIMIT}_printed_scale"
TABLE_3_METHODS = (*METHODS, PRINTED_SCALE, TRUE_LIMIT, NOISIER_LIMIT)
SHARES: Mapping[str, tuple[float, ...]] = {  # of the second category of each attribute
    "uniform": (0.5, 0.5, 0.5, 0.5),
    "skewed": (0.2, 0.3, 0.15, 0.25),
}
FALLBACK_TABLES, ENOUGH = 199, 10  # with 10 statistics as large, a p-value is above 5 %
PERCENT = 100.0
MAX_HELD, CONSERVATIVE, WRONGLY = 0.06, 0.04, 0.05


def proportions(k: int, margins: str, effect: float, pattern: str = "all") -> Floats:
    """Return the cells pi(x) of a table of `k`, 2 to 4, attributes with an `effect` rho.

    The marginal distributions `margins` are "uniform" or "skewed", the `pattern` is "all" or
    "pair". An effect that makes a cell negative raises a `DeniableError`.

    >>> proportions(2, "uniform", 0.2)
    array([0.3, 0.2, 0.2, 0.3])
    """
    shares = SHARES[margins][:k]
    dependent = shares if pattern == "all" else shares[:2]
    null = reduce(np.kron, [np.array([1 - s, s]) for s in shares])
    scores = [np.array([(s / (1 - s)) ** 0.5, -(((1 - s) / s) ** 0.5)]) for s in dependent]
    scores += [np.ones(2)] * (k - len(dependent))
    cells = null * (1 + effect * reduce(np.kron, scores))
    if cells.min() < 0:
        largest = -1 / reduce(np.kron, scores).min()
        raise DeniableError(
            f"an effect of {effect:g} makes a cell negative; with {margins} marginal distributions "
            f"of {k} attributes it can be at most {largest:.3g}"
        )
    return np.asarray(cells)


class Table3(Simulator):
    """Simulator of Table 3 of [rrba]: each method under the null and under the alternative.

    A trial is 100 for a rejected null, otherwise 0, so means are per cent.
    """

    def simulate(self, cell: Cell, generator: np.random.Generator, replicates: int) -> Simulated:
        releases = self._releases(cell)
        for hypothesis, effect in zip(HYPOTHESES, (0.0, cell["effect"]), strict=True):
            pi = proportions(cell["k"], "uniform", effect)
            found = _decisions(pi, releases, cell, generator, replicates)
            for method in TABLE_3_METHODS:
                one = {"hypothesis": hypothesis, "method": method}
                yield one | {"epsilon_exact": releases[method].epsilon}, PERCENT * found[method]

    def _releases(self, cell: Cell) -> dict[str, Any]:
        stated = _releases_at(cell, STATED_KEEP, STATED_EPSILON)
        noisier = contingency.LaplaceRelease(2 * 2 ** cell["k"] / STATED_EPSILON)
        noisy = {PRINTED_SCALE: noisier, NOISIER_LIMIT: noisier}
        return stated | noisy | {TRUE_LIMIT: stated["laplace"]}


class IndependencePower(Simulator):
    """Simulator of the rates at which methods reject independence, all at one exact ε.

    Trials are as in `Table3`. With the effect 0, the first look at the sizes is after `replicates`
    trials, and the last one after at most `most_replicates`. The measures are:

    - ``rejected``: whether the method rejects;
    - ``valid`` (channel-aware): whether its rule of validity holds;
    - ``valid_and_rejected``: both. Divided by ``valid``, it is the rejection rate of the
      chi-squared test.
    """

    def __init__(self, replicates: int = 1, most_replicates: int | None = None) -> None:
        self.looks = [replicates]
        while 2 * self.looks[-1] <= (most_replicates or 0):
            self.looks.append(2 * self.looks[-1])

    def wanted(self, cell: Cell, values: Floats) -> int:
        later = [look for look in self.looks if look > len(values)]
        if cell["effect"] or not later:
            return len(values)
        rejected = np.count_nonzero(values[:, : len(METHODS)], axis=0)
        sizes = decided_sizes(rejected, len(values), len(self.looks))
        return later[0] if UNDECIDED in sizes else len(values)

    def simulate(self, cell: Cell, generator: np.random.Generator, replicates: int) -> Simulated:
        keep = keep_for_epsilon([2 ** cell["k"]], cell["epsilon"])
        releases = _releases_at(cell, keep, cell["epsilon"])
        pi = proportions(cell["k"], cell["margins"], cell["effect"], cell["pattern"])
        found = _decisions(pi, releases, cell, generator, replicates)
        measures = [(method, "rejected", found[method]) for method in METHODS]
        both = found["valid"] & found["channel_aware"]
        measures += [("channel_aware", "valid", found["valid"])]
        measures += [("channel_aware", "valid_and_rejected", both)]
        for method, measure, decisions in measures:
            one = {"method": method, "epsilon_exact": releases[method].epsilon, "measure": measure}
            yield one | {"looks": len(self.looks)}, PERCENT * decisions


def _releases_at(cell: Cell, keep: float, epsilon: float) -> dict[str, Any]:
    """Return the release of each method: responses of RRBA with a p, or noise with an ε."""
    central = contingency.LaplaceRelease(2 / epsilon)
    local = contingency.RandomizedRelease(KeepOrReplace.uniform(2 ** cell["k"], keep))
    return {"laplace": central, "mcindep": central, "rrba": local, "channel_aware": local}


def _decisions(
    pi: Floats,
    releases: Mapping[str, Any],
    cell: Cell,
    generator: np.random.Generator,
    replicates: int,
) -> dict[str, Flags]:
    """Return the trials that each method rejects, and trials with a valid channel-aware test."""
    records, model = cell["n"], contingency.Independence((2,) * cell["k"])
    true, local = generator.multinomial(records, pi, replicates), releases["rrba"]
    noisy = releases["mcindep"].release(true, generator)
    reports = local.channel.randomize_counts(true, generator)
    found = {"laplace": contingency.asymptotic_test(noisy, records, model, level=LEVEL)}
    for method, released in (("mcindep", noisy), ("rrba", local.estimated(reports))):
        found[method] = contingency.monte_carlo_test(
            released,
            records,
            releases[method],
            model,
            generator,
            tables=cell["sampled_tables"],
            level=LEVEL,
            small_cells=cell["small_cells"],
            to_the_end=False,
        ).rejected
    limits = {"tables": FALLBACK_TABLES, "enough": ENOUGH}
    aware = contingency.channel_test(reports, local.channel, model, generator=generator, **limits)
    found |= {"channel_aware": aware.p_value <= LEVEL, "valid": aware.valid}
    if PRINTED_SCALE in releases:
        noisier = releases[PRINTED_SCALE].release(true, generator)
        found[PRINTED_SCALE] = contingency.asymptotic_test(noisier, records, model, level=LEVEL)
        for method, table in ((TRUE_LIMIT, noisy), (NOISIER_LIMIT, noisier)):
            found[method] = contingency.test_against_true_statistic(table, true, records, model)
    return found


def counted(results: pd.DataFrame) -> pd.DataFrame:
    """Add ``rejected`` and ``trials`` of `results` in per cent, with exact intervals."""
    trials = results["replicates"].to_numpy(dtype=int)
    rejected = np.rint(results["regenerated"].to_numpy() * trials / PERCENT).astype(int)
    low, high = clopper_pearson(rejected, trials)
    interval = {"ci_low": PERCENT * low, "ci_high": PERCENT * high}
    return results.assign(**interval, rejected=rejected, trials=trials)


def judged(results: pd.DataFrame) -> pd.DataFrame:
    """Add ``size``, one of `SIZES`, to `counted` `results`; it is empty for other measures."""
    table = counted(results)
    is_size = (table["measure"] == "rejected") & (table["effect"] == 0)
    found = decided_sizes(table["rejected"], table["trials"], table["looks"])
    return table.assign(size=np.where(is_size, found, ""))


def decided_sizes(
    rejected: npt.ArrayLike, trials: npt.ArrayLike, looks: npt.ArrayLike
) -> npt.NDArray[np.str_]:
    """Return the decision on each size, one of `SIZES`, from the number `rejected` of `trials`.

    Each size has at most the number of `looks`. Shapes broadcast.

    >>> decided_sizes([35, 70, 410, 100], [500, 2000, 8000, 1000], 5).tolist()
    ['undecided', 'held', 'held', 'too large']
    """
    low, high = clopper_pearson(rejected, trials, 1 - WRONGLY / np.asarray(looks))
    cases = [high < CONSERVATIVE, high <= MAX_HELD, low > MAX_HELD]  # the first that is true
    held, conservative, too_large, _ = SIZES
    return np.select(cases, [conservative, held, too_large], UNDECIDED)
