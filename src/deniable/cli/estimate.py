"""``deniable estimate``: estimates from the public folder of a release."""

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import pandas as pd

from deniable.analysis import WRONG_ERRORS, Released, for_reading, notes_on, page, release_of
from deniable.cli.answers import INDENT, aligned, to_json
from deniable.cli.outputs import ANSWERS, refuse_overwriting
from deniable.errors import DeniableError, GuessWarning, NoAnswerError, plain
from deniable.files import write_table, write_text, written_whole
from deniable.release import counted_epsilon, epsilon_text

Answers = dict[str, pd.DataFrame]
Question = tuple[str, Callable[[], pd.DataFrame]]  # its title, and a function that answers it
QUERY = "query "  # beginning of the titles of queries; one table has all of their answers


def run(options: argparse.Namespace) -> None:
    """Print or write the estimates of the `options`.

    Raises `NoAnswerError`, with a line for each question without an answer, after all answers.
    """
    _refuse_contradictions(options)
    warnings.simplefilter("ignore", GuessWarning)  # notes state them
    released = Released(options.public)
    made, files = options.synthetic is not None or options.adjusted_weights, options.out
    questions = [*_questions(released, options)]
    if not questions and not made:
        usual = {"margins": _has_tables(released), "numbers": not released.plan.unverifiable}
        questions = [*_questions(released, argparse.Namespace(**(vars(options) | usual)))]
    answers, refused = _answers(questions, options)
    strata = (each.get("stratum", pd.Series("")) != "" for each in answers.values())
    if options.by_stratum and not any(each.any() for each in strata):
        raise DeniableError("--by-stratum: no requested table has strata; leave this option out")
    release, facts = release_of(options.public), _facts(options.public, released)
    notice = [f"{release.get('notice')}."] if release.get("mode") == "test" else []
    print(*(f"deniable: note: {plain(each)}\n" for each in notice), end="", file=sys.stderr)
    if files or options.format != "text":  # text on a screen has the notice above it
        facts = notice + facts
    shown = _formatted(options.format, facts, answers) if answers else ""
    if made:
        records = (
            released.adjusted_weights()
            if options.adjusted_weights
            else released.synthetic(options.synthetic, options.seed, basis=options.basis)
        )
        if files.suffix == ".csv":
            write_table(files, records)
        else:
            with written_whole(files) as temporary:
                records.to_parquet(temporary, index=False)
        if (distance := records.attrs.get("fidelity")) is not None:
            print(f"mean distance of pairs from the joint distribution: {distance:.4f}")
            print(WRONG_ERRORS)
        for name in records.attrs.get("left_out", []):
            print(f"not adjusted: {plain(name)}: its randomized values are not its categories")
    elif files:
        write_text(files, shown)
        shown = ""
    print(shown, end="")
    if refused:
        raise NoAnswerError("\n".join(refused))


def _refuse_contradictions(options: argparse.Namespace) -> None:
    error = options.parser.error
    unweighted = options.itemsets or options.support or options.rule or options.test == "mcindep"
    if options.weight and unweighted:
        remedy = "leave it out, or use --test independence"
        error(f"argument --weight: MCIndep, item sets and rules do not use weights; {remedy}")
    for name in ("repetitions", "columns"):
        if getattr(options, name) and not options.joint:
            error(f"argument --{name}: only --joint uses it; add --joint, or leave it out")
    for name in ("target", "confidence", "inverse"):
        if options.joint and getattr(options, name) != options.parser.get_default(name):
            error(f"argument --{name}: --joint does not use it; leave one of them out")
    made = options.synthetic is not None or options.adjusted_weights
    if made and (options.out is None or options.out.suffix not in (".csv", ".parquet")):
        error("argument --out: give a file .csv or .parquet for the weights or synthetic records")
    what, beginning = ("file of records", None) if made else ("file of estimates", ANSWERS)
    refuse_overwriting(options.out, [options.public], what, beginning)
    if options.synthetic is not None and options.synthetic < 1:
        error(f"argument --synthetic: {options.synthetic} records; request at least 1")


def _answers(questions: list[Question], options: argparse.Namespace) -> tuple[Answers, list[str]]:
    """Return the answers by their titles, and one line per question that is refused.

    Raises the first error if all `questions` are refused.
    """
    found, errors = dict[str, list[pd.DataFrame]](), dict[str, DeniableError]()
    weighted = f", weighted by {options.weight}" if options.weight else ""
    for title, answer in questions:
        try:
            table = answer()
        except DeniableError as error:
            errors[title] = error
            continue
        if title == "numbers" and options.numbers and table.empty:
            errors[title] = DeniableError("no column is released as numbers; leave --numbers out")
        elif len(table):
            found.setdefault("queries" if title.startswith(QUERY) else title, []).append(table)
    if errors and not found:
        raise next(iter(errors.values()))
    answers = {
        f"{title}{weighted}": parts[0] if len(parts) == 1 else pd.concat(parts, ignore_index=True)
        for title, parts in found.items()
    }
    refused = [f"{title}: {'; '.join(str(each).splitlines())}" for title, each in errors.items()]
    return answers, refused


def _questions(released: Released, options: argparse.Namespace) -> Iterator[Question]:
    how = {"weight": options.weight, "confidence": options.confidence, "inverse": options.inverse}
    how |= {"target": options.target} if options.target else {}
    tables = how | ({"by_stratum": True} if options.by_stratum else {})
    if options.margins:
        yield "margins", partial(released.margins, **tables)
    if options.numbers:
        yield "numbers", partial(released.numbers, **how)
    yield from _joint(released, options) if options.joint else ()
    for names in dict.fromkeys(options.table):
        if not options.joint:
            yield f"table of {' x '.join(names)}", partial(released.table, names, **tables)
        if options.test == "independence":
            test = partial(released.independence, weight=options.weight, seed=options.seed)
            yield f"independence of {', '.join(names)}", partial(test, names)
    if options.pairs:
        yield "pairs", partial(released.pairs, **tables)
    yield from _analyses(released, options)
    for query in () if options.joint else options.query:
        yield f"{QUERY}{query}", partial(released.query, query, **how)
    by = {"model": options.model, "method": options.method}
    for formula in dict.fromkeys(options.regress):
        yield f"regression {formula}", partial(released.regression, formula, **by, **how)


def _joint(released: Released, options: argparse.Namespace) -> Iterator[Question]:
    """Yield the questions that one joint distribution answers."""
    how = {"weight": options.weight, "seed": options.seed, "repetitions": options.repetitions}
    found = cache(partial(released.joint, options.columns, **how))

    def ask(method: str, *request: Any, **columns: str) -> Callable[[], pd.DataFrame]:
        return lambda: getattr(found(), method)(*request).assign(**columns)

    yield "numbers of latent classes", ask("choice")
    yield "test of fit on held-out pairs", ask("fit")
    if not options.table and not options.query:
        yield "dependence of pairs", ask("dependences")
    for names in dict.fromkeys(options.table):
        yield f"joint table of {' x '.join(names)}", ask("table", names)
    for query in options.query:
        yield f"joint {QUERY}{query}", ask("query", query, query=query)


def _analyses(released: Released, options: argparse.Namespace) -> Iterator[Question]:
    """Yield the questions about many tables (by default all tables), and about item sets."""
    tables, by_weight = options.table or None, {"weight": options.weight}
    if options.test == "mcindep":
        yield "MCIndep", partial(released.mcindep, tables, seed=options.seed)
    elif options.test and not tables:
        test = partial(released.independence_of_pairs, **by_weight, seed=options.seed)
        yield "independence of all tables", test
    if options.consistent:
        found = cache(partial(released.consistent, tables, **by_weight))
        yield "consistent tables", lambda: found().tables
        yield "disagreement of tables", lambda: found().disagreement
    if options.two_step:
        yield "two-step tables", partial(released.two_step, tables, **by_weight)
    both, level = options.target == "both", {"confidence": options.confidence}
    within = f" ({options.confidence:.9g} confidence)"
    for target in ("population", "file") if both else (options.target or "population",):
        if options.itemsets:
            search = {"largest": options.largest, "error_rate": options.error_rate}
            found_by = partial(released.item_sets, options.min_support, target=target, **search)
            yield f"item sets of the {target} (error rate {options.error_rate:.9g})", found_by
        if options.rule:
            rules = partial(released.rules, options.rule, target=target, **level)
            yield f"rules of the {target}{within}", rules
    if options.support:
        yield f"supports{within}", partial(released.supports, options.support, **level)


def _has_tables(released: Released) -> bool:
    try:
        return bool(released.domain.names)
    except DeniableError:
        return False


def _facts(public: Path, released: Released) -> list[str]:
    plan = released.plan
    stated = plan.guarantees[0]
    epsilon = epsilon_text(counted_epsilon(stated.epsilon))
    people = f" of the population {plan.schema.population}" if plan.schema.population else ""
    return [
        f"Estimated from {public} alone: {released.records:,} protected records{people}.",
        f"Epsilon of {stated.unit}: {epsilon}, exact and rounded up. "
        "Estimates use no privacy budget.",
        *(f"Not covered by it: {said}." for said in plan.not_covered),
    ]


def _formatted(form: str, facts: list[str], answers: Answers) -> str:
    if form == "text":
        return _text(facts, answers)
    if form == "html":
        return page("Estimates from protected records", facts, answers)
    if form == "csv":
        named = [answer.assign(answer=title) for title, answer in answers.items()]
        table = pd.concat(named, ignore_index=True)
        columns = ["answer", *table.columns.drop("answer")]
        return str(table[columns].to_csv(index=False, lineterminator="\n"))
    rows = {
        title: {"notes": notes_on(answer), "rows": answer.to_dict("records")}
        for title, answer in answers.items()
    }
    return to_json({"about": facts, "answers": rows}) + "\n"


def _text(facts: list[str], answers: Answers) -> str:
    lines, shown = [*facts], set[str]()
    for title, answer in answers.items():
        columns, rows = for_reading(answer)
        new = [note for note in notes_on(answer) if note not in shown]
        shown.update(new)
        lines += ["", title, *aligned([*columns], rows, [*columns.values()])]
        lines += [INDENT + note for note in new]
    return "".join(f"{plain(line)}\n" for line in lines)
