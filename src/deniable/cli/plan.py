"""``deniable plan``: which channel each column goes through, at an exact epsilon of the record."""

import argparse
from pathlib import Path
from typing import cast

import numpy as np

from deniable.arrays import Floats
from deniable.channels import read_prior
from deniable.cli.answers import aligned, number
from deniable.cli.outputs import PLAN, refuse_overwriting
from deniable.errors import DeniableError, refuse_unknown
from deniable.plans import (
    MECHANISMS,
    ColumnsPlan,
    Mechanism,
    make_plan,
    verify_plan,
    write_plan,
)
from deniable.privacy import largest_posterior
from deniable.schema import RecordsFile, Schema, read_schema

SUSPICION = 0.01
HOLDS = {True: "yes", False: "NO"}


def run(options: argparse.Namespace) -> None:
    """Make a plan and write it, or verify one, by `options`; say on standard output what it is.

    Raises
    ------
    DeniableError
        If a file has a fault, there is no such plan, or one that is verified does not hold.
    """
    if options.verify is not None:
        if options.schema is not None:
            raise DeniableError("--verify takes a plan and no schema, which the plan has in it")
        _verify(options)
        return
    if options.schema is None or options.epsilon is None or options.out is None:
        raise DeniableError("a plan needs SCHEMA.yaml, --epsilon and --out; or give --verify PLAN")
    inputs = [options.schema, options.data, *prior_files(options.prior)]
    refuse_overwriting(options.out, inputs, "plan", PLAN)
    schema = read_schema(options.schema)
    mechanism, mechanisms = _mechanisms(options.mechanism or [])
    plan = make_plan(
        schema,
        options.epsilon,
        split=options.split,
        clusters=columns_of(options.cluster),
        tables=columns_of(options.table),
        mechanism=mechanism,
        mechanisms=mechanisms,
        reports=options.reports,
        prior=priors(schema, options.prior),
        data=RecordsFile.open(options.data, schema) if options.data else None,
        clusters_from_data=_thresholds(options.clusters_from_data),
        accept=options.accept or (),
        order=options.order,
    )
    write_plan(options.out, plan)
    print("\n".join([*_text(plan), "", f"written: {options.out}"]))


def columns_of(lists: list[str] | None) -> list[tuple[str, ...]]:
    """Return names of columns from `lists` with commas; None are no lists."""
    return [tuple(each.split(",")) for each in lists or []]


def prior_files(given: list[str] | None) -> list[Path]:
    """Return the files of the distributions `given` as COLUMN=FILE."""
    files = (each.partition("=")[2] for each in given or [])
    return [Path(file) for file in files if file]


def priors(schema: Schema, given: list[str] | None) -> dict[str, Floats]:
    """Read the distributions `given` as COLUMN=FILE, each a CSV of ``category,probability``.

    Columns and their categories are those of the `schema`; returned is a distribution by column.
    """
    found = {}
    for each in given or []:
        name, equals, file = each.partition("=")
        if not equals:
            raise DeniableError(f"--prior {each}: give COLUMN=FILE.csv")
        found[name] = read_prior(Path(file), schema[name].attribute().categories)
    return found


def _thresholds(given: list[str] | None) -> tuple[int, float] | None:
    """Return T_v and T_d, which a command has as texts."""
    if given is None:
        return None
    try:
        return int(given[0]), float(given[1])
    except ValueError:
        raise DeniableError(
            f"--clusters-from-data {' '.join(given)}: give T_v, a whole number of cells, and T_d, "
            "a dependence, such as 50 0.1"
        ) from None


def _mechanisms(given: list[str]) -> tuple[Mechanism, dict[str, Mechanism]]:
    """Return the kind for all columns, and those of single ones."""
    everywhere: Mechanism = "best"
    single: dict[str, Mechanism] = {}
    for each in given:
        name, equals, told = each.rpartition("=")
        refuse_unknown("mechanism", told, ("best", *MECHANISMS))
        kind = cast(Mechanism, told)
        if equals:
            single[name] = kind
        elif everywhere not in ("best", kind):
            raise DeniableError(
                f"--mechanism {everywhere} and {kind}; give one for all, others as COLUMN=KIND"
            )
        else:
            everywhere = kind
    return everywhere, single


def _text(plan: ColumnsPlan) -> list[str]:
    whys = [why.split(": ", 1) for why in plan.why]
    spent = list(zip(plan.protocol.clusters, plan.protocol.channels, whys, strict=True))
    rows = [(" x ".join(names), channel.epsilon, why[0]) for names, channel, why in spent]
    posterior = float(largest_posterior(SUSPICION, float(np.exp(plan.epsilon))))
    return [
        *aligned(("column", "exact epsilon", "mechanism"), rows),
        "",
        *(f"  {' x '.join(names)}: {': '.join(why)}" for names, _, why in spent),
        "",
        f"epsilon of the record: {number(plan.epsilon)}, exact and rounded up; requested: "
        f"{number(plan.target)}",
        f"a suspicion of 1 in 100 about a respondent can rise to {100 * posterior:.3g} % at most"
        + ", but for what is not covered" * bool(plan.not_covered),
        f"chosen from: {plan.chosen_from}",
        *(f"not covered: {each}" for each in plan.not_covered),
        *_not_randomized(plan),
    ]


def _not_randomized(plan: ColumnsPlan) -> list[str]:
    """Return what happens to the other columns."""
    others = [each.name for each in plan.schema.columns if not each.randomized]
    out = [name for name in others if name not in plan.passed]
    lines = (("go out as they are: ", plan.passed), ("left out: ", out))
    return [what + ", ".join(names) for what, names in lines if names]


def _verify(options: argparse.Namespace) -> None:
    table = verify_plan(options.verify)
    names = ("unit", "of", "claimed_epsilon", "exact_epsilon", "holds", "shown_by")
    rows = [
        (*row[:2], repr(float(row[2])), repr(float(row[3])), HOLDS[bool(row[4])], row[5])
        for row in table[list(names)].itertuples(index=False)
    ]
    print("\n".join(aligned(("unit", "of", "claimed", "exact", "holds", "shown by"), rows)))
    if not table["holds"].all():
        wrong = ", ".join(table.loc[~table["holds"], "of"])
        raise DeniableError(f"{options.verify}: does not hold for {wrong}; make the plan again")
    print("the plan holds: no exact epsilon is above the stated one")
