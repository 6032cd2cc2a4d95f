"""Write the documents of a public folder: plan.json, README.txt and SHA256SUMS."""

import math
import re
import textwrap
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import Template
from typing import Any

from deniable.files import sha256, write_json, write_text
from deniable.plans import Guarantee, Plan
from deniable.records import shortened
from deniable.release.counting import counted_epsilon, epsilon_text
from deniable.release.receipts import SUMS, names_in
from deniable.release.shuffled import fold_text, statement_of_file
from deniable.schema import Schema

README, PLAN = "README.txt", "plan.json"
TEMPLATE = "templates/readme.txt"
WIDTH = 88

TEST_NOTICE = "TEST RELEASE: drawn from a known seed, so it protects nobody; do not publish it"
SEED_NOTICE = "TEST RELEASE: anybody with the seed can undo its protection; do not publish it"
"""The notice of a test release of an own file, in the first line of its readme."""
PRODUCTION_NOTICE = "drawn once, by a secret key of its own"
RANDOM_NUMBERS = (
    "Epsilons hold for ideal random numbers. The numbers here come from AES-256 under the secret "
    "key of the release. So epsilons hold against everybody who cannot distinguish these numbers "
    "from ideal ones."
)
CLIENTS = (
    "Clients randomized their answers themselves. Epsilons hold for ideal random numbers; theirs "
    "come from the operating systems of their devices."
)
OWNER_TRUST = (
    "the data owner has the original records and is trusted with them. Nobody who receives this "
    "folder is trusted, with any other knowledge and any computer."
)
CLIENTS_TRUST = "clients trust nobody with their answers, which they randomized themselves."
MAX_SHOWN, MAX_SIZE = 8, 1000  # channels that the text names, and categories of their matrices
SURROGATE = (
    "The original records are a surrogate: a model drew them in place of a data set that was not "
    "available."
)
FORMULA = re.compile(r"[=@\t\r]|[+-](?![0-9][0-9.,]*$)")
"""Beginnings of texts that spreadsheet programs take for formulas; numbers do not match."""
SPREADSHEETS = (
    "Some names or categories begin like formulas of spreadsheet programs ({}). A program that "
    "opens a CSV file of this release may compute them, so import its columns as text. The values "
    "are unchanged, because with a character in front they would be other categories."
)


def write_documents(plan: Plan, document: Mapping[str, Any], public: Path) -> None:
    """Write plan.json, the `document` of the `plan`, a readme and SHA256SUMS into `public`."""
    write_json(public / PLAN, dict(document))
    write_text(public / README, _readme(plan, document["release"], public))
    names = sorted(names_in(public) - {SUMS})
    write_text(public / SUMS, "".join(f"{sha256(public / name)}  {name}\n" for name in names))


def _readme(plan: Plan, release: Mapping[str, Any], public: Path) -> str:
    """Return the text of ``templates/readme.txt``: its blocks, filled, without empty ones."""
    fields = _fields(plan, release) | {"files": _list_of_files(plan, public)}
    text = Template((Path(__file__).parent / TEMPLATE).read_text("utf-8")).substitute(fields)
    blocks = (block.rstrip() for block in text.split("\n\n"))
    return "\n\n".join(_filled(block) for block in blocks if block) + "\n"


def _filled(block: str) -> str:
    if block.startswith("    ") or "\n" in block:  # code, and the list of files
        return block.lstrip("\n")
    return textwrap.fill(block, WIDTH, break_on_hyphens=False)


def _fields(plan: Plan, release: Mapping[str, Any]) -> dict[str, str]:
    mode, ledger = release["mode"], release.get("ledger")
    notice = f"{release['notice']}." if mode == "test" else ""
    first = release["notice"] == SEED_NOTICE
    names, unchanged = (c.name for c in plan.schema.randomized), {*plan.strata, *plan.passed}
    uncovered = [text for text in plan.not_covered if text not in plan.risks.values()]
    counted = "No ledger counts this folder."
    if ledger is not None:
        counted = (
            f"This is release {ledger['entry']} of the population {plan.schema.population}. The "
            f"total epsilon of its releases so far is {ledger['total']}."
        )
    paragraphs = {
        "risks": [
            *(f"RISK, {name}: {why}." for name, why in plan.risks.items()),
            *(f"NOT COVERED by epsilon: {text}." for text in uncovered),
        ],
        "promises": _promises(plan),
    }
    fields = {
        "first_notice": notice if first else "",
        "name": release["name"],
        "records": f"{release['records']:,}",
        "notice": f"NOTICE: {notice}" if notice and not first else "",
        "spreadsheets": _formulas(plan.schema),
        "columns": shortened(", ".join(each for each in names if each not in unchanged)),
        "source": SURROGATE if release["data_source"] == "surrogate" else "",
        "rows": _about_rows(plan),
        "statement": _statement(plan),
        "statement_of_file": statement_of_file(plan, release.get("shuffled")),
        "changed": _changed(plan),
        "unit": plan.guarantees[0].unit,
        "trust": CLIENTS_TRUST if mode == "clients" else OWNER_TRUST,
        "counted": counted,
        "random": {"test": "", "clients": CLIENTS}.get(mode, RANDOM_NUMBERS),
    }
    single = {name: " ".join(text.split()) for name, text in fields.items()}
    lines = {n: "\n\n".join(" ".join(x.split()) for x in own) for n, own in paragraphs.items()}
    tables = plan.channels() or plan.unverifiable or not plan.of_records
    method, of = ("margins", "value") if tables else ("numbers", "statistic")
    return single | lines | {"method": method, "of": of}


def _about_rows(plan: Plan) -> str:
    if not plan.of_records:
        return "Each row is a number of answers, by block, table and cell; there are no records."
    if plan.order == "as_in_file":
        return "The rows have the order of the original file."
    return "The rows have a random order, which does not reveal their place in the original file."


def _list_of_files(plan: Plan, public: Path) -> str:
    known = {
        f"{plan.protected_name}.{plan.schema.file.protected.kind}": "the protected values",
        PLAN: "the mechanism of each column, all guarantees, and the facts of this release",
        README: "this text",
        SUMS: "the SHA-256 of each file; check them by: sha256sum -c SHA256SUMS",
    }
    contents = dict.fromkeys(sorted(names_in(public) - {README, SUMS}), "further protected values")
    contents |= known
    if "matrices.csv" in contents:
        large = f"; too large: {', '.join(plan.large_blocks)}" if plan.large_blocks else ""
        contents["matrices.csv"] = f"transition matrices and their left inverses{large}"
    width = max(map(len, contents)) + 2
    return "\n".join(
        textwrap.fill(
            text,
            WIDTH,
            break_on_hyphens=False,
            initial_indent=name.ljust(width),
            subsequent_indent=" " * width,
        )
        for name, text in contents.items()
    )


def _statement(plan: Plan) -> str:
    """Return the statement of a row or, if values are not randomized row by row, of the unit."""
    if math.isinf(plan.epsilon):
        return f"No statement holds for {plan.unit}, because no finite epsilon is proved for it."
    shown = epsilon_text(counted_epsilon(plan.epsilon))
    fold = f"at most {fold_text(plan.epsilon)}-fold (epsilon = {shown})."
    covered = " It does not cover the disclosures named above as risks or as not covered."
    end = fold + (covered if plan.not_covered else "")
    if plan.row_by_row and {*plan.unchanged_groups} <= {*plan.strata}:
        return (
            "Statement of one row, for respondents: whatever somebody knows, even which row is "
            "yours, replacing your answers changes the probability of any content of that row "
            f"{end}"
        )
    return (
        f"Statement of {plan.unit}: whatever somebody knows, replacing its values changes the "
        f"probability of any content of this folder {end}"
    )


def _changed(plan: Plan) -> str:
    """Return the proportion of values that a `plan` replaces, if categories are equally frequent.

    It is 1 - trace(P) / size for each channel, and follows from the plan alone.
    """
    texts = []
    for name, channel in plan.channels().items():
        if channel.returns_categories and channel.size <= MAX_SIZE:
            proportion = 1 - float(channel.matrix().trace()) / channel.size
            texts.append(f"{100 * proportion:.0f} of 100 values of {name}")
    if not texts:
        return (
            "Most randomized values differ from the original ones, or are values of another kind."
        )
    more = f", and so on for {len(texts) - MAX_SHOWN} more" if len(texts) > MAX_SHOWN else ""
    return (
        f"By design, if all categories are equally frequent, another value replaces "
        f"{', '.join(texts[:MAX_SHOWN])}{more}."
    )


def _promises(plan: Plan) -> Iterator[str]:
    for guarantee in plan.guarantees:
        meaning = " ".join(f"Condition: {text}" for text in guarantee.conditions)
        if math.isfinite(guarantee.epsilon):
            meaning = (
                "If its original values were different, each randomized result would have at least "
                f"exp(-{epsilon_text(counted_epsilon(guarantee.epsilon))}) times the probability. "
            ) + meaning
        yield f"{epsilon_line(guarantee)} {meaning}".strip()


def epsilon_line(guarantee: Guarantee) -> str:
    """Return the sentence on the epsilon of a `guarantee`, which later versions keep as it is."""
    if math.isinf(guarantee.epsilon):
        return f"No finite epsilon is proved for {guarantee.unit}."
    shown = epsilon_text(counted_epsilon(guarantee.epsilon))
    return f"Epsilon of {guarantee.unit}: {shown}, proved and rounded up."


def _formulas(schema: Schema) -> str:
    columns = [each for each in schema.columns if each.kind != "left_out"]
    texts = [text for each in columns for text in (each.name, *each.categories)]
    if not (found := [text for text in dict.fromkeys(texts) if FORMULA.match(text)]):
        return ""
    shown = ", ".join(map(shortened, found[:5])) + (", ..." if len(found) > 5 else "")
    paragraph = SPREADSHEETS.format(shown)
    warnings.warn(paragraph, stacklevel=2)
    return paragraph
