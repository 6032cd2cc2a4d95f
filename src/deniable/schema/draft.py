"""Drafts of schemas from files, for the data owner to edit and declare."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pyarrow as pa

from deniable import __version__
from deniable.errors import DataError, listed, named_types, shown
from deniable.schema.column import MISSING
from deniable.schema.evidence import MAX_COUNTED, ColumnEvidence
from deniable.schema.faults import ValidationErrors
from deniable.schema.formats import Source, open_survey, open_transactions
from deniable.schema.model import FORMAT, VERSION
from deniable.schema.types import (
    STAND_INS,
    alike,
    is_text,
    number_text,
    quoted,
    quoted_list,
    refuse_bad_population,
    unfit,
)

NAMES = {"csv": "CSV", "transactions": "Transactions", "spss": "SPSS", "stata": "Stata"}
MAX_CATEGORIES = 200  # of a draft; a declared schema may have more
MAX_NUMBERS = 20  # distinct numbers that are drafted as categories
STEPS = 100  # approximate number of points on a drafted grid
MIN_IDENTIFIED = 20  # records; fewer may all differ by chance
WEIGHT = re.compile(r"(?i)(^|[^a-z])([pfai]?(weights?|wgts?|wts?)|w)([^a-z]|$)|weight|gewicht")
IDENTIFIER = re.compile(
    r"(^|[^a-z])(ids?|uuid|guid|key|nr|no|number|serial|ssn|identifier|caseid|pid|hhid)([^a-z]|$)"
    r"|[a-z]ID$",
    re.IGNORECASE,
)
PEOPLE = "name the people (or survey and wave), alike in all their files: their epsilons are added"
HEAD = """\
# This draft comes from the records and reveals facts about them that no epsilon covers. Edit it:
# write for each column only public facts, known without the records (all possible categories,
# bounds and step of numbers), then change its status from drafted to declared.
#   kind: categorical (ordered: true if from low to high), numeric (a value is taken as the nearest
#     of the points low, low + step, ..., high, or in intervals, by edges: [0, 18, 65] instead of
#     bounds and step), weight, identifier, unit (households or patients with up to
#     records_per_unit records), or left_out of all releases
#   asked_if: {smoker: ["yes"]} means that the question is asked after this answer only
#   missing: the texts that mean a missing value, and the policy: category (one of its own), drop
#     (the record is left out, which a plan must accept) or refuse (it is an error)
"""


@dataclass(frozen=True)
class Draft:
    """A drafted schema: its YAML `text`, a description `found`, and `warnings` for the owner."""

    text: str
    found: str
    warnings: tuple[str, ...]


@dataclass
class _Drafted:
    kind: str
    options: list[tuple[str, str]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @classmethod
    def randomized(cls, kind: str, seen: ColumnEvidence) -> "_Drafted":
        typed = [] if is_text(seen.kind) else [("type", quoted(str(seen.kind)))]
        return cls(kind, [("status", "drafted"), *typed])


@named_types
def draft_schema(source: Any, population: str | None = None) -> str:
    r"""Return a schema drafted from a file or table, as commented YAML text.

    For `source` see `RecordsFile.open`. The data owner states the `population` of the records; by
    default it is empty. Raises `DataError` if the file cannot be read.

    Examples
    --------
    >>> print(draft_schema(pa.table({"sex": ["F", "M", "F"]})).partition("columns:\n")[2])
      - name: sex
        kind: categorical
        status: drafted
        categories: [F, M]
    <BLANKLINE>
    """
    return drafted(source, population).text


def drafted(
    source: Any,
    population: str | None = None,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    transactions: bool = False,
) -> Draft:
    """Draft a schema from a file or table, and describe the file.

    For `source` and `population` see `draft_schema`. The `delimiter` and `encoding` of a text file
    are detected by default. A file of `transactions` has one basket per line. Raises `DataError`
    with all rows that are not records.
    """
    if population is not None:
        refuse_bad_population(population)
    opened = (open_transactions if transactions else open_survey)(source, delimiter, encoding)
    seen = _seen(opened)
    columns = {name: _labelled(name, each, opened) for name, each in seen.items()}
    for name, column in columns.items():
        if name != name.strip():
            column.warnings.append("its name begins or ends with a space; rename it in the file")
    records = next(iter(seen.values())).records
    kinds = [column.kind for column in columns.values()]
    number = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
    read, form = _format(opened, delimiter, encoding)
    found = f"{read}; {records:,} records, {len(columns)} columns: {number}"
    if out := [name for name, column in columns.items() if column.kind == "left_out"]:
        found += f"; left out: {listed(out)}"
    told = [f"column {shown(name)}: {each}" for name, c in columns.items() for each in c.warnings]
    text = "".join(
        [
            f"# Drafted by deniable {__version__}. {found}.\n",
            HEAD,
            f"format: {FORMAT}\nversion: {VERSION}\n",
            f"population:{f' {quoted(population)}' if population else ''}  # {PEOPLE}\n",
            f"file: {form}\ncolumns:\n",
        ]
    )
    for name, column in columns.items():
        remarks = [f"# {each}" for each in (*column.remarks, *column.warnings)]
        options = [f"{key}: {value}" for key, value in (("kind", column.kind), *column.options)]
        text += "\n    ".join([f"  - name: {quoted(name)}", *remarks, *options]) + "\n"
    return Draft(text, f"{opened.where}: {found}", tuple(told))


def _seen(source: Source) -> dict[str, ColumnEvidence]:
    seen = {name: ColumnEvidence(kind) for name, kind in source.types.items()}
    faults = ValidationErrors()
    for piece in source.pieces(list(seen), [], faults):
        for name, evidence in seen.items():
            evidence.add(piece.batch.column(name))
    faults.raise_if_any()
    if not seen or not next(iter(seen.values())).records:
        raise DataError(f"{source.where}: no records; give a file with at least one")
    return seen


def _format(source: Source, delimiter: str | None, encoding: str | None) -> tuple[str, str]:
    if (file := source.format).delimiter is None:
        more = f", encoding: {quoted(file.encoding)}" if file.encoding else ""
        return NAMES.get(file.kind, file.kind.capitalize()), f"{{kind: {file.kind}{more}}}"
    told = ["detected" if given is None else "as given" for given in (delimiter, encoding)]
    mark, name = quoted(str(file.delimiter)), quoted(str(file.encoding))
    marks = f"delimiter {file.delimiter!r} ({told[0]}), encoding {file.encoding} ({told[1]})"
    as_yaml = f"{{kind: {file.kind}, delimiter: {mark}, encoding: {name}}}"
    return f"{NAMES[file.kind]}, {marks}", as_yaml


def _labelled(name: str, seen: ColumnEvidence, source: Source) -> _Drafted:
    """Return a column with the labels of its values, if the file has them, as categories."""
    labels, codes = source.labels.get(name, {}), source.codes.get(name, [])
    others = [each for each in seen.counts if each not in labels and each not in seen.absent]
    if not labels or seen.many or not seen.supported or len(others) > MAX_NUMBERS:
        column = _column(name, seen, codes)
        if labels:
            texts = ", ".join(f"{quoted(each)} ({quoted(own)})" for each, own in labels.items())
            column.warnings.append(
                f"labels among other values: {texts}; move those that mean a missing value to the "
                "values of missing, and correct the bounds"
            )
        return column
    column = _Drafted.randomized("categorical", seen)
    new = {text: text for text in sorted(others)}
    for text, label in labels.items():
        if fault := unfit(label) or ("is no name" if label in ("", MISSING, *codes) else ""):
            column.warnings.append(f"the label of {quoted(text)} {fault}, so the value is the name")
        elif label.strip().casefold() in STAND_INS:
            warning = f"{quoted(label)} is a category; if it means a missing value, move its value"
            column.warnings.append(f"{warning} {quoted(text)} to the values of missing")
        new[text] = text if fault else label
    if not is_text(seen.kind):
        new = {text: new[text] for text in sorted(new, key=float)}
    for label in dict.fromkeys(new.values()):
        if len(same := [text for text, own in new.items() if own == label]) > 1:
            column.warnings.append(
                f"{quoted_list(same)} have the same label {quoted(label)}, so they are one "
                "category; give each another one in mapping and categories to keep them apart"
            )
    if others:
        column.remarks.append(f"values without a label: {quoted_list(sorted(others))}")
    if name in source.ordinal:
        column.options.append(("ordered", "true"))
    mapping = ", ".join(f"{quoted(text)}: {quoted(label)}" for text, label in new.items())
    column.options.append(("categories", quoted_list(list(dict.fromkeys(new.values())))))
    column.options.append(("recode", f"{{mapping: {{{mapping}}}}}"))
    absent = [each for each in seen.absent if each not in labels]
    if seen.missing or codes or absent:
        values = quoted_list(["", *codes, *absent])
        column.options.append(("missing", f"{{values: {values}, policy: category}}"))
        column.remarks.append(f"{seen.missing:,} missing values, drafted as a category")
    return column


def _column(name: str, seen: ColumnEvidence, codes: Sequence[str]) -> _Drafted:
    different = "all values are different"
    if seen.many:
        different = f"the first {MAX_COUNTED:,} values are different"
    all_differ = seen.different and seen.present >= MIN_IDENTIFIED
    if left_out := _left_out(seen):
        return _Drafted("left_out", remarks=[left_out])
    if WEIGHT.search(name) and seen.numbers and 0 <= seen.low < seen.high and not seen.missing:
        weight = _Drafted("weight", remarks=["so named, and all are numbers from 0 on"])
        _add_decimal(weight, seen)
        return weight
    named = bool(IDENTIFIER.search(name)) and (seen.different or len(seen.counts) > MAX_CATEGORIES)
    counts_up = seen.numbers and seen.whole and seen.high - seen.low + 1 == seen.present
    if all_differ and not named and seen.words:
        return _Drafted("left_out", remarks=[f"{different}, and some have several words"])
    if named or (all_differ and (not seen.numbers or (counts_up and not seen.many))):
        return _Drafted("identifier", remarks=[different if seen.different else "so named"])
    if seen.numbers and len(seen.counts) - len(seen.absent) > MAX_NUMBERS:
        return _numeric(seen, codes)
    if len(seen.counts) > MAX_CATEGORIES:
        number = f"over {MAX_COUNTED:,}" if seen.many else f"{len(seen.counts):,}"
        what = f"{number} different values, more than {MAX_CATEGORIES}"
        if seen.grouped:
            why = (
                "numbers with a comma, before decimals or between thousands; write thousands "
                'without in the file, or here kind: numeric, bounds, step and decimal: ","'
            )
            return _Drafted("left_out", warnings=[why])
        return _Drafted("left_out", remarks=[f"{what}; group them (recode) to release the column"])
    return _categorical(seen, codes)


def _left_out(seen: ColumnEvidence) -> str:
    """Return the reason why a column cannot be released, or an empty string."""
    if not seen.supported:
        return f"has {seen.kind}, which cannot be randomized"
    if not seen.present:
        return "has missing values only"
    if seen.unfit:
        return f"a value {seen.unfit}, so the values cannot be categories"
    if MISSING in seen.counts:
        return f"has the value {MISSING}, the name of missing values; rename it in the file"
    if len(seen.counts) == 1 and not seen.missing:
        return "has one value only; if another one is possible, declare it categorical"
    return ""


def _numeric(seen: ColumnEvidence, codes: Sequence[str]) -> _Drafted:
    column = _Drafted.randomized("numeric", seen)
    low, high, step = round_grid(*seen.range, whole=seen.whole)
    column.options += [("bounds", f"[{low}, {high}]"), ("step", step)]
    _add_decimal(column, seen)
    column.remarks.append("bounds are rounded from the records; write public ones")
    _add_missing(column, seen, codes)
    return column


def _add_decimal(column: _Drafted, seen: ColumnEvidence) -> None:
    if seen.decimal == ",":
        column.options.append(("decimal", quoted(",")))
        column.remarks.append("the decimal mark is a comma")


def _categorical(seen: ColumnEvidence, codes: Sequence[str]) -> _Drafted:
    column = _Drafted.randomized("categorical", seen)
    names = sorted(each for each in seen.counts if each not in seen.absent)
    if seen.numbers:
        names.sort(key=seen.number)
    elif seen.ordered:
        names = [each for each in seen.order if each in names]
        column.remarks.append("the file declares this order; check it")
    if seen.numbers or seen.ordered or pa.types.is_temporal(seen.kind):
        column.options.append(("ordered", "true"))
    column.options.append(("categories", quoted_list(names)))
    column.warnings += [
        f"{quoted(text)} is a category; if it means a missing value, move it to the values of "
        "missing"
        for text in names
        if is_text(seen.kind) and text.strip().casefold() in STAND_INS
    ]
    groups = defaultdict(list)
    for text in names:
        groups[alike(text)].append(text)
    for same in groups.values():
        if len(same) > 1:
            column.warnings.append(
                f"{quoted_list(same)} differ only by spaces, capitals or forms of accents; "
                "correct the file if they are the same category"
            )
    _add_missing(column, seen, codes)
    return column


def _add_missing(column: _Drafted, seen: ColumnEvidence, codes: Sequence[str]) -> None:
    if words := [each for each in seen.absent if each not in seen.codes]:
        where = "among the numbers" if seen.numbers else "with stray blanks"
        column.warnings.append(f"{quoted_list(words)} {where} are taken as missing values")
    if seen.codes:
        low, high = map(number_text, seen.range)
        column.warnings.append(
            f"{quoted_list(seen.codes)} beyond a gap in the values, which go from {low} to {high}, "
            "are taken as codes of missing values; correct this if they are numbers"
        )
    if seen.suspects:
        column.warnings.append(
            f"{quoted_list(seen.suspects)} may be a code of missing values; if so, move it to "
            "the values of missing, and correct the bounds or categories"
        )
    if seen.missing or seen.absent or codes:
        values = quoted_list(["", *codes, *(each for each in seen.absent if each not in codes)])
        column.options.append(("missing", f"{{values: {values}, policy: category}}"))
        number = seen.missing + sum(seen.absent.values())
        column.remarks.append(f"{number:,} missing values, drafted as a category of their own")


def round_grid(low: float, high: float, *, whole: bool) -> tuple[str, str, str]:
    """Return round bounds that contain the numbers, and a step for about 100 points.

    The numbers are between `low` and `high`. If all are `whole`, the step is whole too.
    """
    span = Decimal(repr(high)) - Decimal(repr(low)) or Decimal(1)
    power = Decimal(1).scaleb((span / STEPS).adjusted())
    step = next(power * each for each in (1, 2, 5, 10) if power * each * STEPS >= span)
    if whole:
        step = max(step, Decimal(1))
    unit = 10 * step
    first = (Decimal(repr(low)) / unit).to_integral_value("ROUND_FLOOR") * unit
    last = (Decimal(repr(high)) / unit).to_integral_value("ROUND_CEILING") * unit
    if first == last:
        last += unit
    first_text, last_text, step_text = (number_text(float(n)) for n in (first, last, step))
    return first_text, last_text, step_text
