"""``deniable channel``: privacy of a channel, posteriors under a prior, and estimates."""

import argparse
import math
from pathlib import Path
from typing import Any

import numpy as np

from deniable.arrays import Counts, Floats
from deniable.channels import DenseChannel, NamedChannel, read_channel, read_counts, read_prior
from deniable.cli.answers import aligned, listed, number, to_json
from deniable.errors import (
    ChannelError,
    NoAnswerError,
    SingularChannelError,
    refuse_unknown,
    shown,
)
from deniable.privacy import (
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
IF_ASKED_FOR = (
    *("breach", "prior", "reported", "invariant", "largest_change", "posterior"),
    *("largest_factor", "smallest_factor", "records", "target", "inverse", "confidence"),
    *("estimate", "standard_error", "covariance", "interval_low", "interval_high"),
    "maximum_likelihood",
)
"""Keys that have a value only if an option requests it, in their order."""
SHOWN_KEYS = ("estimate", "standard_error", "interval_low", "interval_high", "maximum_likelihood")
UNBIASED = (
    "  Estimates are unbiased, so they and their intervals may leave [0, 1]. Maximum-likelihood",
    "  estimates are a distribution.",
)
OF_LEAST_VARIANCE = (
    "  There are more randomized values than categories, so many unbiased estimates exist. These",
    "  have the least variance at the estimated proportions. Their bias is small compared with",
    "  the standard error. They and their intervals may leave [0, 1]. Maximum-likelihood estimates",
    "  are a distribution.",
)
MAX_SHOWN, MAX_NAMED = 12, 4
"""Largest number of rows of a printed matrix, and of named members of a set."""


def run(options: argparse.Namespace) -> None:
    """Read the files of the `options` and print the answers; raise `DeniableError` for an error."""
    if options.breach and options.breach[0] >= options.breach[1]:
        options.parser.error("argument --breach: RHO_1 must be smaller than RHO_2")
    if options.set and not options.prior:
        options.parser.error("argument --set: it needs --prior")
    file, column = options.matrix, options.column
    named = _channel_of_plan(file, column) if column else read_channel(file)
    prior = read_prior(options.prior, named.categories) if options.prior else None
    counts = read_counts(options.counts, named.reports) if options.counts else None
    answers = privacy(named) | dict.fromkeys(IF_ASKED_FOR)
    if options.breach:
        answers["breach"] = _breach(named, prior, *options.breach)
    if prior is not None:
        answers |= _under_prior(named, prior)
        if options.set:
            answers["set"] = _about_set(named, prior, options)
    problem: NoAnswerError | None = None
    if counts is not None:
        try:
            answers |= _estimate(named.channel, counts, options)
        except SingularChannelError:
            problem = NoAnswerError(f"{options.matrix}: {_no_estimate(options, named, answers)}")
        except ChannelError as error:
            problem = NoAnswerError(f"{options.counts}: {error}")
    print(to_json(answers) if options.json else "\n".join(_text(options, named, answers)))
    if problem:
        raise problem


def _channel_of_plan(path: Path, column: str) -> NamedChannel:
    """Return the channel of a `column` or cluster, with " in " and a stratum if there are some."""
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
        "breach_bounds": [{"prior": prior, **_bounds(prior, parity)} for prior in PRIORS],
        "condition_number": (
            float(np.linalg.cond(channel.entries)) if channel.size <= channel.reports else math.inf
        ),
        "singular": channel.singular,
    }


def _bounds(prior: float, parity: float) -> Answers:
    """Return the bounds (3.9) and (3.13) of [pram] for any set with this prior probability."""
    return {
        "smallest_posterior": float(smallest_posterior(prior, parity)),
        "largest_posterior": float(largest_posterior(prior, parity)),
    }


def _breach(named: NamedChannel, prior: Floats | None, rho_1: float, rho_2: float) -> Answers:
    """Return whether a breach is possible, an example, and the worst one under a given prior."""
    found = witness(named.channel, rho_1, rho_2)
    worst = worst_set(named.channel, prior, rho_1) if prior is not None else None
    return {
        "rho_1": rho_1,
        "rho_2": rho_2,
        "largest_parity": largest_parity(rho_1, rho_2),
        "guaranteed": found is None,
        "witness": found and {"prior": [float(p) for p in found.prior]} | _case(named, found),
        "worst_under_prior": worst
        and _case(named, worst) | {"bound": worst.bound, "exact": worst.exact},
    }


def _case(named: NamedChannel, found: Any) -> Answers:
    return {
        "members": [named.categories[u] for u in found.members],
        "report": named.reports[found.report],
        "prior_probability": float(found.prior_probability),
        "posterior": float(found.posterior),
    }


def _under_prior(named: NamedChannel, prior: Floats) -> Answers:
    channel = named.channel
    reported = channel.reported(prior)
    # Other randomized values than categories cannot have the same distribution.
    same = named.reports == named.categories
    change = float(np.abs(reported - prior).max()) if same else None
    answers: Answers = {
        "prior": prior,
        "reported": reported,
        "invariant": None if change is None else change <= INVARIANCE_TOLERANCE,
        "largest_change": change,
        "posterior": channel.posterior(prior),
    }
    extremes = extreme_factors(channel, prior)
    for side, found in zip(("largest", "smallest"), extremes, strict=True):
        answers[f"{side}_factor"] = {
            "ratio": found.ratio,
            "category": named.categories[found.category],
            "report": named.reports[found.report],
        }
    return answers


def _about_set(named: NamedChannel, prior: Floats, options: argparse.Namespace) -> Answers:
    for name in options.set:
        refuse_unknown("category", name, named.categories)
    codes = [named.categories.index(name) for name in options.set]
    found = find_breaches(named.channel, prior, codes, *(options.breach or (0.1, 0.5)))
    sides = {"upward": found.upward, "downward": found.downward} if options.breach else {}
    return {
        "members": list(options.set),
        "prior_probability": found.prior_probability,
        **_bounds(found.prior_probability, named.channel.parity),
        "posterior": found.posterior,
        **{side: [named.reports[report] for report in own] for side, own in sides.items()},
    }


def _estimate(channel: DenseChannel, counts: Counts, options: argparse.Namespace) -> Answers:
    from deniable.estimation import confidence_intervals, maximum_likelihood  # noqa: PLC0415

    target, confidence = options.target, options.confidence
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


def _no_estimate(options: argparse.Namespace, named: NamedChannel, answers: Answers) -> str:
    size, reports = len(named.categories), len(named.reports)
    if reports < size:
        return (
            f"{reports} randomized {'value' if reports == 1 else 'values'} cannot distinguish "
            f"{size} categories, so {options.counts} allows no estimate; give at least as many "
            "randomized values as categories"
        )
    return (
        f"the matrix is singular (condition number {number(answers['condition_number'])}), so "
        f"{options.counts} allows no estimate; change the probabilities"
    )


def _text(options: argparse.Namespace, named: NamedChannel, answers: Answers) -> list[str]:
    size, reports = len(named.categories), len(named.reports)
    counted = f"{size} {'category' if size == 1 else 'categories'}"
    if named.reports != named.categories:
        counted += f", {reports} randomized value{'' if reports == 1 else 's'}"
    lines = [
        f"{options.matrix}: {counted}",
        "  one row per true category, one column per randomized value; every row sums to 1",
        "",
        *privacy_lines(answers),
    ]
    if answers["breach"]:
        lines += ["", *_breach_lines(answers["breach"])]
    if answers["prior"] is not None:
        lines += ["", f"Under the prior of {options.prior}", *_prior_lines(named, answers)]
    if found := answers.get("set"):
        lines += ["", *_set_lines(named, found)]
    if answers["estimate"] is not None:
        lines += ["", *_estimate_lines(options.counts, named, answers)]
    return lines


def privacy_lines(answers: Answers) -> list[str]:
    """Return the lines of the `answers` of `privacy`, which hold for any prior."""
    facts = [
        ("epsilon", answers["epsilon"], "ln(parity), of one randomized value"),
        ("parity", answers["parity"], "largest ratio of two probabilities in one column"),
        ("beta", answers["beta"], "no posterior is beyond this factor of its prior"),
        ("condition number", answers["condition_number"], "singular" * answers["singular"]),
    ]
    bounds = [
        (number(row["prior"]), row["smallest_posterior"], row["largest_posterior"])
        for row in answers["breach_bounds"]
    ]
    return [
        "Privacy for any prior",
        *listed(facts),
        "",
        "Breach bounds: the posterior of a set with this prior probability, at worst",
        *aligned(("prior", "smallest", "largest"), bounds),
    ]


def _breach_lines(found: Answers) -> list[str]:
    rho_1, rho_2 = number(found["rho_1"]), number(found["rho_2"])
    verdict = "never, for any prior" if found["guaranteed"] else "possible"
    lines = [
        f"Breach from a prior below {rho_1} to a posterior above {rho_2}: {verdict}",
        f"  ruled out for a parity up to {number(found['largest_parity'])}",
    ]
    for name, case in (("example", "witness"), ("worst under this prior", "worst_under_prior")):
        if one := found[case]:
            bound = "" if one.get("exact", True) else f" (at most {number(one['bound'])})"
            lines.append(
                f"  {name}: {_set(one['members'])}, {number(one['prior_probability'])} before, "
                f"{number(one['posterior'])}{bound} after the value {shown(one['report'])}"
            )
    return lines


def _set_lines(named: NamedChannel, found: Answers) -> list[str]:
    facts = [
        ("prior probability", found["prior_probability"], ""),
        ("smallest posterior", found["smallest_posterior"], "for any such prior"),
        ("largest posterior", found["largest_posterior"], "for any such prior"),
    ]
    facts += [
        (side, ", ".join(found[side]) or "none", "randomized values")
        for side in ("upward", "downward")
        if side in found
    ]
    rows = list(zip(named.reports, found["posterior"].tolist(), strict=True))
    head = f"The set {_set(found['members'])} under this prior"
    return [head, *listed(facts), "", *matrix_lines("Posterior of the set", ("report", ""), rows)]


def _set(members: list[str]) -> str:
    first = " or ".join(map(shown, members[:MAX_NAMED]))
    more = len(members) - MAX_NAMED
    return f"{first} or {more} more" if more > 0 else first


def _prior_lines(named: NamedChannel, answers: Answers) -> list[str]:
    facts: list[tuple[str, Any, str]] = []
    if answers["invariant"] is not None:
        change = number(answers["largest_change"])
        remark = f"randomization changes no proportion by more than {change}"
        facts.append(("invariant", "yes" if answers["invariant"] else "no", remark))
    for side in ("largest", "smallest"):
        one = answers[f"{side}_factor"]
        remark = f"{shown(one['category'])} after the value {shown(one['report'])}"
        facts.append((f"{side} posterior / prior", one["ratio"], remark))
    header = ("report", "probability", *named.categories)
    columns = zip(named.reports, answers["reported"], answers["posterior"], strict=True)
    rows = [(report, float(total), *row.tolist()) for report, total, row in columns]
    return [*listed(facts), "", *matrix_lines("Posterior of each true category", header, rows)]


def _estimate_lines(counts: Path, named: NamedChannel, answers: Answers) -> list[str]:
    share = f"{100 * answers['confidence']:g} %"
    of = "in the population" if answers["target"] == "population" else "among these records"
    columns = [answers[key].tolist() for key in SHOWN_KEYS]
    header = ("category", "estimate", "standard error", f"{share} low", "high", "max. likelihood")
    covariance = zip(named.categories, *answers["covariance"].T.tolist(), strict=True)
    return [
        f"Proportions {of}, estimated from {answers['records']:,} randomized values in {counts}",
        *aligned(header, list(zip(named.categories, *columns, strict=True))),
        *(OF_LEAST_VARIANCE if answers["inverse"] else UNBIASED),
        "",
        *matrix_lines("Covariance of the estimate", ("", *named.categories), list(covariance)),
    ]


def matrix_lines(title: str, header: tuple[str, ...], rows: list[Any]) -> list[str]:
    """Return a matrix with `title`, `header` and `rows`, or a note if it is large."""
    if len(rows) > MAX_SHOWN:
        return [f"{title}: {len(rows)} rows, see --json"]
    return [title, *aligned(header, rows)]
