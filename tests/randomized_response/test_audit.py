"""The audit of [multirr] over all its settings, and of the samplers of a release."""

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from deniable.channels import DenseChannel, KeepOrReplace
from deniable.channels.exact import log_rounded_up
from deniable.errors import DeniableError
from deniable.randomized_response import audit as multirr_audit
from deniable.randomized_response.audit import (
    Finding,
    audit_cluster,
    audit_multirr,
    claimed_odds,
    clusters_table,
)
from deniable.randomized_response.dependence import dependences
from deniable.randomized_response.protocols import (
    CLUSTER_MECHANISMS,
    READINGS,
    ClusterMechanism,
    Reading,
    claimed_epsilon,
    cluster_channel,
    rr_channel,
    rr_independent,
    rr_odds,
)
from deniable.records.categorical import Microdata


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


def test_an_epsilon_that_is_not_finite_is_not_hidden() -> None:
    channel = KeepOrReplace(1.0, np.zeros(3))
    assert channel.epsilon == math.inf


# -- against brute force over fractions ------------------------------------------------------------


def printed_rows(size: int, p: Fraction, reading: Reading) -> list[list[Fraction]]:
    """Write the matrices of 6.3.1 down entry by entry, as the docstring of rr_channel says them."""
    rows = []
    for u in range(size):
        if reading == "keep":
            row = [(1 - p) / size + (p if u == v else 0) for v in range(size)]
        elif reading == "diagonal":
            row = [p if u == v else (1 - p) / (size - 1) for v in range(size)]
        else:
            row = [p if u == v else (1 - p) / size for v in range(size)]
            row = [entry / sum(row) for entry in row]
        rows.append(row)
    return rows


def cluster_rows(
    sizes: Sequence[int], p: Fraction, reading: Reading, mechanism: ClusterMechanism
) -> dict[tuple[int, ...], dict[tuple[int, ...], Fraction]]:
    """Return the matrix of a cluster of two or more attributes, from cell to cell."""
    factors = [printed_rows(size, p, reading) for size in sizes]
    cells = list(itertools.product(*(range(size) for size in sizes)))
    if mechanism == "kronecker":
        return {
            u: {v: math.prod(f[i][j] for f, i, j in zip(factors, u, v, strict=True)) for v in cells}
            for u in cells
        }
    odds = math.prod(max(f[0][0] / f[0][1], f[0][1] / f[0][0]) for f in factors)
    total = odds + len(cells) - 1
    return {u: {v: (odds if u == v else 1) / total for v in cells} for u in cells}


def worst_ratio(
    rows: dict[tuple[int, ...], dict[tuple[int, ...], Fraction]], changed: int | None
) -> Fraction:
    worst = Fraction(1)
    for u, w in itertools.permutations(rows, 2):
        differ = [i for i in range(len(u)) if u[i] != w[i]]
        if changed is not None and differ != [changed]:
            continue
        for v in rows:
            worst = max(worst, rows[u][v] / rows[w][v])
    return worst


SIZES = [(2, 3), (2, 2, 3), (4, 2)]


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("p", ["0.1", "0.3", "0.7"])
@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("mechanism", CLUSTER_MECHANISMS)
def test_the_audit_of_a_cluster_is_that_of_brute_force(
    sizes: tuple[int, ...], p: str, reading: Reading, mechanism: ClusterMechanism
) -> None:
    rows = cluster_rows(sizes, Fraction(p), reading, mechanism)
    for changed in (None, *range(len(sizes))):
        finding = audit_cluster(sizes, p, reading, mechanism, changed)
        assert finding.exact == log_rounded_up(worst_ratio(rows, changed))
        claimed = sizes if changed is None else [sizes[changed]]
        by_formula = sum(claimed_epsilon(size, float(p), reading) for size in claimed)
        assert finding.claimed == pytest.approx(by_formula, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("size", [2, 3, 9, 16])
@pytest.mark.parametrize("p", ["0.05", "0.1", "0.5", "0.9"])
@pytest.mark.parametrize("reading", READINGS)
def test_the_audit_of_an_attribute_is_that_of_brute_force(
    size: int, p: str, reading: Reading
) -> None:
    rows = printed_rows(size, Fraction(p), reading)
    finding = audit_cluster((size,), p, reading)
    worst = max(max(column) / min(column) for column in zip(*rows, strict=True))
    assert finding.exact == log_rounded_up(worst)
    assert finding.holds


@pytest.mark.parametrize("reading", READINGS)
def test_an_attribute_of_one_category_tells_nothing(reading: Reading) -> None:
    assert audit_cluster((1,), "0.3", reading) == Finding(0.0, 0.0, 0.0)
    for mechanism in CLUSTER_MECHANISMS:
        beside = audit_cluster((1, 3), "0.3", reading, mechanism)
        alone = audit_cluster((3,), "0.3", reading)
        assert beside.exact == alone.exact
        assert beside.claimed == pytest.approx(alone.claimed, rel=1e-12)
        assert audit_cluster((1, 3), "0.3", reading, mechanism, 0).exact == 0


# -- against the channel's own answer --------------------------------------------------------------


@pytest.mark.parametrize("sizes", [(2,), (16,), (2, 3), (6, 2, 2), (5, 7)])
@pytest.mark.parametrize("p", ["0.1", "0.3", "0.5", "0.7"])
@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("mechanism", CLUSTER_MECHANISMS)
def test_channel_and_audit_agree(
    sizes: tuple[int, ...], p: str, reading: Reading, mechanism: ClusterMechanism
) -> None:
    # The audit takes p as the decimal that is written, the channel as the nearest float.
    channel = cluster_channel(sizes, float(p), reading, mechanism)
    finding = audit_cluster(sizes, p, reading, mechanism)
    assert channel.epsilon == pytest.approx(finding.exact, rel=1e-11, abs=1e-11)


@pytest.mark.parametrize("reading", READINGS)
def test_a_channel_does_not_claim_less_than_its_own_floats_give(reading: Reading) -> None:
    for size, p in itertools.product((2, 3, 7), (0.1, 0.35, 0.8)):
        channel = rr_channel(size, p, reading)
        dense = DenseChannel(channel.matrix())
        entries = [[Fraction(float(x)) for x in row] for row in dense.entries]
        worst = max(max(c) / min(c) for c in zip(*entries, strict=True))
        assert dense.epsilon == log_rounded_up(worst)
        assert channel.epsilon == pytest.approx(dense.epsilon, rel=1e-12)


# -- claims of one matrix --------------------------------------------------------------------------


@pytest.mark.parametrize("reading", READINGS)
def test_one_attribute_in_a_joint_cluster_has_not_its_own_epsilon(reading: Reading) -> None:
    whole = audit_cluster((3, 4), "0.7", reading, "joint")
    for position in (0, 1):
        joint = audit_cluster((3, 4), "0.7", reading, "joint", position)
        assert not joint.holds
        assert joint.exact == whole.exact
        assert audit_cluster((3, 4), "0.7", reading, "kronecker", position).holds
    assert whole.holds


def test_a_matrix_that_ships_and_is_not_the_one_defined_is_found(monkeypatch) -> None:
    def wrong(sizes: Sequence[int], *how: object) -> KeepOrReplace:
        return KeepOrReplace.uniform(sizes[0], keep=0.9)

    assert audit_cluster((7,), "0.3", "printed").holds
    monkeypatch.setattr(multirr_audit, "cluster_channel", wrong)
    finding = audit_cluster((7,), "0.3", "printed")
    assert finding.exact == pytest.approx(finding.claimed)
    assert finding.shipped == pytest.approx(np.log(1 + 7 * 9))
    assert not finding.holds


def test_odds_by_hand() -> None:
    # p = 1/4, three categories: printed (1/4) / (3/12) = 1; keep (1/4 + 1/4) / (1/4) = 2;
    # diagonal (1/4) / (3/8) = 2/3, whose claim counts as 3/2.
    quarter = Fraction(1, 4)
    assert [rr_odds(3, quarter, reading) for reading in READINGS] == [1, 2, Fraction(2, 3)]
    assert claimed_odds([3, 3], quarter, "diagonal") == Fraction(9, 4)


def test_an_attribute_of_any_size_is_audited() -> None:
    found = audit_cluster((1001,), "0.5", "keep")
    # P[x, x] / P[y, x] = (1/2 + 1/2 / 1001) / (1/2 / 1001)
    assert found.exact == log_rounded_up(Fraction(1002))
    assert found.claimed == pytest.approx(found.exact, rel=1e-14)
    assert found.shipped == pytest.approx(found.exact, rel=1e-14)


def test_what_cannot_be_audited_is_refused() -> None:
    with pytest.raises(DeniableError, match=r"has 1089 cells, .* at most 1000"):
        audit_cluster((33, 33), "0.5", "keep", "joint")
    with pytest.raises(DeniableError, match="changed is 2; give a position below 2"):
        audit_cluster([2, 3], "0.5", "keep", changed=2)
    with pytest.raises(DeniableError, match="unknown reading"):
        rr_odds(3, Fraction(1, 2), "other")  # type: ignore[arg-type]
