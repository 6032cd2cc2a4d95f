"""The audit's tables and figures on a small file: columns, verdicts that follow from numbers."""

import math
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest
from tests.reproduction.papers.idp.tables import ATTACK_COLUMNS, CLUSTER_COLUMNS, PROTECTION_COLUMNS

from deniable.display.style import save
from deniable.idp.audit.report import (
    COLUMNS,
    OF_FIXED_CLUSTERS,
    AuditedFile,
    ClusteredFile,
    audit_file,
)
from deniable.idp.methods import Variant
from deniable.records.numeric import NumericMicrodata

from reproduction.papers.idp import figures
from reproduction.papers.idp.attacks import attack_table, protection_table
from reproduction.papers.idp.audit import audit_table, cluster_table, file_of, of_datasets

CONTRACT = [
    "dataset",
    "method",
    "reading",
    "unit",
    "k",
    "claimed_epsilon",
    "exact_or_lower_bound",
    "kind",
    "holds",
]
KS = (3, 8)
OF: dict[str, Any] = {"k": KS, "epsilons": (0.1, 1.0)}


@pytest.fixture(scope="module")
def data() -> NumericMicrodata:
    generator = np.random.default_rng(21)
    values = np.column_stack(
        [
            generator.gamma(2.0, 20.0, 90).round(),
            # Many equal values: clusters of them get no noise.
            np.maximum(generator.normal(-3, 6, 90), 0).round(),
        ]
    )
    return NumericMicrodata(("income", "interest"), values)


@pytest.fixture(scope="module")
def audit(data: NumericMicrodata) -> pd.DataFrame:
    return audit_table("small", data, 7, **OF, domain_factors=(1.5, 10.0), releases=10)


@pytest.fixture(scope="module")
def attacks(data: NumericMicrodata) -> pd.DataFrame:
    return attack_table(file_of("small", data, 1.5), 7, **OF, runs=400)


def test_the_table_has_its_columns_and_units(audit: pd.DataFrame) -> None:
    assert list(audit.columns) == list(COLUMNS)
    assert list(audit.columns[: len(CONTRACT)]) == CONTRACT
    assert set(audit["unit"]) == {"centroid", "attribute", "record"}
    assert set(audit["kind"]) == {"exact", "lower bound"}
    assert set(audit["method"]) == set(get_args(Variant))


def test_verdicts_follow_from_the_numbers(audit: pd.DataFrame) -> None:
    within = audit["exact_or_lower_bound"] <= audit["claimed_epsilon"] * (1 + 1e-9)
    exact = audit["kind"] == "exact"
    assert (audit["holds"].isna() == (within & ~exact)).all()
    known = audit["holds"].notna()
    assert (audit.loc[known, "holds"].astype(bool) == within[known]).all()


def test_what_holds_and_what_does_not(audit: pd.DataFrame) -> None:
    public = audit[(audit["domain"] == "public") & audit["note"].isin(["", OF_FIXED_CLUSTERS])]
    conditional = public["note"] == OF_FIXED_CLUSTERS
    assert (conditional == (public["clusters"] == "fixed")).all()

    def verdicts(method: str, unit: str, clusters: str, reading: str) -> set[bool]:
        rows = public[
            (public["method"] == method)
            & (public["unit"] == unit)
            & (public["clusters"] == clusters)
            & (public["reading"] == reading)
        ]
        assert len(rows)
        return set(rows["holds"])

    for unit in ("centroid", "attribute", "record"):
        assert verdicts("dp", unit, "none", "as it runs") == {True}
        for method in ("dp_um", "idp_ls", "idp_cbls"):
            assert verdicts(method, unit, "fixed", "scale frozen") == {True}
    assert verdicts("dp_um", "attribute", "recomputed", "as it runs") == {True}
    assert verdicts("idp_cbls", "centroid", "recomputed", "scale frozen") == {True}
    assert verdicts("idp_cbls", "attribute", "recomputed", "scale frozen") == {False}
    assert verdicts("idp_cbls", "centroid", "recomputed", "as it runs") == {False}
    assert verdicts("idp_cbls_prose", "centroid", "fixed", "scale frozen") == {False}


def test_released_records_have_no_finite_epsilon(audit: pd.DataFrame) -> None:
    rows = audit[audit["note"] == "the partition into clusters is released"]
    assert set(rows["method"]) == set(get_args(Variant)) - {"dp"}
    assert np.isinf(rows["exact_or_lower_bound"]).all()
    assert (rows["kind"] == "exact").all()
    assert not rows["holds"].any()
    assert (rows["delta"] > 0.5).all()


def test_a_domain_made_from_the_data_spares_nobody(audit: pd.DataFrame) -> None:
    rows = audit[audit["domain"] == "from the data"]
    assert "dp" in set(rows["method"])
    assert np.isinf(rows["exact_or_lower_bound"]).all()


def test_all_attributes_at_once_by_listing(data: NumericMicrodata) -> None:
    # The record's worst new values in both attributes, against every pair of new values.
    upper = 1.5 * data.values.max(axis=0)
    file = AuditedFile("small", data.names, data.values, upper, 1.5)
    clustered = ClusteredFile(file, 8)
    together = file.of_all_attributes(clustered.frozen_losses("idp_cbls")["recomputed"])
    scales = clustered.shipped("idp_cbls", 1.0).scales
    centres = clustered.shipped("idp_cbls", 1.0).centres
    for record in (0, 17):
        worst = 0.0
        for end in (np.zeros(2), upper):
            for both in ((0, 1), (0,), (1,)):
                table = data.values.copy()
                table[record, list(both)] = end[list(both)]
                own = AuditedFile("small", data.names, table, upper, 1.5)
                moved = ClusteredFile(own, 8).shipped("idp_cbls", 1.0).centres - centres
                told = np.divide(np.abs(moved), scales, out=np.zeros_like(moved), where=scales > 0)
                worst = max(worst, float(told.sum()))
        assert worst <= together[record] + 1e-9
        assert together[record] <= 4 * worst


def test_one_cluster_is_released_like_its_centroid(data: NumericMicrodata) -> None:
    upper = 1.5 * data.values.max(axis=0)
    file = AuditedFile("small", data.names, data.values, upper, 1.5)
    rows = audit_file(file, [60], [1.0], ["dp_um"])
    released = rows[rows["note"] == "the partition into clusters is released"]
    assert set(released["exact_or_lower_bound"]) == {0.0}
    assert released["holds"].isna().all()


def test_clusters(data: NumericMicrodata) -> None:
    table = cluster_table("small", data, KS, (1.5,))
    assert list(table.columns) == list(CLUSTER_COLUMNS)
    own = table.set_index(["method", "attribute", "k"]).sort_index()
    assert np.allclose(own.loc["idp_cbls", "tightness_fixed"], 1.0)
    assert np.allclose(own.loc["idp_ls", "tightness_fixed"], 1.0)
    assert (own.loc["idp_cbls_prose", "tightness_fixed"] > 1).all()
    assert (own.loc["dp_um", "attribute_times_claimed"] <= 1 + 1e-9).all()
    exact = own.loc[("idp_cbls", "interest", 3), "clusters_without_noise"]
    ordered = np.sort(data.column("interest"))
    assert exact == np.mean([np.ptp(part) == 0 for part in ordered.reshape(-1, 3)])


def test_attacks(attacks: pd.DataFrame) -> None:
    assert list(attacks.columns) == list(ATTACK_COLUMNS)
    assert not (attacks["holds"] == True).any()  # noqa: E712 - of a column with empty cells
    partition = attacks[attacks["attack"] == "partition"]
    assert (partition["accuracy"] > 0.8).all()
    plain = attacks[attacks["method"] == "dp"]
    assert plain["holds"].isna().all()
    assert np.allclose(
        attacks["allowed"], [math.exp(e) / (1 + math.exp(e)) for e in attacks["claimed_epsilon"]]
    )


def test_protection(data: NumericMicrodata) -> None:
    table = protection_table(file_of("small", data, 1.5), 7, **OF)
    assert list(table.columns) == list(PROTECTION_COLUMNS)
    both = of_datasets([table, table], ["published", "surrogate"])
    assert len(both) == 2 * len(table) - (table["dataset"] == "none").sum()
    twins = table[table["measure"] == "loss between clusters with one mean"]
    assert dict(zip(twins["method"], twins["less_protection"], strict=False)) == {
        "dp_um": False,
        "idp_ls": True,
        "idp_cbls": True,
    }


def test_equal_seeds_give_equal_tables(data: NumericMicrodata) -> None:
    of = file_of("small", data, 1.5), 7, (8,), (1.0,), 50
    first, again = (attack_table(*each) for each in (of, of))
    pd.testing.assert_frame_equal(first, again)


def test_figures(audit: pd.DataFrame, attacks: pd.DataFrame, tmp_path: Path) -> None:
    for source in ("published", "surrogate"):
        first = of_datasets([audit], [source])
        second = of_datasets([attacks], [source])
        drawn = figures.audit(first), figures.attacks(second)
        for number, figure in enumerate(drawn):
            texts = " ".join(text.get_text() for text in figure.texts)
            assert ("SURROGATE" in texts) == (source == "surrogate")
            if source == "surrogate":
                continue
            files = tmp_path / f"{number}.svg", tmp_path / f"{number}.png"
            save(figure, *files)
            assert all(file.stat().st_size for file in files)
    titles = [axis.get_title() for axis in drawn[0].axes]
    assert titles[0] == "one centroid"
