"""One audit of all mechanisms: complete, and no kinder than the tables that it is read off."""

import math
from itertools import chain
from pathlib import Path
from typing import get_args

import numpy as np
import pandas as pd
import pytest
import yaml
from tests.papers.idp import tables as idp_tables
from tests.papers.rrba import tables as rrba_tables

from deniable.channels import KeepOrReplace, two_step_with_epsilon
from deniable.idp import METHODS
from deniable.papers.audit import COLUMNS, KEYS, STATED, one_audit
from deniable.papers.catalog import AUDITED, AUDITS
from deniable.papers.idp.names import HONEST
from deniable.papers.pram import breaches, variance
from deniable.privacy import column_epsilon
from deniable.randomized_response.assessment_audit import audit_assessments
from deniable.randomized_response.audit import audit_multirr
from deniable.randomized_response.dependence import dependences
from deniable.randomized_response.readings import CLUSTER_MECHANISMS
from deniable.randomized_response.waiver import waiver_table
from deniable.records.categorical import Microdata
from deniable.release import AnyRelease
from deniable.study import resolve

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def tables(small_data: Microdata) -> dict[str, pd.DataFrame]:
    """Return every table that is read, as the papers' own functions make them."""
    p = [0.1, 0.7]
    measured = dependences(small_data)
    names = small_data.domain.names[:1]
    return {
        "multirr_audit": pd.concat(
            [
                audit_multirr(small_data.domain, measured, p, [12], [0.05]),
                audit_assessments(small_data.domain, p),
            ],
            ignore_index=True,
        ),
        "multirr_waiver": waiver_table(p, (1, 3)),
        "pram_variance": variance.variance_inflation(small_data, [1.0, 6.0]),
        "pram_whole_file": variance.whole_file_epsilons(small_data, [1.0, 6.0]),
        "pram_worst_sets": breaches.worst_set_table(small_data, names),
        "pram_design": pd.DataFrame(
            {
                "attribute": ["a", "a"],
                "epsilon": 1.0,
                "loss": "trace",
                "requirements": ["epsilon", "epsilon, invariant"],
                "exact_epsilon": 1.0,
            }
        ),
        "idp_audit": idp_tables.audit_table(),
        "idp_fig3": idp_tables.sse_table(),
        "idp_fig5": idp_tables.forest_table(),
        "rrba_epsilon": rrba_tables.epsilon_table(),
        "rrba_table3": rrba_tables.table_3(),
        "rrba_table4": rrba_tables.released_table(),
    }


@pytest.fixture(scope="module")
def audited(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    return one_audit(tables)


def test_the_catalogs_name_what_reads_their_tables() -> None:
    for tables in AUDITED.values():
        for reader in chain.from_iterable(tables.values()):
            assert callable(resolve(f"papers.audit:{reader}")), reader
    assert AUDITS["privacy"].columns is not None
    assert AUDITS["privacy"].columns.keys == KEYS


def test_every_mechanism_of_papers_and_releases_is_in_it(audited: pd.DataFrame) -> None:
    found = {key: set(part["mechanism"]) for key, part in audited.groupby("source")}
    assert {f"rr_clusters {way}" for way in CLUSTER_MECHANISMS} < found["multirr"]
    assert "rr_independent" in found["multirr"]
    own = {"randomized_response", "invariant_two_step", "invariant_lazy", "resampling"}
    assert own | {"pram_given_parity", "designed", "designed, invariant"} == found["pram"]
    assert set(METHODS) < found["idp"]
    assert set(HONEST) & {*idp_tables.forest_table()["method"]} < found["idp"]
    assert found["rrba"] == {"rrba", "laplace", "mcindep"}


def test_every_mechanism_that_a_release_can_have_is_released_by_the_config() -> None:
    """What a release can be told is in `deniable.release.AnyRelease`; all releases are audited."""
    config = yaml.safe_load((ROOT / "config" / "config.yaml").read_text("utf-8"))
    kinds = {
        get_args(kind.model_fields["mechanism"].annotation)[0] for kind in get_args(AnyRelease)
    }
    assert {release["mechanism"] for release in config["releases"]} == kinds


def test_a_row_names_one_claim_and_counts_its_cases(audited: pd.DataFrame) -> None:
    assert tuple(audited.columns) == COLUMNS
    assert not audited.duplicated(list(KEYS)).any()
    assert (audited["hold"] + audited["fail"] <= audited["cases"]).all()
    said = audited["holds"]
    assert (said[audited["fail"] > 0] == "False").all()
    assert (said[audited["hold"] == audited["cases"]] == "True").all()
    assert (
        (audited["shown_by"].str.removeprefix("tables/").str.removesuffix(".csv"))
        .isin({name for each in AUDITED.values() for name in each})
        .all()
    )


def test_verdicts_are_those_of_the_exact_epsilons(audited: pd.DataFrame) -> None:
    above = audited["exact_epsilon"] > audited["claimed_epsilon"] * (1 + 1e-8) + 1e-9
    assert (audited["holds"] == "False").equals(above)


def test_noise_is_held_against_what_its_scale_spends(audited: pd.DataFrame) -> None:
    # Replacing a record moves two counts by one: epsilon is 2 / scale, of |T| = 2 ** k cells.
    own = audited[audited["mechanism"].isin(["laplace", "mcindep"])]
    assert {"tables/rrba_table3.csv", "tables/rrba_table4.csv"} <= set(own["shown_by"])
    printed = own["claim"].str.contains("|T|", regex=False)
    np.testing.assert_allclose(own["exact_epsilon"][~printed], own["claimed_epsilon"][~printed])
    assert (own["exact_epsilon"][printed] <= own["claimed_epsilon"][printed]).all()
    assert (own["holds"] == "True").all()


def test_competitors_of_true_privacy_are_proved_for_public_domains_only(
    audited: pd.DataFrame,
) -> None:
    own = audited[audited["mechanism"].isin(HONEST)]
    public = own["claim"].str.endswith("public")
    assert set(own["kind"][public]) == {"proved"}
    assert own["exact_epsilon"][public].equals(own["claimed_epsilon"][public])
    assert np.isinf(own["exact_epsilon"][~public]).all()
    assert (own["holds"][~public] == "False").all()


def test_no_case_is_lost(audited: pd.DataFrame, tables: dict[str, pd.DataFrame]) -> None:
    cases = audited.groupby("shown_by")[["cases", "hold", "fail"]].sum()
    for name in ("multirr_audit", "multirr_waiver"):
        holds = tables[name]["holds"]
        counted = (len(holds), int(holds.sum()), int((~holds).sum()))
        assert tuple(cases.loc[f"tables/{name}.csv"]) == counted
    rrba = tables["rrba_epsilon"]
    of_several = rrba[rrba["answers"] > 1]
    kept = int(rrba["holds"].sum()) + int(of_several["holds_composed"].sum())
    assert cases.loc["tables/rrba_epsilon.csv", "cases"] == len(rrba) + len(of_several)
    assert cases.loc["tables/rrba_epsilon.csv", "hold"] == kept


def test_the_worst_case_is_shown_and_one_is_enough_to_fail() -> None:
    table = pd.DataFrame(
        {
            **{"mechanism": "rr_independent", "matrix": "keep", "p": 0.5, "t_v": math.nan},
            **{"unit": "attribute", "of": ["a", "b", "c"], "claimed_epsilon": [1.0, 0.1, 2.0]},
            **{"exact_epsilon": [1.0, 0.3, 2.5], "shipped_epsilon": [1.0, 0.3, 2.5]},
            **{"kind": "exact", "holds": [True, False, False], "data_source": "made"},
        }
    )
    (row,) = one_audit({"multirr_audit": table}).to_dict("records")
    assert (row["of"], row["exact_epsilon"], row["holds"]) == ("b", 0.3, "False")
    assert (row["cases"], row["hold"], row["fail"]) == (3, 1, 2)
    (row,) = one_audit({"multirr_audit": table[:1]}).to_dict("records")
    assert (row["holds"], row["setting"]) == ("True", "matrix keep, p = 0.5")


def evidence(**changed: object) -> pd.DataFrame:
    """Return evidence on the records of one release, some of it changed."""
    given = {"unit": "record", "clusters": "formed anew", "note": ["", ""]}
    given |= {"exact_or_lower_bound": [0.0, math.inf], "kind": ["lower bound", "exact"]}
    given |= {"holds": [None, False], "claimed_epsilon": 1.0} | changed
    rest = {"dataset": "wine", "method": "idp_ls", "reading": "as it runs", "k": 3.0}
    rest |= {"epsilon": 1.0, "domain_factor": 1.5, "domain": "public", "attribute": "x"}
    return pd.DataFrame(rest | given)


def test_evidence_on_one_case_counts_once_and_a_bound_below_the_claim_decides_nothing() -> None:
    (row,) = one_audit({"idp_audit": evidence()}).to_dict("records")
    assert (row["cases"], row["fail"], row["kind"]) == (1, 1, "exact")
    weak = evidence(exact_or_lower_bound=[0.0, 0.2], kind="lower bound", holds=[None, None])
    (row,) = one_audit({"idp_audit": weak}).to_dict("records")
    assert (row["cases"], row["hold"], row["fail"], row["holds"]) == (1, 0, 0, "")
    assert (row["kind"], row["exact_epsilon"]) == ("lower bound", 0.2)
    drawn = evidence(note=["", "released numbers, 20 releases"])
    assert one_audit({"idp_audit": drawn})["holds"].tolist() == [""]


def test_a_release_is_audited_under_its_own_name(tables: dict[str, pd.DataFrame]) -> None:
    own = tables["multirr_audit"].query("mechanism == 'rr_independent' and p == 0.7")
    numbers = evidence(method="numeric_dp", kind="exact", holds=True, exact_or_lower_bound=1.0)
    found = one_audit({}, [("mine", "rr_independent", own), ("sums", "numeric_dp", numbers)])
    assert set(found["source"]) == {"release mine", "release sums"}
    assert set(found["claim"]) == {STATED}
    assert found["holds"].eq("True").all()
    assert set(found["shown_by"]) == {"releases/mine/channels.json", "releases/sums/audit.csv"}


def test_epsilons_of_pram_are_those_of_the_channels(
    audited: pd.DataFrame, small_data: Microdata
) -> None:
    """From dense columns, ratio by ratio, and not by the channel's own answer."""
    rows = audited[audited["shown_by"] == "tables/pram_variance.csv"]
    for row in rows.to_dict("records"):
        counts = small_data.counts((row["of"],))
        shares = counts[counts > 0] / counts.sum()
        epsilon = float(row["setting"].removeprefix("ε = "))
        if row["mechanism"] == "invariant_two_step":
            matrix = two_step_with_epsilon(shares, epsilon).matrix()
        elif row["mechanism"] in ("randomized_response", "pram_given_parity"):
            odds = math.exp(epsilon)
            keep = (odds - 1) / (odds + shares.size - 1)
            matrix = KeepOrReplace.uniform(shares.size, keep).matrix()
        else:
            continue
        assert row["exact_epsilon"] == pytest.approx(column_epsilon(matrix), rel=1e-9)
        assert row["claimed_epsilon"] == epsilon


def test_an_invariant_matrix_that_is_published_hides_no_record(audited: pd.DataFrame) -> None:
    whole = audited[audited["shown_by"] == "tables/pram_whole_file.csv"]
    published = whole["claim"].str.endswith("published")
    assert np.isinf(whole["exact_epsilon"][published]).all()
    assert (whole["exact_epsilon"][~published] > whole["claimed_epsilon"][~published]).all()


def test_without_tables_there_is_nothing() -> None:
    assert len(one_audit({})) == 0
    assert tuple(one_audit({}).columns) == COLUMNS
