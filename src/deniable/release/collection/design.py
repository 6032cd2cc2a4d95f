"""A collection as a release of the config: its design, its description and its answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from deniable.records import Domain, Microdata, attributes_to_json, domain_from_json
from deniable.release import (
    CONVENTION,
    CollectionRelease,
    ReleaseKey,
    described,
    marked,
    spreadsheets,
    texts_of,
)
from deniable.rrba import (
    CollectedTable,
    CollectionDesign,
    collect_answers,
    guaranteed,
    keep_for_epsilon,
    make_views,
)


@dataclass(frozen=True, eq=False)
class _StatedTable(CollectedTable):
    """A table with the epsilon that views.json states."""

    stated: float = 0.0

    @property
    def epsilon(self) -> float:
        """Return the stated epsilon."""
        return self.stated


def design_to_json(design: CollectionDesign, clients: int) -> dict[str, Any]:
    """Return the content of views.json of a `design`, for a number of `clients`."""
    questions: list[dict[str, Any]] = []
    pairs = zip(design.questions, design.clients(clients), strict=True)
    for number, (question, asked) in enumerate(pairs):
        tables = [{"attributes": list(each)} | _stated(design.tables[each]) for each in question]
        said = {"clients": asked, "epsilon_of_a_client": design.client_epsilon(number)}
        questions.append({"question": number + 1} | said | {"tables": tables})
    return {"attributes": attributes_to_json(design.domain), "questions": questions}


def design_from_json(described: Mapping[str, Any]) -> CollectionDesign:
    """Return the design that views.json, as `described`, has."""
    tables, questions = {}, []
    for question in described["questions"]:
        for each in question["tables"]:
            names = tuple(each["attributes"])
            values = each["cells"], each["p"]
            tables[names] = _StatedTable(names, *values, stated=each["epsilon"])
        questions.append(tuple(tuple(each["attributes"]) for each in question["tables"]))
    return CollectionDesign(domain_from_json(described["attributes"]), tuple(questions), tables)


def _stated(table: CollectedTable) -> dict[str, Any]:
    claimed = {"claimed_epsilon": table.claimed_epsilon, "epsilon": table.epsilon}
    return {"cells": table.cells, "p": table.keep} | claimed


def designed(release: CollectionRelease, data: Microdata, key: ReleaseKey) -> dict[str, Any]:
    """Return what the design of a collection leaves: what it says of itself, and its views.

    By the settings `release`. Of the true `data` it looks at domain and number, of the `key` at
    nothing: nothing of it is random.
    """
    design = release_design(release, data.domain)
    return {"release": describe(release, design, data), "views": design_to_json(design, len(data))}


def collected(
    release: CollectionRelease, made: Mapping[str, Any], data: Microdata, key: ReleaseKey
) -> dict[str, pd.DataFrame]:
    """Return what a `release` by the ``views`` it `made` leaves: answers, and who was asked what.

    `data` are the true records, of a client each; the `key` draws.
    """
    design = design_from_json(made["views"])
    design = replace(design, floor=release.floor, block=release.block)
    draws = key.draws({"release": release.stated(), "views": made["views"]})
    answers, clients = collect_answers(design, data, draws)
    answers = in_full(answers, ["p", "fake", "epsilon"])
    return {"collection": marked(answers, release, data), "clients": marked(clients, release, data)}


def release_design(release: CollectionRelease, domain: Domain) -> CollectionDesign:
    """Return the questions of a `release`; of the data only the `domain` enters."""
    own = domain.project(release.attributes or domain.names)
    views, floor, tables = make_views(own.names, release.size), guaranteed(release.floor), {}
    for combination in (each for view in views for each in view):
        cells, keep = own.project(combination).size, release.p
        if keep is None:
            # A table of one cell reveals nothing for any p.
            keep = keep_for_epsilon(cells, release.epsilon or 0.0, floor) if cells > 1 else 0.5
        tables[combination] = CollectedTable(combination, cells, keep, floor)
    singly = tuple((each,) for view in views for each in view)
    questions = views if release.answers == "view" else singly
    return CollectionDesign(own, questions, tables, release.floor, release.block)


def in_full(table: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Return a `table` whose numbers in some `columns` are written with all their digits."""
    return table.assign(**{name: [repr(float(x)) for x in table[name]] for name in columns})


def describe(
    release: CollectionRelease, design: CollectionDesign, data: Microdata
) -> dict[str, Any]:
    """Return what a collection says of itself: parameters, what is claimed, what is proved.

    By the settings `release` and their `design`; of the `data` their number and marks enter.
    """
    of_clients = [design.client_epsilon(number) for number in range(len(design.questions))]
    tables = list(design.tables.values())
    by_cells: dict[int, list[CollectedTable]] = {}
    for table in tables:
        by_cells.setdefault(table.cells, []).append(table)
    answers = design.answers(len(data)).values()
    said = described(release, data.marks.get("data_source", ""))
    said |= spreadsheets(texts_of(design.domain))
    return said | {
        "clients": len(data),
        "blocks": -(-len(data) // release.block),
        "questions": len(design.questions),
        "tables": len(tables),
        "answers_about_a_table": [min(answers), max(answers)],
        "privacy": {
            "unit": "the whole record of one client",
            "epsilon": max(of_clients),
            "smallest_epsilon_of_a_client": min(of_clients),
            "epsilon_of_an_answer": max(table.epsilon for table in tables),
            "claimed_epsilon_of_an_answer": max(table.claimed_epsilon for table in tables),
            "answers_of_a_client": max(map(len, design.questions)),
            "exact": (
                "exact: every table that is sent is uniform"
                if release.floor is None
                else "what the floor guarantees; that of the tables that were sent, at most as "
                "much, stands in collection.csv"
            ),
            "claim": (
                "Theorem 4.1 of [rrba] claims ln(1 / (1 - p)) for an answer, whatever the table; "
                "exactly it is ln(1 + p / ((1 - p) q)), with q the table's smallest cell, and the "
                "answers of a client add up"
            ),
            "not_counted": "nothing: who is asked what, and when, does not depend on the records",
            "by_cells": [
                {"cells": cells, "tables": len(alike)} | _stated(alike[0])
                for cells, alike in sorted(by_cells.items())
            ],
        },
        "convention": CONVENTION,
    }
