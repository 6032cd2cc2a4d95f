"""The section on a paper's sentences: rows, words, counts."""

import pandas as pd

from deniable.papers.claims_section import claims, counted
from deniable.study.claims import Claim, Evidence, by_sentence, decide_claims
from deniable.study.comparisons import Comparison, Outcome

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
    found = claims(tables, "multirr", "papers.multirr.verdicts:in_words")
    first, second = found["claims"]
    assert [row["verdict"] for row in first["rows"]] == ["holds", "fails"]
    assert (first["verdict"], second["verdict"]) == ("depends on the reading", "undecided")
    assert first["printed"] == "RR-Clusters first"
    assert found["by"] == ["reading"]
    assert found["said"] == ["1 is undecided", "1 depends on the reading"]


def test_sentences_without_readings_stand_alone() -> None:
    tables = tables_of(("a", (SUPPORTS,)), ("b", (SUPPORTS,)))
    found = claims({"multirr_claims": tables["multirr_claims"]}, "multirr")
    assert [row["rows"] for row in found["claims"]] == [[], []]
    assert (found["by"], found["numbers"]) == ([], ["multirr_claims"])
    assert found["claims"][0]["printed"] == "rr_clusters first"


def test_sentences_are_counted_in_words() -> None:
    tables = tables_of(("a", (SUPPORTS,)), ("b", (SUPPORTS,)), ("c", (CONTRADICTS,)))
    assert counted(tables, "multirr") == ["2 hold", "1 fails"]
    assert counted({}, "multirr") == []
