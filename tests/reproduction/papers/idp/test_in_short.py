"""What the report's first page says of [idp]."""

import math

import numpy as np
from tests.reproduction.papers.idp.tables import all_tables

from reproduction.papers.idp.in_short import in_short
from reproduction.papers.idp.names import RECOMPUTED_SCALE, SSE_TITLES
from reproduction.study import where

TABLES = all_tables()


def test_records_have_no_finite_epsilon_where_the_audit_finds_none() -> None:
    (records,) = in_short(TABLES).privacy
    assert records.verdict == "fails"
    assert records.says == "iDP's released records keep the promised ε"
    assert math.isinf(records.beyond)
    assert records.instead
    assert "mean F" in records.useful


def test_the_centroids_have_the_extremes_of_all_settings_rounded_down() -> None:
    audit = TABLES["idp_audit"].copy()
    of_ls = where(
        audit, reading=RECOMPUTED_SCALE, unit="centroid", domain="public", method="idp_ls"
    )
    least, most = of_ls.index[0], of_ls.index[-1]
    audit.loc[[least, most], "times_claimed"] = 4.0579, 708.67
    (records,) = in_short(TABLES | {"idp_audit": audit}).privacy
    names = {"census": "Census", "wine": "White wine"}
    places = [
        f"{times} times ({names[row['dataset']]}, k = {row['k']:g}, ε = {row['epsilon']:g})"
        for times, row in (("4.05", audit.loc[least]), ("708", audit.loc[most]))
    ]
    cases = f"{len(of_ls)} of {len(of_ls)} cases under iDP-LS"
    assert f"{cases} (at least {places[0]} to {places[1]})" in records.found
    endless = where(audit, reading=RECOMPUTED_SCALE, unit="centroid", method="idp_cbls")
    counts = (
        f"{len(endless)} of {len(endless)} cases under iDP-CBLS (no finite ε in {len(endless)})"
    )
    assert counts in records.found
    assert "under DP-UM (" not in records.found


def test_the_least_error_of_true_dp_is_said_with_both_its_conditions() -> None:
    (records,) = in_short(TABLES).privacy
    said = records.useful.partition("If attributes ")[2]
    conditions, _, bound = said.partition(", central ε-DP has a mean SSE of at least ")
    assert conditions == "are released independently and blind to the order of the records"
    assert bound
    label = " ".join(SSE_TITLES["least_dp"].split())
    assert label == "least SSE of central ε-DP, attributes independent, blind to order"


def test_records_keep_their_epsilon_where_the_audit_says_so() -> None:
    audit = TABLES["idp_audit"]
    of_records = audit["unit"] == "record"
    kept = audit.assign(
        exact_or_lower_bound=np.where(of_records, 0.5, audit["exact_or_lower_bound"]),
        holds=audit["holds"].where(~of_records, True),
    )
    (records,) = in_short(TABLES | {"idp_audit": kept}).privacy
    assert (records.verdict, records.instead, records.useful) == ("holds", "", "")
    assert records.beyond == 0.0


def test_nothing_is_said_without_tables() -> None:
    assert not in_short({}).privacy
