"""One audit of all mechanisms: complete, and no kinder than the tables that it is read off."""

import math
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from scipy import stats
from tests.reproduction.papers.idp import tables as idp_tables
from tests.reproduction.papers.rrba import tables as rrba_tables
from tests.simulations import outputs_of

from deniable.channels import KeepOrReplace, two_step_with_epsilon
from deniable.idp import METHODS
from deniable.idp.methods import domain_bounds
from deniable.plans import KINDS
from deniable.privacy import column_epsilon
from deniable.randomized_response.audit import audit_assessments, audit_multirr
from deniable.randomized_response.dependence import dependences
from deniable.randomized_response.protocols import CLUSTER_MECHANISMS
from deniable.randomized_response.waiver import waiver_table
from deniable.records.categorical import Microdata

from reproduction.papers.audit import (
    COLUMNS,
    HONEST_SCALE,
    KEYS,
    NOT_STATED,
    PRINTED_SCALE,
    STATED,
    one_audit,
)
from reproduction.papers.catalog import ANALYSES, AUDITED, AUDITS
from reproduction.papers.idp.names import DP_BASELINES
from reproduction.papers.pram import breaches, variance
from reproduction.papers.rrba.independence import Table3
from reproduction.papers.rrba.released_tables import PrintedTables
from reproduction.pipeline.code_digest import code_digests
from reproduction.study import resolve

ROOT = Path(__file__).resolve().parents[3]


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
        "idp_fig4": idp_tables.sse_table(),
        "idp_fig5": idp_tables.forest_table(),
        "idp_fig6": idp_tables.forest_table(),
        "rrba_epsilon": rrba_tables.epsilon_table(),
        "rrba_table3": noise_of_table_3(),
        "rrba_table4": noise_of_table(small_data, 0.4, 0.35),
        "rrba_table5": noise_of_table(small_data, 0.5, 0.5),
    }


def noise_of_table_3() -> pd.DataFrame:
    """Return what names the rows of Table 3 of [rrba]."""
    few = {"effect": 0.1, "n": 100, "sampled_tables": 30, "small_cells": "table"}
    rows = [{"k": k} | row for k in (2, 3, 4) for row in outputs_of(Table3(), few | {"k": k})]
    return pd.DataFrame(rows).assign(data_source="model")


def noise_of_table(data: Microdata, p: float, epsilon: float) -> pd.DataFrame:
    """Return what names the rows of Tables 4 and 5 of [rrba], on two files of one data set."""
    files = {"survey_8000": data, "survey_8000_resampled": data}
    cells = [
        {"dataset": "survey", "file": file, "k": k, "p": p, "epsilon_claimed": epsilon}
        for file in files
        for k in (2, 3)
    ]
    rows = [cell | row for cell in cells for row in outputs_of(PrintedTables(files), cell)]
    table = pd.DataFrame(rows).query("subset == 'all'").reset_index(drop=True)
    return table.assign(data_source="network")


@pytest.fixture(scope="module")
def audited(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    return one_audit(AUDITED, tables)


def test_the_catalogs_name_what_reads_their_tables() -> None:
    for tables in AUDITED.values():
        for reader in chain.from_iterable(tables.values()):
            assert callable(resolve(f"reproduction.papers.audit:{reader}")), reader
    assert AUDITS["privacy"].keys == KEYS


def test_what_reads_a_table_for_the_audit_is_no_part_of_what_makes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    scripts = ROOT / "workflow" / "scripts"
    assert any(table.audited for table in ANALYSES["rrba_epsilon"].tables)
    read, named = "reproduction/papers/audit.py", ["reproduction.papers.audit:one_audit"]
    assert read not in code_digests(scripts / "rrba" / "epsilon.py")
    made_by = scripts / "audit_privacy.py"
    assert read in code_digests(made_by, AUDITED, named)
    assert code_digests(made_by, AUDITED, named) != code_digests(made_by, {}, named)


def test_every_mechanism_of_papers_and_releases_is_in_it(audited: pd.DataFrame) -> None:
    found = {key: set(part["mechanism"]) for key, part in audited.groupby("source")}
    assert {f"rr_clusters {way}" for way in CLUSTER_MECHANISMS} < found["multirr"]
    assert "rr_independent" in found["multirr"]
    own = {"randomized_response", "invariant_two_step", "invariant_lazy", "resampling"}
    assert own | {"pram_given_parity", "designed", "designed, invariant"} == found["pram"]
    assert {*METHODS, *DP_BASELINES} < found["idp"]
    assert found["rrba"] == {"rrba", "laplace", "mcindep"}


def test_every_kind_of_plan_is_released_by_the_config() -> None:
    """All releases are audited."""
    config = yaml.safe_load((ROOT / "config" / "config.yaml").read_text("utf-8"))
    assert {release["plan"]["kind"] for release in config["releases"]} == set(KINDS)


def test_a_row_names_one_claim_and_counts_its_cases(audited: pd.DataFrame) -> None:
    assert tuple(audited.columns) == COLUMNS
    assert not audited.duplicated(list(KEYS)).any()
    assert (audited["hold"] + audited["fail"] <= audited["cases"]).all()
    said = audited["holds"]
    assert (said[audited["fail"] > 0] == "False").all()
    assert (said[audited["hold"] == audited["cases"]] == "True").all()
    tables = {name for each in AUDITED.values() for name in each}
    assert set(audited["shown_by"]) == {f"tables/{name}.csv" for name in tables}


def test_verdicts_are_those_of_the_exact_epsilons(audited: pd.DataFrame) -> None:
    above = audited["exact_epsilon"] > audited["claimed_epsilon"] * (1 + 1e-8) + 1e-9
    assert (audited["holds"] == "False").equals(above)


def loss(scale: float, cells: int) -> float:
    """Return the most that a table with Laplace noise tells: a record moves, densities differ."""
    true = np.arange(3.0, 3 + cells)
    moved = np.eye(cells)[0] - np.eye(cells)[1]
    points = true + np.outer([0, 1, 50, -50], moved)
    here, there = (
        np.sum(stats.laplace.logpdf(points, at, scale), axis=1) for at in (true, true + moved)
    )
    return float(np.abs(here - there).max())


@pytest.mark.parametrize(("number", "claimed", "cases"), [(3, 0.25, 3), (4, 0.35, 2), (5, 0.5, 2)])
def test_noise_is_held_against_what_its_scale_spends(
    audited: pd.DataFrame, number: int, claimed: float, cases: int
) -> None:
    rows = audited[audited["shown_by"] == f"tables/rrba_table{number}.csv"]
    found = {(row["mechanism"], row["claim"]): row for row in rows.to_dict("records")}
    least = 4  # cells of two binary attributes, the table whose noise as printed is the smallest
    scales = {HONEST_SCALE: 2 / claimed, PRINTED_SCALE: 2 * least / claimed}
    expected = {("laplace", claim): scale for claim, scale in scales.items()}
    if number == 3:
        expected["mcindep", HONEST_SCALE] = 2 / claimed
    assert set(found) == set(expected)
    for key, scale in expected.items():
        row = found[key]
        assert row["setting"] == f"Table {number}, ε = {claimed:g}"
        assert "trusted curator" in row["unit"]
        assert row["claimed_epsilon"] == claimed
        assert row["exact_epsilon"] == pytest.approx(loss(scale, least), rel=1e-9)
        assert (row["kind"], row["holds"]) == ("exact", "True")
        assert (row["cases"], row["hold"], row["fail"]) == (cases, cases, 0)
        assert row["of"].endswith("k = 2")


def test_noise_that_is_too_small_fails() -> None:
    noise = pd.DataFrame({"method": "mcindep", "k": [2, 3], "epsilon_exact": [0.25, 0.3]})
    (row,) = one_audit(AUDITED, {"rrba_table3": noise}).to_dict("records")
    assert (row["of"], row["exact_epsilon"], row["holds"]) == ("k = 3", 0.3, "False")
    assert (row["cases"], row["fail"]) == (2, 1)


@pytest.mark.parametrize(
    ("number", "data"), [(3, "Census"), (4, "White wine"), (5, "Census"), (6, "White wine")]
)
def test_competitors_of_true_privacy_are_proved_for_public_domains_only(
    audited: pd.DataFrame, number: int, data: str
) -> None:
    """The proofs are in `deniable.idp.true_dp`, and tested with it."""
    rows = audited[audited["shown_by"] == f"tables/idp_fig{number}.csv"]
    forests = number > 4
    of_forests, of_errors = {"dp_naive_bayes", "dp_rule"}, {"dp_median"}
    public = rows["claim"].str.endswith("domain public")
    proved, shown = rows[public], rows[~public]
    settings = {f"{data}, ε = {epsilon:g}": epsilon for epsilon in idp_tables.EPSILONS}
    assert set(rows["unit"]) == {f"{'training ' * forests}record, its class public"}
    assert (rows["cases"] == len(idp_tables.FACTORS)).all()
    for part in (proved, shown):
        assert set(part["mechanism"]) == {"dp_synthetic"} | (of_forests if forests else of_errors)
        assert len(part) == part["mechanism"].nunique() * len(settings)
        assert part["claimed_epsilon"].tolist() == part["setting"].map(settings).tolist()
    assert proved["exact_epsilon"].equals(proved["claimed_epsilon"])
    assert set(zip(proved["kind"], proved["holds"], strict=True)) == {("proved", "True")}
    assert shown["claim"].str.endswith("domain from the data").all()
    assert np.isinf(shown["exact_epsilon"]).all()
    assert set(zip(shown["kind"], shown["holds"], strict=True)) == {("exact", "False")}


def test_a_domain_from_the_data_tells_two_files_apart() -> None:
    # Why those rows fail: values beyond the smaller bound come from one of two neighbours alone.
    values = np.array([[1.0, 2.0], [3.0, 4.0], [9.0, 5.0]])
    neighbour = values.copy()
    neighbour[2, 0] = 4.0
    upper, of_neighbour = (domain_bounds(each, 1.5) for each in (values, neighbour))
    assert upper[0] > of_neighbour[0]
    assert upper[1] == of_neighbour[1]


def of_release(**changed: object) -> pd.DataFrame:
    """Return an audit of a plan, as `audited_release` does, some of it changed."""
    given = {"unit": "record", "of": "all", "claimed_epsilon": 3.5, "exact_epsilon": [3.5]}
    given |= {"shipped_epsilon": 3.5, "kind": "exact", "holds": True, "theorem": False}
    rest = {"mechanism": "columns", "setting": "no target", "data_source": "original"}
    return pd.DataFrame(given | rest | changed)


def test_that_no_finite_epsilon_is_stated_has_a_row_of_its_own() -> None:
    epsilons = [3.5, np.inf]
    given = dict.fromkeys(("claimed_epsilon", "exact_epsilon", "shipped_epsilon"), epsilons)
    release = of_release(**given, unit=["record whose stratum stays", "stratum attribute"])
    found = one_audit(AUDITED, {}, [("mine", release)])
    assert found["claim"].tolist() == [STATED, NOT_STATED]
    assert found["exact_epsilon"].tolist() == [3.5, math.inf]


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
            **{"unit": "attribute", "of": list("abcd"), "claimed_epsilon": [1.0, 0.1, 2.0, 0.0]},
            **{"exact_epsilon": [1.0, 0.3, 2.5, 0.4], "shipped_epsilon": [1.0, 0.3, 2.5, 0.4]},
            **{"kind": "exact", "holds": [True, False, False, False], "data_source": "made"},
        }
    )
    (row,) = one_audit(AUDITED, {"multirr_audit": table}).to_dict("records")
    # The odds decide: .5 more is worse than thrice as much, and than .4 where 0 is claimed.
    assert (row["of"], row["exact_epsilon"], row["times"]) == ("c", 2.5, 1.25)
    assert (row["holds"], row["cases"], row["hold"], row["fail"]) == ("False", 4, 1, 3)
    (row,) = one_audit(AUDITED, {"multirr_audit": table[3:]}).to_dict("records")
    assert (row["of"], row["times"]) == ("d", math.inf)
    (row,) = one_audit(AUDITED, {"multirr_audit": table[:1]}).to_dict("records")
    assert (row["holds"], row["setting"]) == ("True", "matrix keep, p = 0.5")


def evidence(**changed: object) -> pd.DataFrame:
    """Return evidence on the records of one release, some of it changed."""
    given = {"unit": "record", "clusters": "recomputed", "note": ["", ""]}
    given |= {"exact_or_lower_bound": [0.0, math.inf], "kind": ["lower bound", "exact"]}
    given |= {"holds": [None, False], "claimed_epsilon": 1.0} | changed
    rest = {"dataset": "wine", "method": "idp_ls", "reading": "as it runs", "k": 3.0}
    rest |= {"epsilon": 1.0, "domain_factor": 1.5, "domain": "public", "attribute": "x"}
    return pd.DataFrame(rest | given)


def test_evidence_on_one_case_counts_once_and_a_bound_below_the_claim_decides_nothing() -> None:
    (row,) = one_audit(AUDITED, {"idp_audit": evidence()}).to_dict("records")
    assert (row["cases"], row["fail"], row["kind"]) == (1, 1, "exact")
    weak = evidence(exact_or_lower_bound=[0.0, 0.2], kind="lower bound", holds=[None, None])
    (row,) = one_audit(AUDITED, {"idp_audit": weak}).to_dict("records")
    assert (row["cases"], row["hold"], row["fail"], row["holds"]) == (1, 0, 0, "")
    assert (row["kind"], row["exact_epsilon"]) == ("lower bound", 0.2)
    drawn = evidence(note=["", "released numbers, 20 releases"])
    assert one_audit(AUDITED, {"idp_audit": drawn})["holds"].tolist() == [""]


def test_a_release_is_audited_under_its_own_name() -> None:
    numbers = of_release(mechanism="masked")
    found = one_audit(AUDITED, {}, [("mine", of_release()), ("sums", numbers)])
    assert set(found["source"]) == {"release mine", "release sums"}
    assert set(found["claim"]) == {STATED}
    assert found["holds"].eq("True").all()
    assert set(found["shown_by"]) == {
        "releases/mine/public/plan.json",
        "releases/sums/public/plan.json",
    }


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
    assert len(one_audit(AUDITED, {})) == 0
    assert tuple(one_audit(AUDITED, {}).columns) == COLUMNS
