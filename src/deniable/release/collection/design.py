"""A collection of tables by RRBA ([rrba]): what is asked of whom, and the answers.

The file is taken for clients, a record each. Every client is asked one question, a view or one
table, and answers through the channel P = p I + (1 - p) 1 q' with the table q that its block is
sent. This is the protocol of `deniable.rrba.protocol`, with the answers of a block drawn at once:
the same distribution, and nothing else reads true values.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from deniable.arrays import Counts, Floats, Positions
from deniable.channels import rounded_up
from deniable.errors import DeniableError
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
    Combination,
    Rule,
    TableState,
    View,
    answer_epsilon,
    claimed_epsilon,
    floor_epsilon,
    keep_for_epsilon,
    make_views,
    table_channel,
)
from deniable.sampling import KeyedDraws

ROUNDING = 1e-12
"""By which share a table's floats may undercut its floor; the epsilons that are stated allow it."""
BETWEEN = " x "


@dataclass(frozen=True, eq=False)
class AskedTable:
    """A table of `attributes`, of so many `cells`, that is collected.

    A true answer is kept with the probability `keep`, p. `epsilon` is that of one answer, whatever
    table is sent: exact if tables stay uniform, else what the floor guarantees. Rounded up.
    """

    attributes: Combination
    cells: int
    keep: float
    epsilon: float

    @property
    def claimed_epsilon(self) -> float:
        """What Theorem 4.1 of [rrba] says of one answer; it does not hold."""
        return claimed_epsilon(self.keep) if self.cells > 1 else 0.0

    def to_json(self) -> dict[str, Any]:
        """Return size, probability and epsilons in plain values."""
        claimed = {"claimed_epsilon": self.claimed_epsilon, "epsilon": self.epsilon}
        return {"cells": self.cells, "p": self.keep} | claimed


@dataclass(frozen=True, eq=False)
class CollectionDesign:
    """What a collection asks.

    A question, to one client, is of the combinations of a view, or of a single one; the table of
    each combination is collected.

    Attributes
    ----------
    domain : Domain
    questions : tuple of View
    tables : mapping of Combination to AskedTable
    """

    domain: Domain
    questions: tuple[View, ...]
    tables: Mapping[Combination, AskedTable]

    def client_epsilon(self, question: int) -> float:
        """Return epsilon of a client's record asked a `question`, by its number; rounded up.

        The sum over its answers.

        Combinations of a view share no attribute, so that some two records are at each table's
        worst at once: the sum is exact where the epsilons of the answers are.
        """
        epsilons = [Fraction(self.tables[each].epsilon) for each in self.questions[question]]
        return rounded_up(sum(epsilons, Fraction(0)))

    def answers(self, clients: int) -> dict[Combination, int]:
        """Return how many of so many `clients` are asked each combination."""
        return {
            combination: number
            for number, question in zip(self.clients(clients), self.questions, strict=True)
            for combination in question
        }

    def clients(self, clients: int) -> list[int]:
        """Return how many of so many `clients` are asked each question: as equal as can be."""
        whole, left = divmod(clients, len(self.questions))
        return [whole + (number < left) for number in range(len(self.questions))]

    def to_json(self, clients: int) -> dict[str, Any]:
        """Return the content of views.json, for so many `clients`."""
        pairs = zip(self.questions, self.clients(clients), strict=True)
        questions: list[dict[str, Any]] = []
        for number, (question, asked) in enumerate(pairs):
            tables = [{"attributes": list(e)} | self.tables[e].to_json() for e in question]
            said = {"clients": asked, "epsilon_of_a_client": self.client_epsilon(number)}
            questions.append({"question": number + 1} | said | {"tables": tables})
        return {"attributes": attributes_to_json(self.domain), "questions": questions}

    @classmethod
    def from_json(cls, described: Mapping[str, Any]) -> "CollectionDesign":
        """Return the design that views.json, as `described`, has."""
        tables, questions = {}, []
        for question in described["questions"]:
            for each in question["tables"]:
                names = tuple(each["attributes"])
                tables[names] = AskedTable(names, each["cells"], each["p"], each["epsilon"])
            questions.append(tuple(tuple(each["attributes"]) for each in question["tables"]))
        return cls(domain_from_json(described["attributes"]), tuple(questions), tables)


def designed(release: CollectionRelease, data: Microdata, key: ReleaseKey) -> dict[str, Any]:
    """Return what the design of a collection leaves: what it says of itself, and its views.

    By the settings `release`. Of the true `data` it looks at domain and number, of the `key` at
    nothing: nothing of it is random.
    """
    design = design_collection(release, data.domain)
    return {"release": describe(release, design, data), "views": design.to_json(len(data))}


def collected(
    release: CollectionRelease, made: Mapping[str, Any], data: Microdata, key: ReleaseKey
) -> dict[str, pd.DataFrame]:
    """Return what a `release` by the ``views`` it `made` leaves: answers, and who was asked what.

    `data` are the true records, of a client each; the `key` draws.
    """
    design = CollectionDesign.from_json(made["views"])
    # Views do not say how blocks are formed, nor what tables follow them.
    draws = key.draws({"release": release.stated(), "views": made["views"]})
    rule = rule_of(release.floor)
    answers, clients = collect_answers(design, data, draws, block=release.block, rule=rule)
    answers = in_full(answers, ["p", "fake", "epsilon"])
    return {"collection": marked(answers, release, data), "clients": marked(clients, release, data)}


def design_collection(release: CollectionRelease, domain: Domain) -> CollectionDesign:
    """Return what a collection asks: views, the probabilities of true answers, their epsilons.

    By the settings `release`; of the data nothing but the `domain` enters.
    """
    own = domain.project(release.attributes or domain.names)
    views = make_views(own.names, release.size)
    floor = 1.0 if release.floor is None else release.floor * (1 - ROUNDING)
    tables = {}
    for combination in (each for view in views for each in view):
        cells = own.project(combination).size
        keep = release.p
        if keep is None:
            # A table of one cell tells nothing, whatever p is.
            wanted = release.epsilon or 0.0
            keep = keep_for_epsilon(cells, wanted, floor) if cells > 1 else 0.5
        epsilon = floor_epsilon(cells, keep, floor)
        tables[combination] = AskedTable(combination, cells, keep, epsilon)
    singly = tuple((each,) for view in views for each in view)
    return CollectionDesign(own, views if release.answers == "view" else singly, tables)


def rule_of(floor: float | None) -> Rule:
    """Return how the tables of the next block are made: uniform without a `floor`."""
    return Rule("none") if floor is None else Rule("pooled", "projected", floor)


def collect_answers(
    design: CollectionDesign, data: Microdata, draws: KeyedDraws, *, block: int, rule: Rule
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Ask every client its question of a `design`, block by block.

    Clients are asked in a random order, and questions go round in this order: those who are asked
    a question are a simple random sample of the file, and questions differ by at most one client.
    A `block` of clients is sent the same tables, which follow by a `rule` from the answers before.
    The true records, `data`, leave through the channels only, by `draws` of the release's key.

    Returns
    -------
    collection : DataFrame
        ``attributes``, ``block``, ``categories``, ``p``, ``fake`` (q, the probability of the cell
        among fake answers), ``epsilon`` (of an answer about this table, exact, rounded up) and
        ``reports``.
    clients : DataFrame
        ``client`` (the number of the record, from 1), ``block`` and ``question``.
    """
    number, asked = len(data), len(design.questions)
    if number < asked:
        raise DeniableError(
            f"{number} clients for {asked} questions; name fewer attributes, or collect from more"
        )
    order = np.argsort(draws.column(["order of clients"], number).words(64), kind="stable")
    place = np.empty(number, dtype=np.int64)
    place[order] = np.arange(number)
    of_clients = {"block": place // block + 1, "question": place % asked + 1}
    clients = pd.DataFrame({"client": np.arange(1, number + 1)} | of_clients)
    states = {each: TableState.uniform(table.cells) for each, table in design.tables.items()}
    parts = []
    for turn, start in enumerate(range(0, number, block), start=1):
        places = np.arange(start, min(start + block, number))
        for question in np.unique(places % asked).tolist():
            records = order[places[places % asked == question]]
            for combination in design.questions[question]:
                table, state = design.tables[combination], states[combination]
                reports = _reports(design, table, state, data, records, draws)
                parts.append((table, turn, state.table, reports))
                states[combination] = state.updated(reports, table.keep, rule)
    return _collection_table(design, parts), clients


def _reports(
    design: CollectionDesign,
    table: AskedTable,
    state: TableState,
    data: Microdata,
    records: Positions,
    draws: KeyedDraws,
) -> Counts:
    """Return the counts of a block's answers: the one place where true values are read."""
    codes = [data.column(name)[records] for name in table.attributes]
    true = design.domain.project(table.attributes).ravel(codes)
    channel = table_channel(state.table, table.keep)
    reported = channel.report(true, draws, table.attributes, records)
    return np.bincount(reported, minlength=table.cells)


def _collection_table(
    design: CollectionDesign, parts: Sequence[tuple[AskedTable, int, Floats, Counts]]
) -> pd.DataFrame:
    names = {each: design.domain.project(each).cell_labels() for each in design.tables}
    sizes = [table.cells for table, *_ in parts]
    epsilons = [
        answer_epsilon(sent, table.keep) if table.cells > 1 else 0.0 for table, _, sent, _ in parts
    ]
    return pd.DataFrame(
        {
            "attributes": np.repeat([BETWEEN.join(t.attributes) for t, *_ in parts], sizes),
            "block": np.repeat([block for _, block, *_ in parts], sizes),
            "categories": np.concatenate([names[table.attributes] for table, *_ in parts]),
            "p": np.repeat([table.keep for table, *_ in parts], sizes),
            "fake": np.concatenate([sent for _, _, sent, _ in parts]),
            "epsilon": np.repeat(epsilons, sizes),
            "reports": np.concatenate([reports for *_, reports in parts]),
        }
    )


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
    by_cells: dict[int, list[AskedTable]] = {}
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
                {"cells": cells, "tables": len(alike)} | alike[0].to_json()
                for cells, alike in sorted(by_cells.items())
            ],
        },
        "convention": CONVENTION,
    }
