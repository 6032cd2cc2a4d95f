"""Secure sums between processes: exact totals, secrecy by enumeration, refusals, clusters."""

import itertools
import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.randomized_response.test_secure_sums import Scripted

import deniable
from deniable.errors import DeniableError
from deniable.plans import (
    ColumnsPlan,
    PlanInputs,
    clusters_from,
    count_cells,
    plan_from_json,
    plan_to_json,
    settings_from,
)
from deniable.randomized_response import (
    SumMessage,
    add_messages,
    empty_sum,
    share_counts,
    summed_tables,
)
from deniable.records import Attribute, Domain
from deniable.sampling import SystemRandomSource
from deniable.schema import RecordsFile, schema_from_dict

ONE_CELL = Domain((Attribute("a", ("x",)), Attribute("b", ("y",))))
SHAPE = {"sex": ("F", "M"), "grade": ("low", "mid", "high"), "town": ("a", "b")}
SCHEMA = schema_from_dict(
    {
        "format": "deniable-schema",
        "version": 1,
        "population": "people",
        "file": {"kind": "arrow"},
        "columns": [
            {"name": name, "kind": "categorical", "categories": list(values)}
            for name, values in SHAPE.items()
        ],
    }
)
DOMAIN = SCHEMA.domain()
TERMS = empty_sum(DOMAIN, "may", 3)
SYSTEM = SystemRandomSource()


def survey(records: int, seed: int = 1) -> pd.DataFrame:
    """Return records in which grade depends on sex, and town on nothing."""
    draw = np.random.default_rng(seed)
    codes = draw.integers(0, 2, records)
    grade = np.where(draw.random(records) < 0.7, codes, 2)
    columns = (codes, grade, draw.integers(0, 2, records))
    named = zip(SHAPE.items(), columns, strict=True)
    return pd.DataFrame({name: np.array(values)[own] for (name, values), own in named})


def opened(frame: pd.DataFrame) -> RecordsFile:
    return RecordsFile.open(frame, SCHEMA)


def counts_of(frame: pd.DataFrame) -> list[Any]:
    parts = [DOMAIN.project(pair) for pair in TERMS.tables]
    return count_cells(parts, opened(frame).portions())


def partial_sums(shares: Sequence[Sequence[SumMessage]]) -> list[SumMessage]:
    return [add_messages(own) for own in zip(*shares, strict=True)]


def shares_of(frame: pd.DataFrame) -> list[list[SumMessage]]:
    files = [frame.iloc[number::3] for number in range(3)]
    return [
        list(share_counts(TERMS, n, counts_of(f), SYSTEM)) for n, f in enumerate(files, start=1)
    ]


def test_the_total_is_the_count_of_all_files() -> None:
    frame = survey(500)
    total = add_messages(partial_sums(shares_of(frame)))
    tables = summed_tables(SumMessage.read(total.model_dump_json(), "here"), DOMAIN)
    direct = counts_of(frame)
    assert [table.ravel().tolist() for table in tables.values()] == [e.tolist() for e in direct]
    assert list(tables) == [("sex", "grade"), ("sex", "town"), ("grade", "town")]


TINY = empty_sum(ONE_CELL, "tiny", 3, modulus=4)


def tiny_shares(party: int, count: int, draws: Sequence[int]) -> list[SumMessage]:
    return list(share_counts(TINY, party, [np.array([count])], Scripted(draws)))


def all_shares(party: int, count: int) -> list[list[int]]:
    """Return the three shares of a party in one cell, modulo 4, for all 4^2 draws."""
    every = itertools.product(range(4), repeat=2)
    return [[each.values[0] for each in tiny_shares(party, count, draws)] for draws in every]


def views(counts: Sequence[int], coalition: Sequence[int]) -> Counter[tuple[int, ...]]:
    """Return how many of 4^6 draws give a coalition each view: its shares and partial sums."""
    every = itertools.product(*itertools.starmap(all_shares, enumerate(counts, 1)))
    shares = np.array(list(every))  # draw, sender, receiver
    sums = shares.sum(axis=1) % 4
    assert (sums.sum(axis=1) % 4 == sum(counts)).all()
    seen = (shares[:, coalition], shares[:, :, coalition], sums)
    rows = np.concatenate([each.reshape(len(shares), -1) for each in seen], axis=1)
    return Counter(map(tuple, rows.tolist()))


def test_what_a_coalition_learns_by_enumeration() -> None:
    # Nobody's and one party's view have one distribution for equal sums of the others.
    for coalition in ([], [0]):
        assert views((0, 1, 0), coalition) == views((0, 0, 1), coalition)
        assert views((1, 1, 0), coalition) == views((1, 0, 1), coalition)
        assert not views((0, 0, 1), coalition).keys() & views((0, 1, 1), coalition).keys()
    # The n - 1 others know the last one's count: the views have no common value.
    assert not views((0, 1, 0), [0, 1]).keys() & views((0, 1, 1), [0, 1]).keys()
    # No n - 1 of the n shares of a party depend on its count.
    for left_out in range(3):
        seen = [
            Counter(tuple(np.delete(own, left_out)) for own in all_shares(1, count))
            for count in (0, 1)
        ]
        assert seen[0] == seen[1]
        assert set(seen[0].values()) == {1}  # uniform


def test_by_hand() -> None:
    # Modulo 4: shares (1, 2, 2), (3, 3, 2), (0, 1, 0) in rows; columns sum to 0, 2, 0.
    scripts = ((1, 1, (1, 2)), (2, 0, (3, 3)), (3, 1, (0, 1)))
    sums = partial_sums(list(itertools.starmap(tiny_shares, scripts)))
    assert [each.values for each in sums] == [[0], [2], [0]]
    assert add_messages(sums).values == [2]


def test_no_epsilon_is_finite_since_neighbours_have_other_totals() -> None:
    cells = list(itertools.product(*SHAPE.values()))
    rest = [cells[0], cells[5]]
    totals = {
        tuple(np.concatenate(counts_of(pd.DataFrame([*rest, own], columns=[*SHAPE]))))
        for own in cells
    }
    assert len(totals) == len(cells)  # so the odds of two neighbours are 1 : 0


# -- errors, aborts and liars ----------------------------------------------------------------------

SHARES = shares_of(survey(60))
FIRST = [own[0] for own in SHARES]
OTHER = empty_sum(DOMAIN, "june", 3)
FEWER = empty_sum(DOMAIN, "may", 3, [("sex", "town")])
RENAMED = empty_sum(
    Domain((Attribute("sex", ("F", "X")), DOMAIN["grade"], DOMAIN["town"])), "may", 3
)


def changed(message: SumMessage, terms: SumMessage = TERMS, **other: Any) -> SumMessage:
    fields = ("session", "parties", "tables", "agreed")
    return message.model_copy(update={name: getattr(terms, name) for name in fields} | other)


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        ([], "no message came from party 1"),
        (FIRST[:2], "no message came from party 3; wait for it"),
        ([FIRST[0], FIRST[2]], "no message came from party 2"),
        ([*FIRST, FIRST[1]], "session may: the share to party 1 from party 2 is repeated"),
        ([*FIRST[:2], SHARES[2][1]], "share to party 2 from party 3 has receiver 2, and .* 1"),
        ([*FIRST[:2], changed(FIRST[2], OTHER)], "the share .* from party 3 has session 'june'"),
        ([*FIRST[:2], changed(FIRST[2], FEWER)], "party 3 has tables "),
        ([*FIRST[:2], changed(FIRST[2], RENAMED)], "party 3 has agreed '"),
        ([*FIRST[:2], changed(FIRST[2], parties=4)], "party 3 has parties 4, and"),
        ([*FIRST[:2], changed(FIRST[2], values=[1])], "from party 3 is repeated or malformed"),
    ],
)
def test_a_message_that_does_not_belong_is_named(messages: list[SumMessage], said: str) -> None:
    with pytest.raises(DeniableError, match=said):
        add_messages(messages)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"values": [-1]}, r"values\[0\]: -1; allowed: at least 0"),
        ({"values": [2**53]}, "a party or a value is too large for the session"),
        ({"sender": 4}, "a party or a value is too large"),
        ({"values": "1"}, "values: '1'; allowed: a list"),
        ({"more": 1}, "more: unknown option"),
        ({"version": 2}, "version: 2; allowed: 1"),
    ],
)
def test_a_malformed_line_is_named(change: dict[str, Any], said: str) -> None:
    line = json.dumps(FIRST[0].model_dump() | change)
    with pytest.raises(DeniableError, match=f"^f, line 2: not a message .*{said}"):
        SumMessage.read(line, "f, line 2")


def test_what_a_liar_can_do_and_what_is_noticed() -> None:
    def total(liar: list[Any]) -> SumMessage:
        shares = [list(share_counts(TERMS, 1, liar, SYSTEM)), *SHARES[1:]]
        return add_messages(partial_sums(shares))

    true = counts_of(survey(60).iloc[0::3])
    summed_tables(total(true), DOMAIN)
    wrong = SHARES[0][1].model_copy(update={"values": SHARES[1][1].values})
    lost = add_messages(partial_sums([[SHARES[0][0], wrong, SHARES[0][2]], *SHARES[1:]]))
    with pytest.raises(DeniableError, match="impossible counts; a party sent wrong shares"):
        summed_tables(lost, DOMAIN)
    more, moved = [each.copy() for each in true], [each.copy() for each in true]
    more[0][0] += 1
    with pytest.raises(DeniableError, match="'sex' and 'town': the counts add up to 60, but 61"):
        summed_tables(total(more), DOMAIN)
    moved[0][[0, 5]] += (-1, 1)
    with pytest.raises(DeniableError, match=r"sex 'F': .* a party gave another answer in one"):
        summed_tables(total(moved), DOMAIN)
    summed_tables(total([2 * each for each in true]), DOMAIN)  # another file: not noticed


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: empty_sum(DOMAIN, "may", 2), "parties: 2; allowed: at least 3"),
        (lambda: empty_sum(DOMAIN, "a b", 3), "session: 'a b'; allowed: letters"),
        (lambda: empty_sum(DOMAIN, "may", 3, [("sex", "sex")]), "tables of two columns"),
        (lambda: empty_sum(DOMAIN, "may", 3, [("sex", "town")] * 2), "each table once"),
        (lambda: empty_sum(DOMAIN, "may", 300_000), "exceed 3,000,000 shares in memory"),
        (lambda: empty_sum(DOMAIN, "may", 3, [("sex", "age")]), "no attribute 'age'"),
        (lambda: next(share_counts(TERMS, 4, counts_of(survey(3)), SYSTEM)), "party 1 to 3"),
        (lambda: next(share_counts(TERMS, 1, [np.array([2 * 10**9])], SYSTEM)), "at most 1,0"),
        (lambda: summed_tables(FIRST[0], DOMAIN), "is not a total for the columns"),
        (lambda: summed_tables(RENAMED, DOMAIN), "is not a total for the columns"),
    ],
)
def test_impossible_sums_are_refused(call: Any, said: str) -> None:
    with pytest.raises(DeniableError, match=said):
        call()


# -- clusters from the total -----------------------------------------------------------------------


def test_a_plan_takes_clusters_from_the_total_and_says_so(tmp_path: Any) -> None:
    frame, file = survey(900), tmp_path / "total.json"
    file.write_text(add_messages(partial_sums(shares_of(frame))).model_dump_json())
    clusters = {"from": "secure_sum", "total": str(file), "t_v": 6, "t_d": 0.3}
    options = settings_from({"kind": "columns", "epsilon": 3.0, "clusters": clusters})
    assert (options.files, options.releases, options.reads_records) == ((str(file),), (), False)
    with pytest.raises(DeniableError, match=r"exact tables of a secure sum.* --accept chosen_by_d"):
        options.plan(PlanInputs(SCHEMA))
    plan = options.plan(PlanInputs(SCHEMA, accept=("chosen_by_data",)))
    assert plan.chosen_from == "the data, by a secure sum"
    assert "no epsilon covers these tables" in plan.not_covered[0]
    assert plan.guarantees[0].conditions
    values = plan_to_json(plan)
    assert plan_to_json(plan_from_json(values)) == values
    assert isinstance(plan, ColumnsPlan)
    found = tuple(names for names in plan.protocol.clusters if len(names) > 1)
    assert found == clusters_from(opened(frame), 6, 0.3) == (("sex", "grade"),)
    _covers(plan, frame)


def _covers(plan: Any, frame: pd.DataFrame) -> None:
    """Of 60 intervals of each of 6 cells at least 48 cover: a false alarm once in 24,000.

    The tables of the sum themselves are exact.
    """
    truth = pd.crosstab(frame["sex"], frame["grade"], normalize="all")
    covered = np.zeros(6)
    for seed in range(60):
        protected = deniable.randomize(frame, plan, np.random.default_rng(seed))
        rows = deniable.Released(protected, plan).table(["sex", "grade"], target="file")
        known = [
            truth.loc[sex, grade] for sex, grade in zip(rows["sex"], rows["grade"], strict=True)
        ]
        covered += (rows["ci_low"] <= known) & (known <= rows["ci_high"])
    assert covered.min() >= 48


@pytest.mark.parametrize("clusters", [{"from": "secure_sum"}, {"from": "records", "total": "a"}])
def test_a_total_belongs_to_a_sum(clusters: dict[str, str]) -> None:
    with pytest.raises(DeniableError, match="total, the file of a sum, is given with from: secure"):
        settings_from(
            {"kind": "columns", "epsilon": 1.0, "clusters": clusters | {"t_v": 6, "t_d": 0.1}}
        )
