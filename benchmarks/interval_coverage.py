"""Coverage of 95 % intervals of joint estimates and of regressions, in protections of Adult.

Each protection draws records with replacement, randomizes them at an exact epsilon of a record that
is split evenly, and counts the intervals that cover the true value. Kinds of intervals are

- `whatever`: of the unbiased tables of all pairs, which `Released.joint` shows beside its own;
- `scores` and `likelihood`: of the coefficients of a logistic regression, `--formula`;
- `model`: limits that are valid if the model holds, of the pairs of three columns. 2,000 records
  are drawn from a joint estimate of Adult, so that they are of the model;
- `adult`: the same limits with 2,000 records of Adult, where they need not cover.

The truth is the distribution from which records are drawn. Protections are independent, and the
intervals of one are not: the standard error is the one between protections. `p` is of the two-sided
test that the coverage is 95 %, adjusted by Holm over the kinds. Refused regressions are not
`answered`. The exit code is always 0.

    python benchmarks/interval_coverage.py --adult results/data/adult.parquet [--runs 400]
        [--epsilon 8] [--formula "income ~ sex"] [--repetitions 10]
        [--kinds whatever scores likelihood model adult]
"""

import argparse
import warnings
from collections.abc import Callable
from contextlib import suppress
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy

from deniable import Released, plan_from_protocol, randomize
from deniable.contingency import holm
from deniable.errors import NoAnswerError
from deniable.randomized_response import protocol_from_epsilon
from deniable.records import Microdata, read_true_records

FEW, RECORDS_OF_FEW = ("relationship", "sex", "income"), 2000
ALMOST_EXACT = 12.0  # epsilon of a column in estimates that are the truth
LIMITS = {"whatever": ("ci_low", "ci_high"), "model": ("model_low", "model_high")}
Run = Callable[[np.random.Generator], np.ndarray]  # flags of the intervals of a protection


def sampled(data: Microdata, records: int, chance: np.random.Generator) -> Microdata:
    """Return so many `records`, drawn with replacement."""
    rows = chance.integers(0, len(data), records)
    return Microdata(data.domain, tuple(column[rows] for column in data.columns))


def released(data: Microdata, epsilon: float, chance: np.random.Generator) -> Released:
    """Return the release of `data` with this epsilon of a record."""
    plan = plan_from_protocol(protocol_from_epsilon(data.domain, epsilon))
    pairs = zip(data.domain, data.columns, strict=True)
    frame = {own.name: pd.Categorical.from_codes(codes, own.categories) for own, codes in pairs}
    return Released(randomize(pd.DataFrame(frame), plan, chance), plan)


def covered(answer: pd.DataFrame, truth: Any, kind: str = "whatever") -> np.ndarray:
    low, high = (answer[name].to_numpy() for name in LIMITS[kind])
    return np.asarray((low <= truth) & (truth <= high))


def tables(data: Microdata, epsilon: float) -> Run:
    def run(chance: np.random.Generator) -> np.ndarray:
        found = released(sampled(data, len(data), chance), epsilon, chance).pairs()
        pairs = [label.split(" x ") for label in found["columns"].unique()]
        return covered(found, np.concatenate([data.counts(p).ravel() for p in pairs]) / len(data))

    return run


def coefficients(data: Microdata, epsilon: float, formula: str, method: Any) -> Run:
    exact = released(data, ALMOST_EXACT * len(data.domain), np.random.default_rng(1))
    truth = exact.regression(formula)["estimate"].to_numpy()

    def run(chance: np.random.Generator) -> np.ndarray:
        drawn = released(sampled(data, len(data), chance), epsilon, chance)
        return covered(drawn.regression(formula, method=method), truth)

    return run


def limits(data: Microdata, epsilon: float, repetitions: int, *, of_model: bool) -> Run:
    own = data.project(FEW)
    pairs = [*combinations(own.domain.names, 2)]
    model = (
        released(own, ALMOST_EXACT * len(own.domain), np.random.default_rng(1)).joint().distribution
    )
    truth = {p: model.table(p) if of_model else own.counts(p).ravel() / len(own) for p in pairs}

    def run(chance: np.random.Generator) -> np.ndarray:
        if of_model:
            drawn = model.sample(RECORDS_OF_FEW, chance, whole=False)
        else:
            drawn = sampled(own, RECORDS_OF_FEW, chance)
        seed = int(chance.integers(1 << 30))
        found = released(drawn, epsilon, chance).joint(seed=seed, repetitions=repetitions)
        return np.concatenate([covered(found.table(p), truth[p], "model") for p in pairs])

    return run


def main() -> int:
    """Print the coverage of each kind of interval."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--adult", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--epsilon", type=float, default=8.0)
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--formula", default="income ~ sex")
    parser.add_argument(
        "--kinds", nargs="+", default=["whatever", "scores", "likelihood", "model", "adult"]
    )
    given = parser.parse_args()
    data: Any = read_true_records(given.adult)
    epsilon = given.epsilon
    kinds: dict[str, Callable[[], Run]] = {
        "whatever": lambda: tables(data, epsilon),
        "scores": lambda: coefficients(data, epsilon, given.formula, "scores"),
        "likelihood": lambda: coefficients(data, epsilon, given.formula, "likelihood"),
        "model": lambda: limits(data, epsilon, given.repetitions, of_model=True),
        "adult": lambda: limits(data, epsilon, given.repetitions, of_model=False),
    }
    rows = []
    warnings.simplefilter("ignore")
    for kind in given.kinds:
        run = kinds[kind]()
        found = []
        for seed in range(given.runs):
            with suppress(NoAnswerError):
                found.append(run(np.random.default_rng([34, seed])))
        shares, number = np.array([own.mean() for own in found]), len(found)
        error = shares.std(ddof=1) / np.sqrt(number)
        p = 2 * scipy.stats.t.sf(abs(shares.mean() - 0.95) / error, number - 1)
        of = sum(map(len, found))
        rows.append((kind, epsilon, given.runs, number, of, shares.mean(), error, p))
    names = ("kind", "epsilon", "protections", "answered", "intervals", "coverage")
    names = (*names, "standard_error", "p")
    table = pd.DataFrame(rows, columns=names)
    table["p"] = holm(table["p"])
    print(table.to_string(index=False, float_format="{:.4f}".format))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
