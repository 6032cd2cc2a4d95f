"""``deniable design``: the channel with the smallest loss for stated requirements."""

import argparse
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.arrays import Floats
from deniable.channels import NamedChannel, sampling_covariance, write_channel
from deniable.cli.answers import listed, number, to_json
from deniable.cli.channel import (
    INVARIANCE_TOLERANCE,
    Answers,
    matrix_lines,
    privacy,
    privacy_lines,
)
from deniable.cli.outputs import MATRIX, PROPERTIES, refuse_overwriting
from deniable.files import write_text

if TYPE_CHECKING:  # at run time only `run` imports them, because solvers are slow to import
    from deniable.design import Design, Specification

ROUNDING = 1e-12  # rounding error of the sums of a matrix in double precision
RANDOMIZED = "the proportions of the randomized values"
MEANINGS = {
    "changed": "expected proportion of records with a changed category",
    "distance": "expected cost of a record",
    "trace": "n times the sum of the variances, estimated by {}",
    "worst_cell": "n times the largest of the variances, estimated by {}",
}


def run(options: argparse.Namespace) -> None:
    """Design the channel of the `options`, and write it unless `DeniableError` is raised."""
    from deniable.design import design, read_specification  # noqa: PLC0415

    stem = options.specification.stem
    matrix = options.matrix or options.output / f"{stem}-matrix.csv"
    refuse_overwriting(matrix, [options.specification], "matrix", MATRIX)
    written = [matrix]
    if not options.matrix:
        written.append(options.output / f"{stem}-properties.json")
        refuse_overwriting(written[1], [options.specification], "design", PROPERTIES)
    specification = read_specification(options.specification)
    found = design(
        specification.proportions,
        specification.requirements,
        specification.loss,
        estimator=specification.estimator,
        target=specification.target,
        reports=specification.reports,
    )
    named = NamedChannel(tuple(specification.categories), found.channel, found.report_names)
    properties = _properties(specification, found, named)
    if required := specification.requirement:
        holds = required.allows(found.channel.exact_parity)
        properties["requirement"] = {**required.to_json(), "holds": holds}
    write_channel(matrix, named.channel, named.categories, named.reports)
    if not options.matrix:
        write_text(written[1], to_json(properties) + "\n")
    if options.json:
        print(to_json(properties))
    else:
        print("\n".join([*_text(named, properties), "", *(f"written: {file}" for file in written)]))


def _properties(specification: "Specification", found: "Design", named: NamedChannel) -> Answers:
    channel, proportions = named.channel, specification.proportions
    matrix = channel.matrix()
    square = channel.square  # only then are the randomized values categories
    invariant = (
        square
        and float(np.abs(channel.reported(proportions) - proportions).max()) <= INVARIANCE_TOLERANCE
    )
    covariance = _covariance(specification, found)
    errors = None if covariance is None else np.sqrt(np.maximum(np.diagonal(covariance), 0.0))
    return {
        **privacy(named),
        "proportions": proportions,
        "number_of_reports": channel.reports,
        "matrix": matrix,
        "objective": found.loss_name,
        "estimator": found.estimator,
        "target": found.target,
        "loss": found.loss,
        "lower_bound": found.lower_bound,
        "optimality": found.optimality,
        "violations": dict(found.violations),
        "changed": float(proportions @ (1 - np.diagonal(matrix))) if square else None,
        "retention": np.diagonal(matrix) if square else None,
        "invariant": invariant,
        "records": specification.records,
        "covariance": covariance,
        "standard_error": errors,
        "notes": found.notes,
    }


def _covariance(specification: "Specification", found: "Design") -> Floats | None:
    """Return the covariance of the estimated proportions, for the estimator of the design.

    None without a number of records, and for the estimator "inverse" with a singular matrix.
    """
    proportions, records = specification.proportions, specification.records
    if records is None:
        return None
    if found.estimator == "inverse":
        if found.channel.singular:
            return None
        return found.channel.covariance(proportions, records, found.target)
    # For the proportions of the randomized values of an invariant matrix: [pram], (2.4), and (2.5)
    # with sampling.
    P = found.channel.matrix()
    randomization = (np.diag(proportions) - (P.T * proportions) @ P) / records
    if found.target == "file":
        return randomization
    return randomization + sampling_covariance(proportions, records)


def _text(named: NamedChannel, properties: Answers) -> list[str]:
    worst = max(properties["violations"].values(), default=0.0)
    by = "inversion" if properties["estimator"] == "inverse" else RANDOMIZED
    loss = f"{properties['objective']}: {MEANINGS[properties['objective']].format(by)}"
    facts: list[tuple[str, Any, str]] = [
        ("loss", properties["loss"], loss),
        ("lower bound", properties["lower_bound"], "no smaller loss is possible"),
        ("optimality", properties["optimality"], ""),
        ("worst violation", "none" if worst <= ROUNDING else worst, "of a requirement"),
    ]
    if named.channel.square:
        facts += [
            ("changed records", f"{100 * properties['changed']:.4g} %", "expected"),
            ("invariant", "yes" if properties["invariant"] else "no", ""),
        ]
    else:
        number_of = properties["number_of_reports"]
        facts.append(("values", number_of, "randomized, more than categories"))
    if required := properties.get("requirement"):
        what, value = next(iter(required.items()))
        holds = "holds" if required["holds"] else "does NOT hold"
        facts.append((f"required {what}", f"{value}: {holds}", "for any prior"))
    if (errors := properties["standard_error"]) is not None:
        sampling = "with" if properties["target"] == "population" else "without"
        remark = f"largest of all categories, {properties['records']} records, {sampling} sampling"
        facts.append(("standard error", float(max(errors)), remark))
    return [
        f"Optimized transition matrix of {number(len(named.categories))} categories",
        *listed(facts),
        *(f"  note: {note}" for note in properties["notes"]),
        "",
        *_matrix(named, properties["matrix"]),
        "",
        *privacy_lines(properties),
    ]


def _matrix(named: NamedChannel, matrix: Floats) -> list[str]:
    if named.channel.square:
        rows = list(zip(named.categories, *matrix.T.tolist(), strict=True))
        return matrix_lines("Matrix: one row per true category", ("", *named.reports), rows)
    rows = list(zip(named.reports, *matrix.tolist(), strict=True))
    title = "Matrix: one row per randomized value, named by the categories that likely led to it"
    return matrix_lines(title, ("", *named.categories), rows)
