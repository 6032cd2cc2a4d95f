"""Write the documents of a public folder: plan.json, README.txt and SHA256SUMS."""

import math
import re
import textwrap
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from deniable.files import sha256, write_json, write_text
from deniable.plans import Plan
from deniable.records import shortened
from deniable.release.counting import counted_epsilon, epsilon_text
from deniable.release.receipts import SUMS, names_in
from deniable.schema import Schema

README, PLAN = "README.txt", "plan.json"
WIDTH = 88

TEST_NOTICE = "TEST RELEASE: drawn from a known seed, so it protects nobody; do not publish it"
SEED_NOTICE = "TEST RELEASE: anybody with the seed can undo its protection; do not publish it"
"""The notice of a test release of an own file, in the first line of its readme."""
PRODUCTION_NOTICE = "drawn once, by a secret key of its own"
USE = (
    "Use these files only for statistics of many records, with their confidence intervals. Draw no "
    "conclusion about a single person, and do not try to re-identify anybody. Protected records "
    "may remain personal data. The data owner judges whether a person can still be identified by "
    "means reasonably likely to be used (GDPR, recital 26; Article 29 Working Party, Opinion "
    "05/2014 on anonymisation techniques). This text is not legal advice."
)
"""Conditions of use in every release."""
RANDOM_NUMBERS = (
    "Epsilons hold for ideal random numbers. The numbers here come from AES-256 under the secret "
    "key of the release. So epsilons hold against everybody who cannot distinguish these numbers "
    "from ideal ones."
)
CLIENTS = (
    "Clients randomized their answers themselves. Epsilons hold for ideal random numbers; theirs "
    "come from the operating systems of their devices."
)
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
    test, ledger = release["mode"] == "test", release.get("ledger")
    counted = ""
    if ledger is not None:
        counted = (
            f"This is release {ledger['entry']} of the population {plan.schema.population}. The "
            f"total epsilon of its releases so far is {ledger['total']}."
        )
    notice = f"{release['notice']}." if test else ""
    first = release["notice"] == SEED_NOTICE
    paragraphs = [
        notice if first else "",
        f"Release {release['name']}: randomized values of {release['records']:,} records.",
        f"NOTICE: {notice}" if notice and not first else "",
        *(f"RISK, {name}: {why}." for name, why in plan.risks.items()),
        *(
            f"NOT COVERED by epsilon: {text}."
            for text in plan.not_covered
            if text not in plan.risks.values()
        ),
        *_promises(plan),
        {"test": "", "clients": CLIENTS}.get(release["mode"], RANDOM_NUMBERS),
        counted,
        SURROGATE if release["data_source"] == "surrogate" else "",
        plan.about_rows,
        _formulas(plan.schema),
        "Besides the protected values, the data owner publishes the number of records, the "
        "mechanism and its parameters, and the names and categories of columns. Estimates from "
        "this folder use no privacy budget, and everybody can repeat them: deniable estimate "
        "FOLDER.",
        USE,
    ]
    known = {
        f"{plan.protected_name}.{plan.schema.file.protected.kind}": "the protected values",
        PLAN: "the mechanism of each column, all guarantees, and the facts of this release",
        README: "this text",
        SUMS: "the SHA-256 of each file; check them by: sha256sum -c SHA256SUMS",
    }
    contents = dict.fromkeys(sorted(names_in(public) - {README, SUMS}), "further protected values")
    contents |= known
    width = max(map(len, contents)) + 2
    listed = [
        textwrap.fill(
            text,
            WIDTH,
            break_on_hyphens=False,
            initial_indent=name.ljust(width),
            subsequent_indent=" " * width,
        )
        for name, text in contents.items()
    ]
    filled = [textwrap.fill(text, WIDTH, break_on_hyphens=False) for text in paragraphs if text]
    return "\n\n".join([*filled, "\n".join(listed)]) + "\n"


def _promises(plan: Plan) -> Iterator[str]:
    for guarantee in plan.guarantees:
        conditions = " ".join(f"Condition: {text}" for text in guarantee.conditions)
        if math.isinf(guarantee.epsilon):
            yield f"No finite epsilon is proved for {guarantee.unit}. {conditions}".strip()
            continue
        shown = epsilon_text(counted_epsilon(guarantee.epsilon))
        yield (
            f"Epsilon of {guarantee.unit}: {shown}, proved and rounded up. If its original values "
            "were different, each randomized result would have at least "
            f"exp(-{shown}) times the probability. {conditions}"
        ).strip()


def _formulas(schema: Schema) -> str:
    columns = [each for each in schema.columns if each.kind != "left_out"]
    texts = [text for each in columns for text in (each.name, *each.categories)]
    if not (found := [text for text in dict.fromkeys(texts) if FORMULA.match(text)]):
        return ""
    shown = ", ".join(map(shortened, found[:5])) + (", ..." if len(found) > 5 else "")
    paragraph = SPREADSHEETS.format(shown)
    warnings.warn(paragraph, stacklevel=2)
    return paragraph
