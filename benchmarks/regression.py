"""Regressions from randomized records: bias, spread and coverage of several estimators.

Draws records of a known logistic model, an outcome of two categories on a covariate of two and a
number of six points, randomizes each column by keep or replace, and prints for each estimator the
bias and standard deviation of the coefficients, and the proportion of 95 % intervals that cover
them. The estimators are corrected scores and the likelihood of `deniable.regression`, MC-SIMEX with
quadratic extrapolation ([mc_simex]), the likelihood of `RRlog` ([rrreg]),
which corrects the outcome alone, and the naive fit. The exit code is always 0.

    python benchmarks/regression.py [--runs N] [--records N] [--epsilon E]
"""

import argparse
from collections.abc import Callable

import numpy as np
import scipy

from deniable.channels import Channel, KeepOrReplace
from deniable.errors import DeniableError
from deniable.records import Attribute, Domain
from deniable.regression import Design, groups_of, likelihood_fit, scores_fit
from deniable.responses import Answers
from deniable.schema import Column

TRUE = np.array([-1.0, 0.8, 0.3])  # intercept, sex=M, age
LEVELS = np.array([0.0, 0.5, 1.0, 1.5, 2.0])  # of added noise in MC-SIMEX
REPEATS = 20
COLUMNS = {
    "ill": Column(name="ill", kind="categorical", categories=["no", "yes"]),
    "sex": Column(name="sex", kind="categorical", categories=["F", "M"]),
    "age": Column(name="age", kind="numeric", bounds=[0.0, 5.0], step=1.0),
}
Estimate = tuple[np.ndarray, np.ndarray]  # coefficients, and their standard errors


def records_of(number: int, chance: np.random.Generator) -> list[np.ndarray]:
    """Return the codes of each column."""
    sex = chance.integers(0, 2, number)
    age = chance.binomial(5, 0.4 + 0.2 * sex)
    odds = np.exp(np.column_stack([np.ones(number), sex, age]) @ TRUE)
    return [(chance.random(number) < odds / (1 + odds)).astype(int), sex, age]


def logit(codes: list[np.ndarray], matrix: np.ndarray | None = None) -> Estimate:
    """Return the logistic regression; by RRreg's likelihood, if the outcome has a `matrix`."""
    X = np.column_stack([np.ones(codes[0].size), *codes[1:]])
    given = (np.eye(2) if matrix is None else matrix)[:, codes[0]]

    def loss(beta: np.ndarray) -> float:
        p = scipy.special.expit(X @ beta)
        return -float(np.log((1 - p) * given[0] + p * given[1] + 1e-300).sum())

    def gradient(beta: np.ndarray) -> np.ndarray:
        p = scipy.special.expit(X @ beta)
        fitted = (1 - p) * given[0] + p * given[1] + 1e-300
        return -X.T @ (p * (1 - p) * (given[1] - given[0]) / fitted)

    beta = scipy.optimize.minimize(loss, np.zeros(X.shape[1]), jac=gradient, method="BFGS").x
    steps = 1e-5 * np.eye(beta.size)
    hessian = np.array([gradient(beta + step) - gradient(beta - step) for step in steps]) / 2e-5
    return beta, np.sqrt(np.abs(np.diag(np.linalg.inv(hessian))))


def simex(
    codes: list[np.ndarray], channels: list[Channel], chance: np.random.Generator
) -> Estimate:
    """Return the coefficients by MC-SIMEX, with the errors by the variance of Stefanski and Cook.

    Noise of the `channels` to the power of each level is added, and the mean coefficients and
    variances are extrapolated to the level -1 by a quadratic.
    """
    at, means, variances = -1.0, [], []
    for level in LEVELS:
        found = []
        for _ in range(REPEATS if level else 1):
            noisy = [
                KeepOrReplace.uniform(each.size, _keep(each) ** level).randomize(own, chance)
                for own, each in zip(codes, channels, strict=True)
            ]
            found.append(logit(noisy))
        betas = np.array([beta for beta, _ in found])
        means.append(betas.mean(axis=0))
        spread = betas.var(axis=0, ddof=1) if level else 0.0
        variances.append(np.mean([errors**2 for _, errors in found], axis=0) - spread)
    beta, variance = (
        np.array([np.polyval(np.polyfit(LEVELS, column, 2), at) for column in np.array(each).T])
        for each in (means, variances)
    )
    return beta, np.sqrt(np.maximum(variance, 0.0))


def _keep(channel: Channel) -> float:
    form = channel.weight_and_replacement
    assert form is not None
    return form[0]


def estimators(
    codes: list[np.ndarray], channels: list[Channel], chance: np.random.Generator
) -> dict[str, Callable[[], Estimate]]:
    """Return each estimator for randomized `codes`."""
    domain = Domain(tuple(column.attribute() for column in COLUMNS.values()))
    design = Design.of("ill ~ sex + age", COLUMNS, None)
    answers = [
        Answers(Domain((Attribute(each.name, each.categories),)), channel, own)
        for each, channel, own in zip(domain, channels, codes, strict=True)
    ]
    groups = groups_of(answers, None, design.domain.names, "least")

    def of(fit: Callable[[], object]) -> Estimate:
        beta, covariance, _ = fit()  # type: ignore[misc]
        return beta[0], np.sqrt(np.diag(covariance))

    return {
        "corrected scores": lambda: of(lambda: scores_fit(design, groups, "population")),
        "likelihood": lambda: of(lambda: likelihood_fit(design, groups, weighted=False)),
        "MC-SIMEX": lambda: simex(codes, channels, chance),
        "RRlog": lambda: logit(codes, channels[0].matrix()),
        "naive": lambda: logit(codes),
    }


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--records", type=int, default=3000)
    parser.add_argument("--epsilon", type=float, default=2.0, help="of each column")
    options = parser.parse_args()
    found: dict[str, list[Estimate]] = {}
    for seed in range(options.runs):
        chance = np.random.default_rng(seed)
        true = records_of(options.records, chance)
        sizes = [column.attribute().size for column in COLUMNS.values()]
        channels: list[Channel] = [KeepOrReplace.of_epsilon(k, options.epsilon) for k in sizes]
        codes = [each.randomize(own, chance) for each, own in zip(channels, true, strict=True)]
        for name, estimate in estimators(codes, channels, chance).items():
            try:
                found.setdefault(name, []).append(estimate())
            except DeniableError:
                continue
    print("estimator         answers  bias (intercept, sex, age)  sd                coverage")
    for name, answers in found.items():
        betas, errors = (np.array(each) for each in zip(*answers, strict=True))
        held = (np.abs(betas - TRUE) <= 1.96 * errors).mean(axis=0)
        columns = (betas.mean(axis=0) - TRUE, betas.std(axis=0), held)
        print(f"{name:17} {len(answers):7}", *(np.array2string(c, precision=3) for c in columns))


if __name__ == "__main__":
    main()
