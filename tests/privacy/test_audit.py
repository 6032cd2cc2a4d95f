"""The audit finds what is wrong, passes what is right, and agrees with brute force."""

import itertools
import math
from collections.abc import Sequence
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from deniable.channels import DenseChannel, KeepOrReplace
from deniable.channels.ratios import log_rounded_up
from deniable.errors import DeniableError
from deniable.privacy import audit
from deniable.privacy.audit import (
    Finding,
    audit_attribute,
    audit_cluster,
    audit_sampler,
    claimed_odds,
    column_epsilon,
    constant_matrix,
    exact_epsilon,
    rational_odds,
)
from deniable.randomized_response.protocols import claimed_epsilon, cluster_channel, rr_channel
from deniable.randomized_response.readings import (
    CLUSTER_MECHANISMS,
    READINGS,
    ClusterMechanism,
    Reading,
)


def weights(*rows: Sequence[int]) -> np.ndarray:
    return np.array(rows, dtype=object)


# -- exact epsilon ---------------------------------------------------------------------------------


def test_epsilon_by_hand() -> None:
    # Columns (3, 1) and (1, 3): worst ratio 3. Columns (2, 1), (1, 1), (1, 2): 2.
    assert exact_epsilon(weights([3, 1], [1, 3])) == log_rounded_up(Fraction(3))
    assert exact_epsilon(weights([2, 1, 1], [1, 1, 2])) == log_rounded_up(Fraction(2))
    assert exact_epsilon(weights([1, 1], [1, 1])) == 0.0


def test_a_zero_beside_a_positive_probability_is_infinite() -> None:
    assert exact_epsilon(weights([4, 0], [3, 1])) == math.inf


def test_a_report_that_nobody_can_give_says_nothing() -> None:
    assert exact_epsilon(weights([3, 1, 0], [1, 3, 0])) == log_rounded_up(Fraction(3))


def test_only_true_values_of_one_class_are_told_apart() -> None:
    matrix = weights([4, 1, 1], [1, 4, 1], [2, 2, 2])
    assert exact_epsilon(matrix, [[0, 2]]) == log_rounded_up(Fraction(2))
    assert exact_epsilon(matrix, [[0], [1], [2]]) == 0.0
    assert exact_epsilon(weights([4, 0], [3, 1], [4, 0]), [[0, 2], [1]]) == 0.0


@pytest.mark.parametrize("rows", [([1, 2], [2, 2]), ([3, -1], [1, 1])])
def test_weights_that_are_no_distributions_are_refused(rows: Sequence[Sequence[int]]) -> None:
    with pytest.raises(DeniableError, match="negative weights or rows of unequal sum"):
        exact_epsilon(weights(*rows))


def test_epsilon_is_rounded_up() -> None:
    for odds in (Fraction(3), Fraction(7, 3), Fraction(10**9 + 1, 10**9)):
        epsilon = exact_epsilon(constant_matrix(3, odds))
        with localcontext(prec=50):
            true = (Decimal(odds.numerator) / odds.denominator).ln()
            assert Decimal(math.nextafter(epsilon, 0)) < true <= Decimal(epsilon)


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
    finding = audit_attribute(size, p, reading)
    worst = max(max(column) / min(column) for column in zip(*rows, strict=True))
    assert finding.exact == log_rounded_up(worst)
    assert finding.holds


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


# -- claims ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("reading", READINGS)
def test_one_attribute_in_a_joint_cluster_has_not_its_own_epsilon(reading: Reading) -> None:
    whole = audit_cluster((3, 4), "0.7", reading, "joint")
    for position in (0, 1):
        joint = audit_cluster((3, 4), "0.7", reading, "joint", position)
        assert not joint.holds
        assert joint.exact == whole.exact
        assert audit_cluster((3, 4), "0.7", reading, "kronecker", position).holds
    assert whole.holds


def test_a_finding_allows_only_for_the_rounding_of_the_claim() -> None:
    assert Finding(1.0, 1.0 + 5e-13, 1.0 + 5e-10).holds
    assert not Finding(1.0, 1.0 + 1e-11, 1.0).holds
    assert not Finding(1.0, 1.0, 1.0 + 1e-8).holds
    assert not Finding(1.0, math.inf, 1.0).holds
    assert not Finding(1.0, 1.0, math.inf).holds
    assert Finding(math.inf, math.inf, math.inf).holds


def test_a_matrix_that_ships_and_is_not_the_one_defined_is_found(monkeypatch) -> None:
    def wrong(size: int, p: float, reading: Reading) -> KeepOrReplace:
        return KeepOrReplace.uniform(size, keep=0.9)

    assert audit_attribute(7, "0.3", "printed").holds
    monkeypatch.setattr(audit, "rr_channel", wrong)
    finding = audit_attribute(7, "0.3", "printed")
    assert finding.exact == pytest.approx(finding.claimed)
    assert finding.shipped == pytest.approx(np.log(1 + 7 * 9))
    assert not finding.holds


def test_column_epsilon_by_hand() -> None:
    assert column_epsilon(np.eye(2)) == math.inf
    assert column_epsilon([[0.5, 0.5, 0], [0.5, 0.5, 0], [0.5, 0.5, 0]]) == 0
    assert column_epsilon([[0.75, 0.25], [0.25, 0.75]]) == pytest.approx(np.log(3), rel=1e-14)
    assert column_epsilon([[0.75, 0.25], [0.25, 0.75]]) >= np.log(3)
    rows = [[0.5, 0.5], [0.25, 0.75], [0.5, 0.5], [0.5, 0.5]]
    padded = np.hstack([np.array(rows) / 2, np.full((4, 2), 0.25)])
    assert column_epsilon(padded, [[0, 2], [1], [3]]) == 0
    assert column_epsilon(padded, [[0, 1], [2, 3]]) == pytest.approx(np.log(2), rel=1e-14)


def test_odds_by_hand() -> None:
    # p = 1/4, three categories: printed (1/4) / (3/12) = 1; keep (1/4 + 1/4) / (1/4) = 2;
    # diagonal (1/4) / (3/8) = 2/3, whose claim counts as 3/2.
    quarter = Fraction(1, 4)
    assert [rational_odds(3, quarter, reading) for reading in READINGS] == [1, 2, Fraction(2, 3)]
    assert claimed_odds([3, 3], quarter, "diagonal") == Fraction(9, 4)


def test_what_cannot_be_audited_is_refused() -> None:
    with pytest.raises(DeniableError, match="1089 cells is over the 1000"):
        audit_cluster((33, 33), "0.5", "keep", "joint")
    with pytest.raises(DeniableError, match="unknown reading"):
        rational_odds(3, Fraction(1, 2), "other")  # type: ignore[arg-type]


# -- samplers --------------------------------------------------------------------------------------

MATRIX = np.array([[0.7, 0.3, 0.0], [0.1, 0.8, 0.1], [0.0, 0.25, 0.75]])


def sampler_of(matrix: np.ndarray, seed: int):
    generator = np.random.default_rng(seed)

    def randomize(codes: np.ndarray) -> np.ndarray:
        cumulative = matrix.cumsum(axis=1)[codes]
        return (generator.random(codes.size)[:, None] >= cumulative[:, :-1]).sum(axis=1)

    return randomize


def test_a_right_sampler_passes_at_the_stated_rate() -> None:
    values = [audit_sampler(sampler_of(MATRIX, s), MATRIX, 500).p_value for s in range(400)]
    # P-values of a right sampler are uniform; this fails by chance once in 10,000.
    assert np.mean(values) == pytest.approx(0.5, abs=3.9 * np.sqrt(1 / 12 / 400))
    assert all(audit_sampler(sampler_of(MATRIX, s), MATRIX, 50).impossible == 0 for s in range(20))


def test_a_biased_sampler_is_caught() -> None:
    biased = MATRIX + np.array([[0.02, -0.02, 0], [0, 0, 0], [0, 0, 0]])
    test = audit_sampler(sampler_of(biased, 1), MATRIX, 50_000)
    assert test.p_value < 1e-10
    assert test.impossible == 0
    assert test.draws == 150_000


def test_rare_reports_that_all_go_to_one_category_are_caught() -> None:
    # 84 cells, each other cell expected 3 times a row: too rare for a test cell by cell.
    channel = cluster_channel((7, 6, 2), 0.7, "keep", "joint")

    def randomize(codes: np.ndarray) -> np.ndarray:
        reports = channel.randomize(codes, np.random.default_rng(4))
        return np.where(reports == codes, reports, 0)

    wrong = audit_sampler(randomize, channel.matrix(), 4760)
    assert wrong.rare_p_value < 1e-10
    assert wrong.p_value < 1e-10
    right = audit_sampler(
        lambda codes: channel.randomize(codes, np.random.default_rng(4)), channel.matrix(), 4760
    )
    assert right.rare_p_value > 1e-4  # fails by chance once in 10,000 seeds
    assert right.p_value > 1e-4


def test_an_impossible_report_is_caught_however_rare() -> None:
    def randomize(codes: np.ndarray) -> np.ndarray:
        reports = sampler_of(MATRIX, 2)(codes)
        reports[0] = 2  # the first record's true category is 0
        return reports

    test = audit_sampler(randomize, MATRIX, 1000)
    assert test.impossible == 1


def test_degrees_of_freedom_by_hand() -> None:
    # Possible reports less one in each row: 1 + 2 + 1.
    assert audit_sampler(sampler_of(MATRIX, 3), MATRIX, 1000).degrees_of_freedom == 4
    identity = audit_sampler(lambda codes: codes, np.eye(3), 100)
    assert (identity.degrees_of_freedom, identity.p_value, identity.impossible) == (0, 1.0, 0)


def test_rare_reports_are_pooled() -> None:
    row = np.array([0.9, 0.097, 0.001, 0.001, 0.001])
    matrix = np.tile(row, (5, 1))
    values = [audit_sampler(sampler_of(matrix, s), matrix, 300).p_value for s in range(300)]
    assert np.mean(np.array(values) < 0.05) < 0.12
