"""Check the numbers of docs/findings.md against the tables of a run.

``make check`` calls this module for a full-size run on the published data, because other runs have
other numbers. Every number of the findings is a row of docs/findings.csv. Exceptions are paragraphs
that begin with "Published", names of sections and tables, and settings with their names (p = .7).
A row has the quoted words, and the source of their first number:

- table, where (``column=value`` or ``column!=value``, joined by ``;``) and column: the only value
  of these rows, rounded as in the quotation. ``x / y`` is a ratio. ``count``, ``min x`` and
  ``max x`` refer to all rows. If the column is ``verdict``, all rows have the same one, and the
  quotation contains it. A table without this column holds if ``holds`` is true in all rows, and
  fails otherwise;
- table ``config``: the value of an option, by its path;
- table ``checklist``: a verdict of resources/checklist.csv;
- table ``published``, ``setting``, ``proved`` or ``test``: a number of the paper, of a study's
  settings, of a proof, or of a file of tests.

Each row of the opening table is a paragraph. It quotes its verdict, unless the verdict is "our
finding" and the claim names no paper.

The text and the row of findings.csv must have the same settings. Settings are first read from the
quotation ("k = 3", "iDP-LS", "the published update"), otherwise from its sentence, otherwise from
its paragraph. The row's value must be among them, column by column (`OTHER_CELL`). Where a sentence
has several settings, quote enough words. "At least" rounds down, "at most" and "up to" round up.
"N of 100" requires exactly 100 replicates.

A simulated number of three digits needs its interval. An exact one needs a paragraph that says so.
"""

import csv
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import yaml

ROOT = Path(__file__).resolve().parent.parent
FINDINGS = ROOT / "docs" / "findings.md"
QUOTED = ROOT / "docs" / "findings.csv"
CHECKLIST = ROOT / "resources" / "checklist.csv"
OTHER_SOURCES = {"published", "setting", "proved", "test"}
INTERVAL = {"ci_low", "ci_high"}
CERTAIN = ("epsilon", "published")
"""Beginnings of columns that are exact beside a simulated one."""

NUMBER = r"-?(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?:e-?\d+)?"
LIST = rf"\(?{NUMBER}\)?(?:(?:, | and | or | to |, and ){NUMBER})*"
PLACE = r"\(?\d(?:\.?\d)*\)?[a-c]?"
NO_RESULT = re.compile(
    "|".join(
        [
            r"`[^`]*`",
            r"\]\([^)]*\)",
            # Places in a paper: section 6.4, Tables 4 and 5, (2.6), [multirr], 6.5, 4.3.
            r"\[(?:multirr|pram|idp|rrba)\], \d(?:\.\d)*",
            r"\b(?:[Ss]ections?|Tables?|Figures?|Theorem|Propositions?|Corollary|Definition|Algorithm|"
            rf"Example|Eq\.|[Ss]tep) {PLACE}(?:(?:, | and | to |, and ){PLACE})*",
            r"\(\d[\d.]*\)",
            r"\b4\.[123](?='s|[ :]\b|\))",
            # Settings by their names: p = .1 and .3; and formulas.
            r"\b(?:p|k|n|m|t|e|sigma|T_v|T_d|gamma|effect|factor|parity)"
            rf"(?:,| of|:| =| \+| -|) {LIST}",
            rf"\bε = {LIST}",
            rf"(?<![\w.])\(?{NUMBER} ?[-+/|][^,;.]*?\)(?:\))*",
            r"\b95 %",
        ]
    )
)


SETTINGS = {
    "p": "p",
    "k": "k",
    "n": "n",
    "sigma": "sigma",
    "t_v": "T_v",
    "epsilon": "ε",
    "effect": "effect",
    "domain_factor": "domain factor",
}
"""Columns with numbers, and their names in the text."""
NAMES: dict[str, dict[str, str | tuple[str, ...]]] = {
    "dataset": {
        r"Adult(?!6)": "adult",
        "Adult6": "adult6",
        "Census": "census",
        "Wine": "wine",
        "Survey": "survey",
        "Child": "child",
        "Alarm": "alarm",
    },
    "mechanism": {
        r"\*joint\*": ("joint", "rr_clusters joint"),
        r"\*kronecker\*": ("kronecker", "rr_clusters kronecker"),
        "RR-Independent": "rr_independent",
        "RR-Clusters": ("joint", "kronecker", "rr_clusters joint", "rr_clusters kronecker"),
    },
    "projection": {"clip": "clip", "maximum likelihood": "likelihood", "Euclidean": "simplex"},
    "reading": {r"\*keep\*": "keep"},
    "matrix": {r"\*keep\*": "keep"},
    "update": {"published update": "printed", "projected": "projected", "pooled": "pooled"},
    "method": {
        r"iDP-LS": "idp_ls",
        r"iDP-CBLS": "idp_cbls",
        r"DP-UM": "dp_um",
        r"(?<![-\w])DP(?!-)": "dp",
        "RR-Independent": "rr_independent",
        r"RR-Clusters(?!, with)": "rr_clusters",
        "RR-Adjustment": "rr_independent_adjustment",
        r"with adjustment|adjusted\)": "rr_clusters_adjustment",
        r"RRBA(?! is)": ("rrba", "rrba_half_floor"),
        "that stays uniform": ("rrba", "rrba_uniform"),
        "true table": "rrba_at_truth",
        "MCIndep": "mcindep",
        "adjusted for randomization": "channel_aware",
        "plain Laplace": "dp",
        r"Laplace|[Tt]he text's own test": ("laplace", "laplace_honest", "laplace_true_limit"),
        r"floor `\.5": "rrba_half_floor",
        "projective geometry": "projective_geometry",
        "unary": "unary_encoding",
        "Hadamard": "hadamard",
        "generalized randomized": ("randomized_response", "rrba_uniform"),
        "file of zeros": "no_data",
        "drawn independently": "least_dp",
        "Medians": "dp_median",
    },
    "attribute": {
        "education": "education",
        "workclass": "workclass",
        "marital-status": "marital-status",
        r"\bsex\b": "sex",
        "somebody": "any",
        "INTVAL": "INTVAL",
        "FICA": "FICA",
        "density": "density",
        "fixed acidity": "fixed acidity",
    },
    "margins": {"skewed marginals": "skewed", "uniform marginals": "uniform"},
    "hypothesis": {"true null|under the null": "H0", "dependence|under the alternative": "H1"},
}
"""Columns with names, and the words of the text for their values."""
BOUNDS = {"at least": 1, "at most": -1, "up to": -1}
"""Words before a bound, and the sign of its possible rounding error."""
IN_PERCENT = {"tables/rrba_table3", "tables/rrba_power"}
"""Tables with rates in per cent. Others have proportions."""
ROUNDED_DOWN = "rounded down"
"""Words in a sentence with lower bounds only."""
OTHER_CELL = "the text names {named} here, the row has {column}={value}"
OUR_FINDING = "our finding"


class Quotation(NamedTuple):
    """A number or verdict in the findings, and its source."""

    quoted: str
    table: str
    where: str
    column: str


def quotations() -> list[Quotation]:
    """Return the rows of docs/findings.csv."""
    with QUOTED.open(newline="", encoding="utf-8") as stream:
        return [Quotation(**row) for row in csv.DictReader(stream)]


def paragraphs() -> list[str]:
    """Return the paragraphs and table rows with our findings, each in one line."""
    blocks = re.split(r"\n\s*\n|\n(?=[-#] |\|)", FINDINGS.read_text(encoding="utf-8"))
    lines = [re.sub(r"\s+", " ", block).strip() for block in blocks]
    others = ("#", "**Published", "Shown by", "[", "|---")
    return [line for line in lines if not line.startswith(others)]


def places(quoted: str, text: str) -> list[re.Match[str]]:
    """Return the places of a quotation in a text."""
    return [*re.finditer(rf"(?<![\d.]){re.escape(quoted)}(?![\d])(?!\.\d)", text)]


def not_in_text(quotation: Quotation) -> bool:
    """Return whether the findings lack the quotation."""
    return not any(places(quotation.quoted, paragraph) for paragraph in paragraphs())


def named_settings(text: str) -> dict[str, set[str | float]]:
    """Return the values of settings that a text names, by column."""
    found: dict[str, set[str | float]] = {}
    for column, name in SETTINGS.items():
        for place in re.finditer(rf"\b{name}(?: =| of|) ({LIST})(?![\d.]*\d)", text):
            values = (each.replace(",", "") for each in re.findall(NUMBER, place[1]))
            found.setdefault(column, set()).update(map(float, values))
    for column, names in NAMES.items():
        named = [value for words, value in names.items() if re.search(words, text)]
        if named:
            found[column] = {each for v in named for each in ([v] if isinstance(v, str) else v)}
    return found


def other_cell(quotation: Quotation) -> str | None:
    """Return the difference if the text names another setting than the row."""
    lines = [line for line in paragraphs() if places(quotation.quoted, line)]
    texts = quotation.quoted, " ".join(sentences(quotation.quoted)), " ".join(lines)
    levels = [named_settings(text) for text in texts]
    for column, value in re.findall(r"([^=!;]+)=([^;]*)", quotation.where):
        named = next((level[column] for level in levels if column in level), set())
        number = column in SETTINGS and re.fullmatch(NUMBER, value)
        if named and value and (float(value) if number else value) not in named:
            return OTHER_CELL.format(named=sorted(map(str, named)), column=column, value=value)
    return None


def sentences(quoted: str) -> list[str]:
    """Return the sentences of the findings that have the words quoted."""
    lines = [line for line in paragraphs() if places(quoted, line)]
    parts = [part for line in lines for part in re.split(r"(?<=[.!?]) (?=[A-Z*\"(])", line)]
    return [part for part in parts if places(quoted, part)] or lines


def bound_of(quoted: str) -> int:
    """Return 1 if a quoted number is a lower bound, -1 if it is an upper one, else 0."""
    for sentence in sentences(quoted):
        for place in places(quoted, sentence):
            at = place.start() + place.group().index(next(re.finditer(NUMBER, quoted)).group())
            before = re.search(rf"({'|'.join(BOUNDS)}) $", sentence[:at])
            if before or ROUNDED_DOWN in sentence:
                return BOUNDS[before[1]] if before else 1
    return 0


def unsupported() -> list[str]:
    """Return the rows of the opening table with a verdict that no quotation supports."""
    rows = [line for line in paragraphs() if line.startswith("|")][1:]
    words = [each.quoted for each in quotations() if each.column == "verdict"]
    found = []
    for row in rows:
        claim, verdict = (cell.strip() for cell in row.split("|")[1:3])
        own = verdict == f"`{OUR_FINDING}`" and not claim.startswith("[")
        if not own and not any(verdict in each and places(each, row) for each in words):
            found.append(row)
    return found


def unlisted() -> list[str]:
    """Return the numbers without a row, each with the words around it."""
    found = []
    quoted = sorted({each.quoted for each in quotations()}, key=len, reverse=True)
    for paragraph in paragraphs():
        left = NO_RESULT.sub(lambda place: "#" * len(place.group()), paragraph)
        for words in quoted:
            for place in places(words, paragraph):
                left = left[: place.start()] + "#" * len(words) + left[place.end() :]
        for place in re.finditer(rf"(?<![\w#]){NUMBER}", left):
            found.append(paragraph[max(0, place.start() - 40) : place.end() + 20])
    return found


def number_in(quoted: str) -> str:
    """Return the first number of a quotation."""
    return next(re.finditer(NUMBER, quoted)).group().replace(",", "")


def holds(quoted: str, value: float, bound: int = 0) -> bool:
    """Return whether a value rounds to a quoted number. Proportions may be quoted "of 100".

    A lower `bound` (1) is rounded down, an upper one (-1) up, other numbers to the nearest.
    Zeros at the end of a whole number are not significant after the first two digits.
    """
    digits, _, power = number_in(quoted).partition("e")
    decimals = len(digits.partition(".")[2])
    zeros = 0 if decimals else min(len(digits) - len(digits.rstrip("0")), max(0, len(digits) - 2))
    unit = 10.0 ** (int(power or 0) - decimals + zeros)
    if "of 100" in quoted:
        value *= 100
    more = (value - float(number_in(quoted))) / unit
    if bound:
        return -1e-6 <= bound * more < 1
    return abs(more) <= 0.5000001


@cache
def read(path: Path) -> pd.DataFrame:
    """Return a table as text, or the options of the config as one row."""
    if path.name == "config.csv":
        values: dict[str, Any] = yaml.safe_load((ROOT / "config/config.yaml").read_text("utf-8"))
        return pd.json_normalize(values).astype(str)
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def meant(quotation: Quotation, results: Path) -> pd.DataFrame:
    """Return the table's rows for a quotation."""
    checklist = quotation.table == "checklist"
    table = read(CHECKLIST if checklist else results / f"{quotation.table}.csv")
    for part in filter(None, quotation.where.split(";")):
        column, differs, value = re.fullmatch(r"([^=!]+)(!?)=(.*)", part).groups()  # type: ignore[union-attr]
        table = table[(table[column] == value) != bool(differs)]
    return table


def value_of(quotation: Quotation, rows: pd.DataFrame) -> float:
    """Return the quoted number. No number, or several, raise a `ValueError`."""
    aggregate, _, column = quotation.column.rpartition(" ")
    if quotation.column == "count":
        return float(len(rows))
    if " / " in quotation.column:
        names = quotation.column.split(" / ")
        over, under = (value_of(Quotation(*quotation[:3], name), rows) for name in names)
        return over / under
    numbers = pd.to_numeric(rows[column].drop_duplicates())
    if aggregate and len(numbers):
        return float(numbers.agg(aggregate))
    if len(numbers) != 1:
        raise ValueError(f"{len(numbers)} values of {column}")
    return float(numbers.iloc[0])


def digits_of(quoted: str) -> int:
    """Return the number of digits, without the last zeros of a whole number."""
    digits = number_in(quoted).partition("e")[0].lstrip("-0.")
    return len((digits if "." in number_in(quoted) else digits.rstrip("0")).replace(".", ""))


def unqualified(quotation: Quotation, rows: pd.DataFrame) -> str | None:
    """Return the error if a number of three digits has no interval and is not exact."""
    if digits_of(quotation.quoted) < 3 or quotation.column in {"count", *INTERVAL}:
        return None
    simulated = {*rows} >= INTERVAL and (rows["ci_low"] != rows["ci_high"]).any()
    if simulated and not quotation.column.startswith(CERTAIN):
        quoted = {each.column for each in quotations() if each[1:3] == quotation[1:3]}
        return None if quoted >= INTERVAL else "three digits without an interval"
    said = [line for line in paragraphs() if places(quotation.quoted, line)]
    exact = any(re.search(r"\*\*Computed|[Ee]xact", line) for line in said)
    return None if exact else "three digits, and no word that it is exact"


def verdicts_of(rows: pd.DataFrame) -> list[str]:
    """Return the different verdicts of rows, or one for all of them from their ``holds``."""
    if "verdict" not in rows and len(rows):
        return ["holds" if (rows["holds"] == "True").all() else "fails"]
    return sorted({*rows["verdict"]})


def fault(quotation: Quotation, results: Path) -> str | None:
    """Return the error of a quotation, None if it is right."""
    if not_in_text(quotation):
        return f"{FINDINGS.name} does not say {quotation.quoted!r}"
    if quotation.table in OTHER_SOURCES:
        gone = quotation.table == "test" and not (ROOT / quotation.where).is_file()
        return f"{QUOTED.name}: no file {quotation.where}" if gone else None
    if quotation.table != "config" and (elsewhere := other_cell(quotation)):
        return f"{QUOTED.name}: {quotation.quoted}: {elsewhere}"
    rows = meant(quotation, results)
    place = f"{quotation.table}.csv, {quotation.where}"
    if quotation.column == "verdict":
        verdicts = verdicts_of(rows)
        right = len(verdicts) == 1 and verdicts[0] in quotation.quoted
        return None if right else f"{place}: {verdicts}, quoted as {quotation.quoted!r}"
    try:
        value = value_of(quotation, rows)
    except ValueError as error:
        return f"{place}: {error}"
    value *= 100 if " %" in quotation.quoted and quotation.table not in IN_PERCENT else 1
    if not holds(quotation.quoted, value, bound_of(quotation.quoted)):
        return f"{place}: {quotation.column} is {value:.9g}, quoted as {quotation.quoted}"
    counted = rows.get("replicates", rows.get("samples", pd.Series(dtype=str)))
    if "of 100" in quotation.quoted and {*counted} != {"100"}:
        return f"{place}: {quotation.quoted}: not of 100 replicates"
    lacking = unqualified(quotation, rows)
    return f"{place}: {quotation.quoted}: {lacking}" if lacking else None


def main(results: Path) -> int:
    """Print each wrong quotation, and each number or verdict without a quotation."""
    faults = [found for each in quotations() if (found := fault(each, results))]
    faults += [f"{FINDINGS.name}: not in {QUOTED.name}: ... {words} ..." for words in unlisted()]
    faults += [f"{FINDINGS.name}: verdict not in {QUOTED.name}: {row}" for row in unsupported()]
    if faults:
        print("\n".join(faults), file=sys.stderr)
        return 1
    print(f"findings: {len(quotations())} quoted numbers and verdicts agree with the tables")
    return 0


if __name__ == "__main__":
    sys.exit(main(ROOT / "results"))
