"""What lanes share: marks, sources of chance, descriptions, the order of records."""

import hashlib
import math
import re
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from deniable.files import read_json, read_table, write_json, write_table
from deniable.records import Domain, Microdata, NumericMicrodata, read_true_records, shortened
from deniable.release.entries import canonical
from deniable.release.keys import Records
from deniable.release.settings import AnyRelease, FileRelease
from deniable.sampling import KeyedDraws, RandomSource

REHEARSAL_MARK = "REHEARSAL: drawn from a seed that is known, so it protects nobody; do not release"
PRODUCTION_MARK = "drawn once, by a secret key of its own"
NOTHING = "nothing"
"""How what an epsilon does not count begins where it counts all."""
EPSILONS_ARE = (
    "exact, or bounds, for ideal random numbers; those that are drawn from are AES-256's under the "
    "release's key, so that they hold against whoever cannot tell these from ideal ones"
)
IN_FULL = ("p", "fake", "epsilon", "probability")
"""Columns that files of collections have with all digits."""
TEXTS = ("attributes", "categories", "stratum", "cluster")
FOR_ALL = "the same for all records: may be published"
"""How audits mark, by ``use``, rows that tell nothing of the records."""
CONVENTION = "P[u, v] = Pr(report v | true u); cells in row-major order of the attributes"

FORMULA = re.compile(r"[=@\t\r]|[+-](?![0-9][0-9.,]*$)")
"""How a text begins that a spreadsheet computes; numbers with a sign are what they are."""
SPREADSHEETS = (
    "Names or categories begin as formulas of spreadsheets do ({}): a program that opens a CSV "
    "file of this release may compute them. Import the columns as text. They stand as they are in "
    "the data, for with a character in front they would be other categories"
)

SomeRecords = TypeVar("SomeRecords", Microdata, NumericMicrodata)


def public_source(release: AnyRelease, protected: Microdata, step: str) -> RandomSource:
    """Return the chance of a `step` on the `protected` file of a `release`: it follows from that.

    It protects nobody and need not: whoever has the file may make the same of it, and does.
    """
    content = hashlib.sha256()
    for column in protected.columns:
        content.update(np.ascontiguousarray(column, dtype="<u4").tobytes())
    return KeyedDraws(content.digest(), canonical(release.name)).stream(step)


def described(
    release: AnyRelease, data_source: str, production: str = PRODUCTION_MARK
) -> dict[str, Any]:
    """Return how the description of a `release` begins, of records from a `data_source`.

    `production` is the notice of a release that is no rehearsal.
    """
    return {
        "release": release.name,
        "fails": dict(release.findings),
        "notice": REHEARSAL_MARK if release.rehearsal else production,
        "rehearsal": release.rehearsal,
        "epsilons_are": EPSILONS_ARE,
        "data_source": data_source,
        "parameters": release.stated(),
    }


def epsilon_of(description: Mapping[str, Any]) -> float:
    """Return the epsilon of a whole record that a release's `description` states.

    Infinite where none is proved, and where something that it tells is not counted.
    """
    privacy = description["privacy"]
    if description["fails"] or not privacy.get("not_counted", NOTHING).startswith(NOTHING):
        return math.inf
    stated = privacy["proved_epsilon" if "proved_epsilon" in privacy else "epsilon"]
    return math.inf if isinstance(stated, str) else float(stated)


def in_order(release: FileRelease, drawn: SomeRecords, draws: KeyedDraws) -> SomeRecords:
    """Return `drawn` records in the order that a `release` has them in.

    A permutation by the key of `draws`, unless that of the true file is asked for: whoever knows
    that file would tell by its place whose a record is.
    """
    return drawn if release.order == "as_in_file" else drawn.take(draws.order(len(drawn)))


def in_true_order(release: FileRelease, drawn: SomeRecords, draws: KeyedDraws) -> SomeRecords:
    """Return what `in_order` was given, by `release`, `draws` and what it returned, `drawn`."""
    if release.order == "as_in_file":
        return drawn
    return drawn.take(np.argsort(draws.order(len(drawn))))


def exact_cells(exact: Mapping[str, npt.NDArray[np.bool_]]) -> pd.DataFrame:
    """Return how many cells of each attribute are true, by which of them are.

    In the columns ``attribute``, ``records``, ``exact``, ``share``.
    """
    rows = [(name, each.size, int(each.sum()), float(each.mean())) for name, each in exact.items()]
    return pd.DataFrame(rows, columns=["attribute", "records", "exact", "share"])


def spreadsheets(texts: Iterable[str]) -> dict[str, str]:
    """Return what a release says if `texts`, names or categories, look like formulas; else nothing.

    Examples
    --------
    >>> spreadsheets(["<=50K", "-9", "+1.5", "high"])
    {}
    """
    found = [text for text in dict.fromkeys(texts) if FORMULA.match(text)]
    if not found:
        return {}
    shown = ", ".join(map(shortened, found[:5])) + (", ..." if len(found) > 5 else "")
    said = SPREADSHEETS.format(shown)
    warnings.warn(said, stacklevel=2)
    return {"spreadsheets": said}


def texts_of(domain: Domain) -> list[str]:
    """Return names and categories of the attributes of a `domain`."""
    return [text for attribute in domain for text in (attribute.name, *attribute.categories)]


def marks_for(
    release: AnyRelease, data: Records, production: str = PRODUCTION_MARK
) -> dict[str, str]:
    """Return the marks of a file of protected `data`; `release`, `production` as in `described`."""
    # Not the digest of the true file: with a guess at hand it would confirm the guess.
    return {
        "data_source": data.marks.get("data_source", ""),
        "release": release.name,
        "notice": REHEARSAL_MARK if release.rehearsal else production,
    }


def notes(records: Records) -> dict[str, str]:
    """Return the columns by which a CSV file of `records` says if nobody is in it."""
    marks = records.marks
    found = {"synthetic": marks["synthetic_from"]} if "synthetic_from" in marks else {}
    found |= {"rehearsal": "yes"} if marks["notice"] == REHEARSAL_MARK else {}
    found |= {"data_source": "surrogate"} if marks["data_source"] == "surrogate" else {}
    return found | ({"synthetic": "yes"} if marks.get("synthetic") == "yes" else {})


def marked(table: pd.DataFrame, release: AnyRelease, records: Records) -> pd.DataFrame:
    """Return a `table` that says if its `release` is a rehearsal, and of which `records`."""
    return table.assign(rehearsal=release.rehearsal, data_source=records.marks["data_source"])


def marked_as(table: pd.DataFrame, like: pd.DataFrame) -> pd.DataFrame:
    """Return a `table` marked as the one that it is made from, `like`."""
    return table.assign(**{name: like[name].iloc[0] for name in ("rehearsal", "data_source")})


def read_made(files: Iterable[Path | str]) -> dict[str, Any]:
    """Read what steps of a release left in `files`, by their names without their endings.

    In tables categories are text, one of which may be called "NA", and an empty stratum is "".
    """
    return {Path(file).stem: _read(Path(file)) for file in files}


def _read(file: Path) -> Any:
    if file.suffix == ".json":
        return read_json(file)
    if file.suffix == ".parquet":
        return read_true_records(file)
    # pandas' own reading of numbers may err in the last digit.
    exactly = dict.fromkeys(IN_FULL, float)
    table = read_table(file, dtype=dict.fromkeys(TEXTS, str), converters=exactly)
    return table.fillna({"stratum": ""}) if "stratum" in table else table


def write_made(files: Iterable[Path | str], made: Mapping[str, Any]) -> None:
    """Write what a step `made`, by name, to `files` of these names, as their endings say."""
    for file in map(Path, files):
        match made[file.stem]:
            case pd.DataFrame() as table:
                write_table(file, table)
            case Microdata() | NumericMicrodata() if file.suffix == ".csv":
                # Of what stands in the other file, which is written first.
                records = read_true_records(file.with_suffix(".parquet"))
                records.write_csv(file, notes(records))
            case Microdata() | NumericMicrodata() as records:
                records.write_parquet(file)
            case write if callable(write):
                if not file.suffix:
                    file.mkdir()
                write(file)
            case described:
                write_json(file, described)
