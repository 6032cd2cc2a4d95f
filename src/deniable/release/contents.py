"""What stands in a public folder beside the files of its lane: words for readers, and a list."""

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from deniable.errors import DataError
from deniable.files import MARK_OF_FOLDERS, read_json, read_table, sha256, write_text
from deniable.records import Microdata, read_true_records
from deniable.release.entries import counted_epsilon, epsilon_text
from deniable.release.made import epsilon_of
from deniable.release.receipts import SUMS, names_in, sums_of
from deniable.release.settings import AnyRelease, CollectionRelease

README = "README.txt"
WIDTH = 88

MECHANISMS = {
    "rr_independent": "randomized response, each attribute on its own",
    "rr_clusters": "randomized response, clusters of attributes that depend on each other together",
    "rr_joint": "randomized response, all attributes together",
    "rr_epsilon": "randomized response at an epsilon that was asked for",
    "plan": "each column randomized by a plan, which lies beside it",
    "pram": "post-randomization (PRAM): the file's owner passed its categories through matrices",
    "idp": "Laplace noise on numbers, or on centroids of clusters of records",
    "numeric_dp": "noisy histograms, and synthetic records drawn from them",
    "rrba": "tables collected from clients in blocks by randomized response (RRBA)",
}
FILES = {
    "release.json": "what was done, with all parameters; what is promised, and what fails",
    "protected.parquet": "the protected records, with types and categories",
    "protected.csv": "the protected records as text",
    "protected.arrow": "the protected records",
    "plan.json": "what was done to each column: deniable estimate knows by it what reports mean",
    "channels": "the matrices one by one, in the form that the command deniable channel reads",
    "matrices.csv": "all matrices in one table",
    "estimates.csv": "estimates of the true proportions or numbers, with intervals",
    "pairs.csv": "estimates of all two-way tables, with intervals",
    "adjusted_weights.csv": "a weight for each protected record: weighted tables estimate the true",
    "adjustment.json": "how the weights were found",
    "synthetic.parquet": "synthetic records, made from the protected file alone",
    "synthetic.csv": "the same as text",
    "views.json": "which tables clients were asked for, and with which probabilities",
    "collection.csv": "the answers: counts by table and block, with what each block was sent",
    "tables.csv": "estimates of the true tables, with intervals",
    "consistent.csv": "the tables made consistent with each other",
    "margins.csv": "how far the tables disagree about single attributes",
    "two_step.csv": "tables without negative cells, and independent ones",
    "independence.csv": "tests of independence that know the randomization",
    README: "this text",
    SUMS: "the SHA-256 of each file; checked by: sha256sum -c SHA256SUMS",
}


USE = (
    "What may be concluded are statistics of many records, with their intervals; nothing about one "
    "person. Use these files for statistics only, and make no attempt to tell whose a record is. "
    "Protected records may remain personal data: whether a person can still be identified by means "
    "reasonably likely to be used is for whoever answers for them to judge (GDPR, recital 26; "
    "Article 29 Working Party, Opinion 05/2014 on anonymisation techniques). This is no legal "
    "advice."
)
"""What every release asks of its readers."""


def write_contents(release: AnyRelease, public: Path) -> None:
    """Write what people read first of a `release`, and the list of its files with their SHA-256.

    Both go into its folder `public`, with all other files there already.
    """
    write_text(public / README, _readme(release, read_json(public / "release.json"), public))
    names = sorted(_names(public))
    lines = [f"{sha256(public / name)}  {name}\n" for name in names]
    write_text(public / SUMS, "".join(lines))


def _readme(release: AnyRelease, said: dict[str, Any], public: Path) -> str:
    """Return a release in plain words: what it is, what it promises and what not, its files."""
    epsilon = epsilon_of(said)
    shown = epsilon_text(counted_epsilon(epsilon))
    promise = (
        _without_finite(said["privacy"])
        if epsilon == np.inf
        else f"The record of a person has the epsilon {shown}, proved and rounded up: whatever is "
        "reported of it, another record would have been reported so with a probability of at least "
        f"exp(-{shown}) times the same. That is for {said['privacy']['unit']}, as if the "
        f"random numbers were ideal; they are {_random_numbers(release)}."
    )
    about = [
        f"{said['release']}: {MECHANISMS[release.mechanism]}.",
        f"NOTICE: {said['notice']}." if release.rehearsal else "Drawn once, by a key of its own.",
        *(f"WHAT FAILS, {name}: {why}." for name, why in said["fails"].items()),
        promise,
        _reports(said),
        "What is public here besides the protected values, by the owner's decision: the number of "
        "records, the parameters, the names and categories of attributes"
        + (", and what release.json names under not_protected" if _unprotected(said) else "")
        + ".",
        _order(release),
        "All estimates are made from the protected values alone, so that anybody can make them "
        "again, and costs no privacy. Single records are not to be taken as true.",
        USE,
    ]
    present = [name for name in FILES if name in (README, SUMS) or (public / name).exists()]
    width = max(map(len, present)) + 2
    listed = [
        textwrap.fill(
            FILES[name],
            WIDTH,
            initial_indent=name.ljust(width),
            subsequent_indent=" " * width,
        )
        for name in present
    ]
    paragraphs = [textwrap.fill(text, WIDTH) for text in about if text]
    return "\n\n".join([*paragraphs, "\n".join(listed)]) + "\n"


def _without_finite(privacy: Mapping[str, Any]) -> str:
    if "asked_epsilon" not in privacy:
        return "No finite epsilon holds for the record of a person; release.json says why."
    shown = epsilon_text(counted_epsilon(privacy["epsilon"]))
    return (
        f"No finite epsilon holds for the whole record of a person, for the reasons above. What "
        f"was randomized of it has the epsilon {shown}, proved and rounded up."
    )


def _random_numbers(release: AnyRelease) -> str:
    if release.rehearsal:
        return "not: those of a rehearsal follow from its seed"
    return "AES-256 under a secret key, as secure as that is"


def _unprotected(said: dict[str, Any]) -> bool:
    return "not_protected" in said["privacy"]


def _reports(said: dict[str, Any]) -> str:
    if "reports" not in said:
        return ""
    return f"The records are reports: {said['reports']}."


def _order(release: AnyRelease) -> str:
    if isinstance(release, CollectionRelease):
        return ""
    if release.order == "as_in_file":
        return "The records stand in the order of the true file."
    return "The records stand in a random order, and nothing gives their place in the true file."


def refuse_other_files(public: Path) -> None:
    """Hold the folder `public` to its list, and copies as text to the records that they copy.

    Raises
    ------
    DataError
        With a line for each file that is not what is listed, is missing, or is not listed.
    """
    listed = sums_of(public) if (public / SUMS).is_file() else {}
    there = _names(public) | ({SUMS} if (public / SUMS).is_file() else set())
    faults = [f"{public / name}: missing" for name in sorted({SUMS, *listed} - there)]
    faults += [f"{public / name}: not in its list" for name in sorted(there - {SUMS, *listed})]
    faults += [f"{public / name}: a link" for name in listed if (public / name).is_symlink()]
    faults += [
        f"{public / name}: damaged or edited since it was made"
        for name, digest in listed.items()
        if name in there and sha256(public / name) != digest
    ]
    faults += [
        f"{copy}: holds other records than {copy.with_suffix('.parquet').name}"
        for copy in sorted(public.glob("*.csv"))
        if copy.with_suffix(".parquet").exists() and not faults and not _same_records(copy)
    ]
    if faults:
        raise DataError("\n".join([*faults, "restore what was published from a copy"]))


def _names(public: Path) -> set[str]:
    """Return the files of a public folder, but the list."""
    return names_in(public) - {SUMS, MARK_OF_FOLDERS}


def _same_records(copy: Path) -> bool:
    records = read_true_records(copy.with_suffix(".parquet"))
    try:
        if isinstance(records, Microdata):
            attributes = records.domain
            texts = {each.name: (each.categories, records.column(each.name)) for each in attributes}
            return _same_texts(copy, texts)
        texts = {records.class_name: (records.classes, records.labels)} if records.classes else {}
        columns = list(records.names)
        # pandas' own reading of numbers may err in the last digit.
        exactly = dict.fromkeys(columns, float)
        numbers = read_table(copy, usecols=columns, converters=exactly)[columns].to_numpy(float)
    except ValueError:  # a column is missing, or no column of numbers
        return False
    return np.array_equal(numbers, records.values) and _same_texts(copy, texts)


def _same_texts(copy: Path, texts: Mapping[str, tuple[Sequence[str], Any]]) -> bool:
    """Return whether columns of a copy have these categories, by their codes."""
    read = read_table(copy, usecols=list(texts), dtype=str).fillna("")
    return all(
        np.array_equal(np.array(categories, dtype=object)[codes], read[name].to_numpy())
        for name, (categories, codes) in texts.items()
    )
