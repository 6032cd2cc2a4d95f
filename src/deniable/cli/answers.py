"""Answers about a channel as plain mappings with stable keys, and their text."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from deniable.arrays import Counts, Floats
from deniable.channels import DenseChannel, NamedChannel, Target
from deniable.errors import plain, refuse_unknown
from deniable.privacy import (
    Factors,
    extreme_factors,
    find_breaches,
    largest_parity,
    largest_posterior,
    smallest_posterior,
    witness,
    worst_set,
)

Answers = dict[str, Any]

CONVENTION = "row-stochastic: row u, column v is Pr(report v | true u)"
PRIORS = (0.01, 0.05, 0.1, 0.25, 0.5)
INVARIANCE_TOLERANCE = 1e-9
SIGNIFICANT_DIGITS = 6
INDENT = "  "


def channel_of_plan(path: Path, column: str) -> NamedChannel:
    """Return the channel of a `column`, or of a cluster, from the plan at a `path`.

    The name is a ``block`` of `Plan.matrices`, with " in " and a stratum if there are strata.
    Raises `DeniableError` if the plan has no such channel.
    """
    from deniable.plans import read_plan  # noqa: PLC0415 - only plans need it

    table = read_plan(path).matrices()
    names = table["block"] + (" in " + table["stratum"]).where(table["stratum"] != "", "")
    refuse_unknown("column of the plan", column, tuple(names.unique()))
    own = table[names == column]
    categories, reports = (tuple(own[name].unique()) for name in ("true", "reported"))
    entries = own["probability"].astype(float).to_numpy().reshape(len(categories), -1)
    return NamedChannel(categories, DenseChannel(np.asarray(entries)), reports)


def privacy(named: NamedChannel) -> Answers:
    """Return epsilon, parity, beta and breach bounds for any prior, of the channel `named`."""
    channel = named.channel
    parity = channel.parity
    return {
        "convention": CONVENTION,
        "categories": list(named.categories),
        "reports": list(named.reports),
        "epsilon": channel.epsilon,
        "parity": parity,
        "beta": parity,  # [pram], Theorem 3.2: the parity is the smallest guaranteed factor
        "breach_bounds": [
            {
                "prior": prior,
                "smallest_posterior": float(smallest_posterior(prior, parity)),
                "largest_posterior": float(largest_posterior(prior, parity)),
            }
            for prior in PRIORS
        ],
        "condition_number": (
            float(np.linalg.cond(channel.entries)) if channel.size <= channel.reports else math.inf
        ),
        "singular": channel.singular,
    }


def breach_answer(named: NamedChannel, prior: Floats | None, rho_1: float, rho_2: float) -> Answers:
    """Return whether the channel `named` allows a `rho_1`-to-`rho_2` breach, with an example.

    The probabilities satisfy 0 < `rho_1` < `rho_2` < 1. With a `prior`, shape (categories,), the
    worst breach under it is included.
    """
    channel = named.channel
    found = witness(channel, rho_1, rho_2)
    worst = worst_set(channel, prior, rho_1) if prior is not None else None
    return {
        "rho_1": rho_1,
        "rho_2": rho_2,
        "largest_parity": largest_parity(rho_1, rho_2),
        "guaranteed": found is None,
        "witness": found and {"prior": [float(p) for p in found.prior]} | _breach(named, found),
        "worst_under_prior": worst
        and _breach(named, worst) | {"bound": worst.bound, "exact": worst.exact},
    }


def _breach(named: NamedChannel, found: Any) -> Answers:
    return {
        "members": [named.categories[u] for u in found.members],
        "report": named.reports[found.report],
        "prior_probability": float(found.prior_probability),
        "posterior": float(found.posterior),
    }


def under_prior(named: NamedChannel, prior: Floats) -> Answers:
    """Return posteriors under a `prior`, shape (categories,), and whether it is invariant.

    ``invariant`` is None if the randomized values of the channel `named` are not categories.
    """
    channel = named.channel
    same = named.reports == named.categories
    reported = channel.reported(prior)
    change = float(np.abs(reported - prior).max()) if same else None
    found = extreme_factors(channel, prior)
    return {
        "prior": prior,
        "reported": reported,
        "invariant": None if change is None else change <= INVARIANCE_TOLERANCE,
        "largest_change": change,
        "posterior": channel.posterior(prior),
        "largest_factor": _factor(named, found, "largest"),
        "smallest_factor": _factor(named, found, "smallest"),
    }


def about_set(
    named: NamedChannel,
    prior: Floats,
    members: Sequence[str],
    breach: tuple[float, float] | None = None,
) -> Answers:
    """Return bounds and posteriors of the set of the categories `members` under a `prior`.

    The bounds (3.9) and (3.13) of [pram] hold for any prior with this probability of the set. They
    follow from the parity of the channel `named`. With `breach`, (rho_1, rho_2), the values that
    cause an upward or a downward breach are included. Raises `DeniableError` for unknown members.
    """
    for name in members:
        refuse_unknown("category", name, named.categories)
    codes = [named.categories.index(name) for name in members]
    parity = named.channel.parity
    found = find_breaches(named.channel, prior, codes, *(breach or (0.1, 0.5)))
    sides = {"upward": found.upward, "downward": found.downward} if breach else {}
    return {
        "members": list(members),
        "prior_probability": found.prior_probability,
        "smallest_posterior": float(smallest_posterior(found.prior_probability, parity)),
        "largest_posterior": float(largest_posterior(found.prior_probability, parity)),
        "posterior": found.posterior,
        **{side: [named.reports[report] for report in own] for side, own in sides.items()},
    }


def _factor(named: NamedChannel, found: Factors, side: str) -> Answers:
    members, report = getattr(found, f"{side}_members"), getattr(found, f"{side}_report")
    return {
        "ratio": getattr(found, side),
        "category": named.categories[members[0]],
        "report": named.reports[report],
    }


def estimate(named: NamedChannel, counts: Counts, target: Target, confidence: float) -> Answers:
    """Return the unbiased estimate with its errors, and the maximum-likelihood distribution.

    The `counts`, shape (reports,), are of the randomized values of the channel `named`. The
    intervals are for the `target`, with a `confidence` in (0, 1). Raises `SingularChannelError` if
    the channel is singular, and `ChannelError` for the population and a count of only one value.
    """
    from deniable.estimation import confidence_intervals, maximum_likelihood  # noqa: PLC0415

    channel = named.channel
    intervals = confidence_intervals(counts, channel, confidence=confidence, target=target)
    likely = intervals.estimate
    # With a square matrix, an unbiased estimate that is a distribution fits the counts exactly, so
    # its likelihood is the largest.
    if likely.min() < 0 or not channel.square:
        likely = maximum_likelihood(counts, channel).proportions
    return {
        "records": int(counts.sum()),
        "target": target,
        "inverse": None if channel.square else "least",  # a square matrix has only one inverse
        "confidence": confidence,
        "estimate": intervals.estimate,
        "standard_error": intervals.standard_error,
        "covariance": channel.estimated_covariance(counts, target),
        "interval_low": intervals.low,
        "interval_high": intervals.high,
        "maximum_likelihood": likely,
    }


def number(value: float | int | None) -> str:
    """Return the text of a `value` with 6 significant digits, or a dash if it is not defined."""
    if value is None or math.isnan(value):
        return "-"
    if math.isinf(value):
        return "infinite"
    return str(value) if isinstance(value, int) else f"{value:.{SIGNIFICANT_DIGITS}g}"


def aligned(
    header: Sequence[str],
    rows: Sequence[Sequence[str | float | None]],
    right: Sequence[bool] | None = None,
) -> list[str]:
    """Return the lines of a table with a `header` and `rows`.

    `right` states for each column whether it is flush right; by default all but the first are.
    """
    cells = [list(map(plain, header))] + [
        [plain(value) if isinstance(value, str) else number(value) for value in row] for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    sides = ["<>"[flush] for flush in right or [column > 0 for column in range(len(header))]]
    form = INDENT + INDENT.join(f"{{:{s}{w}}}" for s, w in zip(sides, widths, strict=True))
    return [form.format(*row).rstrip() for row in cells]


def listed(facts: Sequence[tuple[str, str | float | None, str]]) -> list[str]:
    """Return a line for each of the `facts`: name, value and remark."""
    return aligned(("", "", ""), facts, (False, False, False))[1:]


def to_json(answers: Mapping[str, Any]) -> str:
    """Return the `answers` as one strict JSON object, with a line for each key.

    An infinite number is the string "Infinity", and an undefined one is null.
    """
    lines = [
        f"{INDENT}{json.dumps(key)}: {json.dumps(_plain(value), allow_nan=False)}"
        for key, value in answers.items()
    ]
    return "{\n" + ",\n".join(lines) + "\n}"


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if hasattr(value, "tolist"):  # a NumPy array or number
        plain_values = value.tolist()
        return plain_values if np.isfinite(value).all() else _plain(plain_values)
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value
