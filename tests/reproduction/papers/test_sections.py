"""The sections of all papers: sentences with their rows, words and counts; privacy."""

import math

import pandas as pd
import pytest

from deniable.randomized_response.audit import risk_table
from deniable.randomized_response.dependence import cluster_attributes, dependences
from deniable.randomized_response.waiver import waiver_table
from deniable.records.categorical import Microdata

from reproduction.papers.audit import KEYS, STATED
from reproduction.papers.sections import audit, claims, counted, risk, waiver
from reproduction.study.claims import Claim, Evidence, by_sentence, decide_claims
from reproduction.study.comparisons import Comparison, Outcome

SUPPORTS, CONTRADICTS, OPEN = Comparison(9.0, 1.0), Comparison(-9.0, 1.0), Comparison(1.0, 1.0)


def tables_of(*found: tuple[str, tuple[Comparison, ...]]) -> dict[str, pd.DataFrame]:
    """Return the tables of sentences, each with the comparison that each reading has."""
    decided = []
    for name, readings in found:
        claim = Claim(
            name,
            "6.5",
            "rr_clusters first",
            "every",
            "a < b",
            "it",
            lambda each: Outcome((each,), ""),
        )
        evidence = [Evidence((f"r{n}",), "original", each) for n, each in enumerate(readings)]
        decided.append(decide_claims([claim], {"it": evidence}, "reading"))
    table = pd.concat(decided)
    return {"multirr_claims": by_sentence(table), "multirr_claim_readings": table}


def test_a_sentence_has_its_readings_beside_it() -> None:
    tables = tables_of(("a", (SUPPORTS, CONTRADICTS)), ("b", (OPEN,)))
    found = claims(tables, "multirr", "reproduction.papers.multirr.names:WORDS")
    first, second = found["claims"]
    assert [row["verdict"] for row in first["rows"]] == ["holds", "fails"]
    assert (first["verdict"], second["verdict"]) == ("depends on the interpretation", "undecided")
    assert first["printed"] == "RR-Clusters first"
    assert found["by"] == ["reading"]
    assert found["said"] == ["1 is undecided", "1 depends on the interpretation"]


def test_sentences_without_readings_stand_alone() -> None:
    tables = tables_of(("a", (SUPPORTS,)), ("b", (SUPPORTS,)))
    found = claims({"multirr_claims": tables["multirr_claims"]}, "multirr")
    assert [row["rows"] for row in found["claims"]] == [[], []]
    assert (found["by"], found["numbers"]) == ([], ["multirr_claims"])
    assert found["claims"][0]["printed"] == "rr_clusters first"


def test_sentences_are_counted_in_words() -> None:
    tables = tables_of(("a", (SUPPORTS,)), ("b", (SUPPORTS,)), ("c", (CONTRADICTS,)))
    found = counted(tables["multirr_claims"]["verdict"])
    assert found == [("holds", "2 hold"), ("fails", "1 fails")]
    assert counted([]) == []


ROWS = pd.DataFrame(
    [
        ("multirr", "a", "all is well", "p = 1", "record", 1.0, 0.5, 3, 3, 0),
        ("multirr", "b", "no more", "p = 1", "attribute", 1.0, 3.0, 4, 2, 2),
        ("multirr", "b", "no more", "p = 2", "attribute", 2.0, 5.0, 4, 3, 1),
        ("multirr", "b", "no more", "p = 2", "record", 0.0, 0.0, 1, 1, 0),
        ("release one", "b", STATED, "p = 1", "record", 2.0, 2.0, 1, 1, 0),
        ("release two", "b", STATED, "p = 1", "record", 2.0, math.inf, 1, 0, 1),
    ],
    columns=[*KEYS, "claimed_epsilon", "exact_epsilon", "cases", "hold", "fail"],
)


def test_what_fails_stands_first_with_its_worst_setting_and_all_cases() -> None:
    paper, released = audit({"privacy": ROWS})["papers"]
    assert [paper["key"], released["key"]] == ["multirr", "releases"]
    assert [claim["claim"] for claim in paper["claims"]] == ["no more", "all is well"]
    worst, other = paper["claims"][0]["units"]
    assert (worst["setting"], worst["exact_epsilon"]) == ("p = 2", 5.0)  # 3 more, not 2
    assert (worst["cases"], worst["hold"], worst["fail"]) == (8, 5, 3)
    assert (other["cases"], other["fail"]) == (1, 0)
    assert len(paper["rows"]) == 4
    (stated,) = released["claims"]
    assert stated["units"][0]["exact_epsilon"] == math.inf
    assert stated["units"][0]["cases"] == 2
    assert audit({"privacy": ROWS[:0]})["papers"] == []


def test_equal_risk_is_shown_where_an_attribute_costs_most(small_data: Microdata) -> None:
    measured = dependences(small_data)
    formed = {t_v: cluster_attributes(small_data.domain, measured, t_v, 0.05) for t_v in (6, 24)}
    table = risk_table(small_data.domain, formed, [0.7, 0.1])
    found = risk({"multirr_risk": table})
    assert [(row["p"], row["mechanism"]) for row in found["rows"]] == [
        *((0.1, "joint"), (0.1, "kronecker"), (0.7, "joint"), (0.7, "kronecker"))
    ]
    assert found["matrix"] == "printed"
    for row in found["rows"]:
        cells = table.query(f"matrix == 'printed' and p == {row['p']}")
        cells = cells[cells["mechanism"] == row["mechanism"]]
        assert row["worst"]["attribute_epsilon"] == cells["attribute_epsilon"].max()
        assert set(row["totals"]) == {"none", *found["assessments"]}
        alone = cells["release_epsilon"].iloc[0]
        assert row["alone"]["release_epsilon"] == pytest.approx(alone)
    assert found["facts"] == {
        "record": True,
        "attribute": {"joint": False, "kronecker": True},
        "assessed": False,
    }


def test_the_waiver_has_a_row_a_setting_and_a_column_a_number_of_parties() -> None:
    table = waiver_table([0.1, 0.7], (1, 3))
    found = waiver({"multirr_waiver": table})
    assert [row["p"] for row in found["rows"]] == [0.1, 0.7]
    assert found["parties"] == [1, 3]
    assert found["rows"][1]["cells"][3]["delta"] == table["delta"].iloc[3]
    assert found["rows"][0]["exact_epsilon"] == 2 * found["rows"][0]["claimed_epsilon"]
    assert [parties for parties, _ in found["trust"]] == [[1], [3]]
    assert found["others_alike"]
