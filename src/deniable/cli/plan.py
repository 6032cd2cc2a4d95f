"""``deniable plan``: the channel of each column at an exact epsilon of the record."""

import argparse
import math
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from deniable.arrays import Floats
from deniable.channels import read_prior
from deniable.cli.answers import aligned, number
from deniable.cli.outputs import MATRICES, PLAN, refuse_overwriting
from deniable.errors import DeniableError, plain, refuse_unknown, shown
from deniable.files import write_table
from deniable.plans import (
    Plan,
    PlanInputs,
    epsilon_for,
    expected_errors,
    make_plan,
    make_questionnaire,
    note_on_guesses,
    points_text,
    read_plan,
    records_for_error,
    settings_from,
    verify_plan,
    write_plan,
)
from deniable.privacy import Requirement, largest_posterior
from deniable.release import shuffled_file
from deniable.schema import Part, RecordsFile, Schema, read_schema
from deniable.validation import read_yaml

if TYPE_CHECKING:
    from deniable.plans.settings import ColumnsSettings
    from deniable.responses import Responses

PRIOR = 0.01
HOLDS = {True: "yes", False: "NO"}


def run(options: argparse.Namespace) -> None:
    """Make, write and print a plan by the `options`, or verify one."""
    if options.verify is not None:
        _refuse_ignored(options, ("verify", "matrices"))
        refuse_overwriting(options.matrices, [options.verify], "table of matrices", MATRICES)
        _verify(options)
        _write_matrices(options, read_plan(options.verify))
        return
    asked = "a plan needs SCHEMA.yaml, --epsilon and --out"
    if options.within is not None and options.records is None:
        raise DeniableError("--within: errors depend on the number of records; give --records N")
    if options.schema is None or options.out is None:
        raise DeniableError(f"{asked}; or give --verify PLAN")
    given = (options.epsilon, options.beta, options.breach, options.within, options.settings)
    if len(given) - given.count(None) != 1:
        others = "--settings, --beta, --breach or --within"
        raise DeniableError(f"{asked}; or {others} in place of --epsilon")
    if options.settings is not None:
        used = ("settings", "schema", "out", "data", "accept", "matrices", "for_error", "records")
        tables = ("table",) if options.for_error or options.records else ()
        _refuse_ignored(options, (*used, "author", *tables))
    inputs = [options.schema, options.data, options.settings, *prior_files(options.prior)]
    refuse_overwriting(options.out, inputs, "plan", PLAN)
    refuse_overwriting(options.matrices, [*inputs, options.out], "table of matrices", MATRICES)
    schema = read_schema(options.schema)
    data = RecordsFile.open(options.data, schema) if options.data else None
    plan = (_by_settings if options.settings else _by_options)(options, schema, data)
    plan = plan if options.author is None else replace(plan, author=options.author)
    needed = [] if options.for_error is None else _records_needed(plan, options)
    if options.records is not None:
        needed += [*_expected(plan, options, schema), *_shuffled(plan, options.records)]
    write_plan(options.out, plan)
    unique = [] if data is None else _unique_weights(plan, data)
    print("\n".join([*_text(plan), *unique, *needed, "", f"written: {options.out}"]))
    _write_matrices(options, plan)


def _unique_weights(plan: Plan, data: RecordsFile) -> list[str]:
    """Return a line on the records with a weight of their own, if the plan releases weights."""
    if any(plan.schema[name].kind == "weight" for name in plan.passed) and not data.unique:
        data.check()
    return [str(each) for name, each in data.unique.items() if name in plan.passed]


def _refuse_ignored(options: argparse.Namespace, used: tuple[str, ...]) -> None:
    """Raise `DeniableError` for an option that the first of the `used` options makes useless."""
    for name, value in vars(options).items():
        if name not in ("command", *used) and value != options.parser.get_default(name):
            unused = name.replace("_", "-")
            where = ", or state it in that file" if name == "part" and used[0] == "settings" else ""
            problem = f"--{used[0]} does not use the option {unused}; leave it out{where}"
            raise DeniableError(problem)


def _by_options(options: argparse.Namespace, schema: Schema, data: RecordsFile | None) -> Plan:
    mechanism, mechanisms = _mechanisms(options.mechanism or [])
    part = _part(options.part)
    found = _clusters_from(options, schema, part) if options.clusters_from else None
    if part is not None and data is not None:
        problem = "--part and --data cannot be combined; state both in a file for --settings"
        raise DeniableError(problem)
    common: dict[str, Any] = {
        "split": options.split,
        "clusters": found or options.cluster or (),
        "tables": options.table or (),
        "mechanism": mechanism,
        "mechanisms": mechanisms,
        "responses": options.responses,
        "prior": priors(schema, options.prior),
        "accept": options.accept or (),
        "order": options.order,
    }
    if options.ask is None:
        thresholds = options.clusters_from_data
        found_by = thresholds and _thresholds("-data", thresholds)
        common |= {"data": data, "clusters_from_data": found_by}
        common |= {"floor": options.floor, "shares": shares_of(options.share)}
    elif options.floor or options.share:
        raise DeniableError(
            "--ask gives all of epsilon to each form; leave out --floor and --share"
        )
    elif data is None and options.clusters_from_data is None:
        common["ask"] = options.ask
    else:
        raise DeniableError("--ask does not use original records; leave --data out")
    epsilon: float | Requirement = options.epsilon
    if options.within is not None:
        answering = options.records // (part.of if part else 1)
        epsilon = epsilon_for(schema, options.within, answering, **common)
    elif options.epsilon is None:
        epsilon = Requirement(options.beta, options.breach and tuple(options.breach))
    make: Callable[..., Plan] = make_plan if options.ask is None else make_questionnaire
    plan = make(schema, epsilon, **common)
    if found is not None and data is None:
        plan = replace(plan, chosen_from="randomized answers")
    return plan if part is None else replace(plan, part=part)


def _clusters_from(
    options: argparse.Namespace, schema: Schema, part: Part | None
) -> Sequence[Sequence[str]]:
    if options.cluster or options.clusters_from_data:
        raise DeniableError("--clusters-from: leave out --cluster and --clusters-from-data")
    public, *given = options.clusters_from
    t_v, t_d = _thresholds(" PUBLIC", given)
    values = {"kind": "columns", "epsilon": 1, "clusters": {"from": public, "t_v": t_v, "t_d": t_d}}
    where = f"--clusters-from {' '.join(options.clusters_from)}"
    settings = cast("ColumnsSettings", settings_from(values, where))
    assert settings.clusters is not None
    return settings.clusters.find(PlanInputs(schema, released=_released([public], schema, part)))[0]


def _released(folders: Sequence[str], schema: Schema, part: Part | None) -> "dict[str, Responses]":
    """Return responses of `folders` of the population of the `schema`, by folder.

    Prints a note for each release that may have respondents in common with the `part`.
    """
    if folders:
        from deniable.analysis import Released  # noqa: PLC0415 - loads SciPy
    found = {}
    for folder in folders:
        released = Released(folder)
        released.plan.for_population(schema.population)
        found[folder] = released.responses
        own = released.plan.part
        apart = part and own and (part.of, part.seed) == (own.of, own.seed) and part != own
        if not apart:
            of = f"part {own.take}/{own.of}:{own.seed}" if own else "all respondents"
            both = f"{folder} is of {of}; for respondents in both releases, the epsilons add up"
            remedy = "only parts of one seed, as 1/2:a and 2/2:a, have no common respondents"
            print(f"deniable: note: {plain(both)}; {remedy}", file=sys.stderr)
    return found


def _part(given: str | None) -> Part | None:
    if given is None:
        return None
    if (match := re.fullmatch(r"([0-9]{1,4})/([0-9]{1,4}):(.+)", given)) is None:
        text = f"--part {given}: give TAKE/OF:SEED, such as 1/2:panel for the first of two halves"
        raise DeniableError(text)
    return Part(int(match[2]), int(match[1]), match[3])


def _records_needed(plan: Plan, options: argparse.Namespace) -> list[str]:
    table = records_for_error(plan, options.for_error, options.table or ())
    for name in table.columns[1:]:
        digits = "{:,.3f}" if name == "propagation" else "{:,.0f}"
        table[name] = table[name].map(digits.format).replace("nan", "–")
    rows = list(table.itertuples(index=False, name=None))
    heads = ("columns", "values", "absolute", "relative", "propagation", "estimate", "estimate")
    return [
        "",
        f"records for an error of {number(options.for_error)} with confidence 0.95 ([multirr], "
        "2.3), absolute and relative,",
        "first of proportions of the randomized values, then of estimates:",
        *aligned(heads, rows),
    ]


def _shuffled(plan: Plan, records: int) -> list[str]:
    part = plan.part
    found = shuffled_file(plan, records if part is None else max(records // part.of, 1))
    if found["epsilon"] is None:
        return ["", f"no statement of the shuffled file: {'; '.join(found['reasons'])}"]
    return [
        "",
        f"shuffled file of {found['records']:,} records, for somebody who has the public folder "
        f"alone: epsilon {number(found['epsilon'])}, delta {found['delta']:.3g}",
    ]


def _expected(plan: Plan, options: argparse.Namespace, schema: Schema) -> list[str]:
    """Return lines with the expected errors of a `plan`, and print a note on guesses."""
    prior = priors(schema, options.prior)
    found = expected_errors(plan, options.records, options.table or (), prior=prior)
    if note := note_on_guesses(found):
        print(f"deniable: note: {plain(note)}", file=sys.stderr)
    points = (found[name].map(points_text) for name in ("points", "guess"))
    texts = (found["columns"], found["records"].map("{:,}".format), *points)
    return [
        "",
        "expected ± points of estimates with 95 % confidence, and of a guess without any data:",
        *aligned(("columns", "records", "± points", "guess"), [*zip(*texts, strict=True)]),
    ]


def _by_settings(options: argparse.Namespace, schema: Schema, data: RecordsFile | None) -> Plan:
    values = read_yaml(options.settings)
    if not isinstance(values, dict):
        raise DeniableError(f"{options.settings}: not a section of options; begin with kind: ...")
    if "format" in values:
        raise DeniableError(
            f"{options.settings}: this is a file of format {shown(values['format'])}. --settings "
            "takes the options of a plan, such as {kind: columns, epsilon: 2}"
        )
    settings = settings_from(values, str(options.settings))
    part = getattr(getattr(settings, "categories", settings), "answering", None)
    released = _released(settings.releases, schema, part)
    return settings.plan(PlanInputs(schema, data, released, tuple(options.accept or ())))


def _write_matrices(options: argparse.Namespace, plan: Plan) -> None:
    if options.matrices is not None:
        write_table(options.matrices, plan.matrices())
        print(f"written: {options.matrices}")


def prior_files(given: list[str] | None) -> list[Path]:
    """Return the files of the distributions `given` as COLUMN=FILE."""
    return [Path(file) for file in (each.partition("=")[2] for each in given or []) if file]


def priors(schema: Schema, given: list[str] | None) -> dict[str, Floats]:
    """Return the distributions `given` as COLUMN=FILE, by column of the `schema`."""
    found = {}
    for each in given or []:
        name, equals, file = each.partition("=")
        if not equals or not file:
            raise DeniableError(f"--prior {each}: give COLUMN=FILE.csv")
        refuse_unknown("column to randomize", name, [column.name for column in schema.randomized])
        found[name] = read_prior(Path(file), schema[name].attribute().categories)
    return found


def shares_of(given: list[str] | None) -> dict[str, float]:
    """Return the proportions of epsilon `given` as COLUMN=P, by column."""
    found = dict[str, float]()
    for each in given or []:
        name, _, value = each.rpartition("=")
        try:
            found[name] = float(value)
        except ValueError:
            raise DeniableError(f"--share {each}: give COLUMN=PROPORTION") from None
    return found


def _thresholds(what: str, given: list[str]) -> tuple[int, float]:
    """Return T_v and T_d, as `given` for the option ``--clusters-from`` + `what`."""
    try:
        return int(given[0]), float(given[1])
    except ValueError:
        raise DeniableError(
            f"--clusters-from{what} {' '.join(given)}: give T_v, a whole number of cells, and T_d, "
            "a dependence, such as 50 0.1"
        ) from None


def _mechanisms(given: list[str]) -> tuple[str, dict[str, str]]:
    everywhere = list(dict.fromkeys(each for each in given if "=" not in each))
    if len(everywhere) > 1:
        text = f"--mechanism {' and '.join(everywhere)}; give one for all, others as COLUMN=KIND"
        raise DeniableError(text)
    single = dict(each.rsplit("=", 1) for each in given if "=" in each)
    return (everywhere or ["best"])[0], single


def _text(plan: Plan) -> list[str]:
    lines = []
    if blocks := plan.mechanisms():
        rows = [(name, e, float(np.exp(e)), why.partition(": ")[0]) for name, e, why in blocks]
        lines += aligned(("column", "exact epsilon", "parity", "mechanism"), rows)
        lines += ["", *(f"  {columns}: {why}" for columns, _, why in blocks), ""]
    if getattr(plan, "invariant", False) and plan.published is plan:
        say = "singular: no table with other columns has estimates; choose another loss or epsilon"
        lines += [f"{name}: {say}" for name, each in plan.channels().items() if each.singular]
    required = plan.requirement
    exception = ", except for the disclosures that are not covered" if plan.not_covered else ""
    left = [each.name for each in plan.schema.columns if not each.randomized]
    left_out = [name for name in left if name not in plan.passed]
    others = (("released unchanged: ", plan.passed), ("left out: ", left_out))
    stated, *further = plan.guarantees
    posterior = float(largest_posterior(PRIOR, float(np.exp(stated.epsilon))))
    percent = math.ceil(1000 * posterior) / 10
    return [
        *lines,
        f"epsilon of {stated.unit}: {number(stated.epsilon)}, exact and rounded up; requested: "
        f"{number(plan.target * plan.schema.records_per_unit)}",
        *(f"epsilon of {e.unit}: {number(e.epsilon)}" for e in further if plan.schema.unit),
        *([f"required, and it holds: {required.label}: {required.meaning}"] if required else []),
        f"a prior probability of 1 % about a respondent can rise to {percent:g} % at most"
        f"{exception}",
        f"chosen from: {plan.chosen_from}",
        *(f"not covered: {each}" for each in plan.not_covered),
        *(what + ", ".join(names) for what, names in others if names),
    ]


def _verify(options: argparse.Namespace) -> None:
    table, plan = verify_plan(options.verify), read_plan(options.verify)
    unknown = table["of"].isin(plan.unverifiable)
    epsilons = table[["claimed_epsilon", "exact_epsilon"]].astype(float).map(repr)
    holds = table["holds"].map(HOLDS).mask(unknown, "unknown")
    texts = table.assign(holds=holds, **epsilons)
    names = ["unit", "of", "claimed_epsilon", "exact_epsilon", "holds", "shown_by"]
    rows = texts[names].to_numpy().tolist()
    print("\n".join(aligned(("unit", "of", "claimed", "exact", "holds", "shown by"), rows)))
    refuted = table["of"].isin(plan.refuted)
    if unknown.any() and (table["holds"] | unknown).all():
        raise DeniableError(
            f"{options.verify}: the bounds of {', '.join(plan.unverifiable)} cannot be verified, "
            "because the data owner keeps the matrices back; the owner verifies private/plan.json"
        )
    if not (table["holds"] | refuted).all():
        wrong = ", ".join(table.loc[~table["holds"] & ~refuted, "of"])
        raise DeniableError(f"{options.verify}: does not hold for {wrong}; make the plan again")
    print("the plan holds: no exact epsilon is above the stated one")
    if refuted.any():
        print("claims of the method that do not hold (NO) are stated as such in the plan")
