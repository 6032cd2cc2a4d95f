"""The audit of [multirr] over all its settings, and of the samplers of a release."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from deniable.channels import KeepOrReplace
from deniable.pipeline.config import release_from
from deniable.randomized_response import audit as multirr_audit
from deniable.randomized_response.audit import audit_multirr, audit_release_samplers, clusters_table
from deniable.randomized_response.dependence import dependences
from deniable.randomized_response.protocols import claimed_epsilon, rr_independent
from deniable.records.categorical import Microdata
from deniable.release.categorical.design import describe, design


@pytest.fixture(scope="module")
def audited(small_data: Microdata) -> pd.DataFrame:
    measured = dependences(small_data)
    return audit_multirr(small_data.domain, measured, [0.1, 0.7], [6, 12], [0.05, 0.06])


def test_every_setting_has_its_rows(audited: pd.DataFrame, small_data: Microdata) -> None:
    keys = ["mechanism", "matrix", "p", "t_v", "unit", "of"]
    assert not audited.duplicated(keys).any()
    records = audited[audited["unit"] == "record"]
    # 3 readings x 2 p: once for RR-Independent, and for each T_v and mechanism of RR-Clusters.
    assert len(records) == 6 * (1 + 2 * 2)
    attributes = audited[audited["unit"] == "attribute"]
    assert len(attributes) == 6 * len(small_data.domain)


def test_whole_records_hold_and_single_attributes_of_joint_clusters_do_not(
    audited: pd.DataFrame,
) -> None:
    inside = audited["unit"] == "one attribute in its cluster"
    joint = audited["mechanism"] == "rr_clusters joint"
    assert inside.any()
    assert audited.loc[~inside, "holds"].all()
    assert audited.loc[inside & ~joint, "holds"].all()
    assert not audited.loc[inside & joint, "holds"].any()
    assert (audited["kind"] == "exact").all()


def test_the_record_is_the_sum_of_its_attributes(
    audited: pd.DataFrame, small_data: Microdata
) -> None:
    for (matrix, p), rows in audited[audited["unit"] == "record"].groupby(["matrix", "p"]):
        by_formula = sum(claimed_epsilon(size, p, matrix) for size in small_data.domain.shape)
        assert rows["exact_epsilon"].nunique() == 1
        assert rows["exact_epsilon"].iloc[0] == pytest.approx(by_formula, rel=1e-12)
        protocol = rr_independent(small_data.domain, p, matrix)
        assert protocol.epsilon == pytest.approx(rows["exact_epsilon"].iloc[0], rel=1e-11)


def test_clusters_table_lists_a_partition_for_each_setting(small_data: Microdata) -> None:
    table = clusters_table(small_data.domain, dependences(small_data), [6, 12], [0.05, 1.0])
    for (t_v, t_d), rows in table.groupby(["t_v", "t_d"]):
        names = [name for cluster in rows["cluster"] for name in cluster.split(" x ")]
        assert sorted(names) == sorted(small_data.domain.names)
        assert (rows["cells"] <= max(t_v, 4)).all()
        if t_d == 1.0:
            assert (rows["attributes"] == 1).all()


# -- samplers of a release -------------------------------------------------------------------------


@pytest.fixture
def description(small_data: Microdata) -> dict[str, Any]:
    release = release_from(
        {"name": "r", "data": "adult", "mechanism": "rr_clusters", "cluster_mechanism": "joint",
         "matrix": "keep", "p": 0.6, "t_v": 12, "t_d": 0.05, "rehearsal": True}
    )  # fmt: skip
    return describe(release, design(release, small_data), "original")


def test_the_samplers_that_ship_pass(description: dict[str, Any]) -> None:
    table = audit_release_samplers(description, 1, draws=50_000)
    assert list(table) == multirr_audit.SAMPLER_COLUMNS
    assert len(table) == len(description["clusters"])
    assert table["holds"].all()
    assert (table["impossible"] == 0).all()


def test_the_test_is_the_same_for_the_same_seed(description: dict[str, Any]) -> None:
    pd.testing.assert_frame_equal(
        audit_release_samplers(description, 1, draws=5_000),
        audit_release_samplers(description, 1, draws=5_000),
    )


def test_a_sampler_that_keeps_too_often_is_caught(
    description: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def randomize(self: KeepOrReplace, codes: np.ndarray, source: Any) -> np.ndarray:
        replaced = source.random(codes.size) >= self.diagonal_weight + 0.02
        return np.where(replaced, source.integers(0, self.size, codes.size), codes)

    monkeypatch.setattr(KeepOrReplace, "randomize", randomize)
    assert not audit_release_samplers(description, 1).query("cells > 1")["holds"].any()


def test_a_sampler_that_reports_what_is_impossible_is_caught(
    description: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    identity = {"kind": "keep-or-replace", "diagonal_weight": 1.0}
    for cluster in description["clusters"]:
        size = len(cluster["channel"]["replacement"])
        cluster["channel"] = identity | {"replacement": [0.0] * size}
    assert audit_release_samplers(description, 1, draws=1000)["holds"].all()

    def randomize(self: KeepOrReplace, codes: np.ndarray, source: Any) -> np.ndarray:
        reports = codes.copy()
        reports[0] = 1
        return reports

    monkeypatch.setattr(KeepOrReplace, "randomize", randomize)
    table = audit_release_samplers(description, 1, draws=1000)
    assert (table["impossible"] == 1).all()
    assert not table["holds"].any()


def test_an_epsilon_that_is_not_finite_is_not_hidden() -> None:
    channel = KeepOrReplace(1.0, np.zeros(3))
    assert channel.epsilon == math.inf
