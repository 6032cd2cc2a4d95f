"""What the report's first page says of [idp]."""

import math

import numpy as np
from tests.reproduction.papers.idp.tables import all_tables

from deniable.display import short

from reproduction.papers.idp.in_short import in_short
from reproduction.papers.idp.names import RECOMPUTED_SCALE, SSE_TITLES, shown
from reproduction.study import where

TABLES = all_tables()


def test_records_have_no_finite_epsilon_where_the_audit_finds_none() -> None:
    (records,) = in_short(TABLES).privacy
    assert records.verdict == "fails"
    assert records.says == "iDP's released records have no finite ε"
    assert math.isinf(records.times)
    assert "mean F" in records.instead


def test_the_centroids_are_those_of_the_rows_that_are_named() -> None:
    (records,) = in_short(TABLES).privacy
    audit, at = TABLES["idp_audit"], shown(TABLES)
    part = where(audit, reading=RECOMPUTED_SCALE, unit="centroid", domain="public", method="idp_ls")
    part = where(part, k=at.k, epsilon=at.epsilon, domain_factor=at.factor)
    worst = part.loc[part["times_claimed"].idxmax()]
    named = f"At k = {at.k:g}, ε = {at.epsilon:g} and domain factor {at.factor:g}, one centroid"
    assert named in records.found
    times = f"{short(float(worst['times_claimed']))} times under iDP-LS ({worst['attribute']} of"
    assert times in records.found
    assert "Other k and ε are not covered" in records.found


def test_the_least_error_of_true_dp_is_said_with_both_its_conditions() -> None:
    (records,) = in_short(TABLES).privacy
    said = records.instead.partition(" If attributes ")[2]
    conditions, _, bound = said.partition(", true DP has a mean SSE of at least ")
    assert conditions == "are released independently and blind to the order of the records"
    assert bound
    label = " ".join(SSE_TITLES["least_dp"].split())
    assert label == "least SSE of true DP, attributes independent, blind to order"


def test_records_keep_their_epsilon_where_the_audit_says_so() -> None:
    audit = TABLES["idp_audit"]
    of_records = audit["unit"] == "record"
    kept = audit.assign(
        exact_or_lower_bound=np.where(of_records, 0.5, audit["exact_or_lower_bound"]),
        holds=audit["holds"].where(~of_records, True),
    )
    (records,) = in_short(TABLES | {"idp_audit": kept}).privacy
    assert (records.verdict, records.instead, records.times) == ("holds", "", 1.0)


def test_nothing_is_said_without_tables() -> None:
    assert not in_short({}).privacy
