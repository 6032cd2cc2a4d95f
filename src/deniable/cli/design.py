"""``deniable design``: the channel of least loss for stated requirements."""

import argparse
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.channel_files import NamedChannel, write_channel
from deniable.cli.answers import INVARIANCE_TOLERANCE, Answers, privacy
from deniable.cli.channel import matrix_lines, privacy_lines
from deniable.cli.text import listed, number, to_json
from deniable.files import write_text

if TYPE_CHECKING:  # at run time only `run` needs them: solvers are slow to import
    from deniable.design import Design
    from deniable.design.specification import Specification


def run(options: argparse.Namespace) -> None:
    """Read the specification, design the channel, write its matrix and its properties.

    Raises
    ------
    DeniableError
        For a fault in the specification, and if the requirements contradict each other; nothing is
        then written.
    """
    from deniable.design import design  # noqa: PLC0415
    from deniable.design.specification import read_specification  # noqa: PLC0415

    specification = read_specification(options.specification)
    found = design(specification.proportions, specification.requirements, loss=specification.loss)
    named = NamedChannel(tuple(specification.categories), found.channel)
    properties = _properties(specification, found, named)
    stem = options.specification.stem
    matrix = options.matrix or options.output / f"{stem}-matrix.csv"
    write_channel(matrix, named.channel, named.categories)
    written = [matrix]
    if not options.matrix:
        written.append(options.output / f"{stem}-properties.json")
        write_text(written[1], to_json(properties) + "\n")
    if options.json:
        print(to_json(properties))
    else:
        print("\n".join([*_text(named, properties), "", *(f"written: {file}" for file in written)]))


def _properties(specification: "Specification", found: "Design", named: NamedChannel) -> Answers:
    channel, proportions = named.channel, np.asarray(specification.proportions, dtype=float)
    matrix = channel.matrix()
    change = float(np.abs(channel.reported(proportions) - proportions).max())
    errors = None
    if specification.records and not channel.singular:
        covariance = channel.covariance(proportions, specification.records)
        errors = np.sqrt(np.maximum(np.diagonal(covariance), 0.0))
    return {
        **privacy(named),
        "proportions": proportions,
        "matrix": matrix,
        "objective": specification.loss,
        "loss": found.loss,
        "lower_bound": found.lower_bound,
        "optimality": found.optimality,
        "violations": dict(found.violations),
        "changed": float(proportions @ (1 - np.diagonal(matrix))),
        "retention": np.diagonal(matrix),
        "invariant": change <= INVARIANCE_TOLERANCE,
        "records": specification.records,
        "standard_error": errors,
    }


def _text(named: NamedChannel, properties: Answers) -> list[str]:
    worst = max(properties["violations"].values(), default=0.0)
    facts: list[tuple[str, Any, str]] = [
        ("loss", properties["loss"], str(properties["objective"])),
        ("lower bound", properties["lower_bound"], "no channel that meets them has less"),
        ("optimality", properties["optimality"], ""),
        ("worst violation", worst, "of a requirement"),
        ("changed records", f"{100 * properties['changed']:.4g} %", "expected"),
        ("invariant", "yes" if properties["invariant"] else "no", ""),
    ]
    rows = [
        (category, *row)
        for category, row in zip(named.categories, properties["matrix"].tolist(), strict=True)
    ]
    return [
        f"Designed channel over {number(len(rows))} categories",
        *listed(facts),
        "",
        *matrix_lines("Matrix: a row for each true category", ("", *named.categories), rows),
        "",
        *privacy_lines(properties),
    ]
