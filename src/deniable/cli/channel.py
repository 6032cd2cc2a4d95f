"""``deniable channel``: privacy of a channel, posteriors under a prior, and estimates."""

import argparse
from pathlib import Path
from typing import Any

from deniable.channels import NamedChannel, read_channel, read_counts, read_prior
from deniable.cli.answers import (
    Answers,
    about_set,
    aligned,
    breach_answer,
    channel_of_plan,
    estimate,
    listed,
    number,
    privacy,
    to_json,
    under_prior,
)
from deniable.errors import ChannelError, NoAnswerError, SingularChannelError, shown

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
    named = channel_of_plan(file, column) if column else read_channel(file)
    prior = read_prior(options.prior, named.categories) if options.prior else None
    counts = read_counts(options.counts, named.reports) if options.counts else None
    answers = privacy(named) | dict.fromkeys(IF_ASKED_FOR)
    if options.breach:
        answers["breach"] = breach_answer(named, prior, *options.breach)
    if prior is not None:
        answers |= under_prior(named, prior)
        if options.set:
            answers["set"] = about_set(named, prior, options.set, options.breach)
    problem: NoAnswerError | None = None
    if counts is not None:
        try:
            answers |= estimate(named, counts, options.target, options.confidence)
        except SingularChannelError:
            problem = NoAnswerError(f"{options.matrix}: {_no_estimate(options, named, answers)}")
        except ChannelError as error:
            problem = NoAnswerError(f"{options.counts}: {error}")
    print(to_json(answers) if options.json else "\n".join(_text(options, named, answers)))
    if problem:
        raise problem


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
    own = (
        ""
        if named.reports == named.categories
        else f", {reports} randomized value{'s' * (reports > 1)}"
    )
    lines = [
        f"{options.matrix}: {size} {'category' if size == 1 else 'categories'}{own}",
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
