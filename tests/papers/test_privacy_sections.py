"""What the sections about privacy show."""

import pandas as pd
import pytest

from deniable.papers.privacy_sections import audit, equal_risk, risk, stated, waived, waiver
from deniable.randomized_response.assessment_audit import audit_assessments, risk_table
from deniable.randomized_response.audit import audit_multirr
from deniable.randomized_response.dependence import cluster_attributes, dependences
from deniable.randomized_response.waiver import waiver_table
from deniable.records.categorical import Microdata


@pytest.fixture(scope="module")
def privacy(small_data: Microdata) -> pd.DataFrame:
    measured = dependences(small_data)
    tables = [
        audit_multirr(small_data.domain, measured, [0.1, 0.7], [12], [0.05]),
        audit_assessments(small_data.domain, [0.1, 0.7]),
    ]
    return pd.concat(tables, ignore_index=True)


def test_every_claim_is_of_one_kind(privacy: pd.DataFrame) -> None:
    kinds = {kind.__name__: privacy[kind(privacy)] for kind in (stated, equal_risk, waived)}
    assert sorted(i for part in kinds.values() for i in part.index) == list(privacy.index)
    assert kinds["stated"]["holds"].all()
    assert not kinds["waived"]["holds"].all()
    assert not kinds["equal_risk"]["holds"].all()


def test_claims_are_counted_and_the_broken_ones_listed(privacy: pd.DataFrame) -> None:
    found = audit({"privacy": privacy})
    assert sum(row["claims"] for row in found["kinds"]) == len(privacy)
    assert sum(row["holds"] for row in found["kinds"]) == privacy["holds"].sum()
    assert sum(len(rows) for _, rows in found["broken"]) == (~privacy["holds"]).sum()
    assert "epsilon that a release states" not in [row["kind"] for row in found["kinds"]]
    assert list(found["records"].columns) == [0.1, 0.7]


def test_where_all_holds_nothing_is_broken(privacy: pd.DataFrame) -> None:
    assert audit({"privacy": privacy[privacy["holds"]]})["broken"] == []


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
