"""The cost of assessing dependences: claims, proofs by enumeration, and all that is spent."""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest

from deniable.errors import DeniableError
from deniable.privacy.audit import Matrix, constant_matrix, exact_epsilon
from deniable.randomized_response.assessment import AttributeReports, PairReports
from deniable.randomized_response.audit import (
    ASSESSMENTS,
    SUMMED,
    WAIVED,
    audit_assessments,
    audit_multirr,
    claimed_odds,
    risk_table,
)
from deniable.randomized_response.dependence import cluster_attributes, dependences
from deniable.randomized_response.protocols import (
    CLUSTER_MECHANISMS,
    READINGS,
    ClusterMechanism,
    Reading,
    rr_clusters,
    rr_odds,
)
from deniable.randomized_response.waiver import (
    aggregate_epsilon,
    aggregate_matrix,
    two_sums_delta,
    waiver_table,
    worst_ones,
)
from deniable.records.categorical import Microdata
from deniable.records.domain import Attribute, Domain

P = [0.1, 0.7]


@pytest.fixture(scope="module")
def audited(small_data: Microdata) -> pd.DataFrame:
    return audit_assessments(small_data.domain, P)


# -- claims ----------------------------------------------------------------------------------------


def test_rows_are_those_of_the_audit_of_all_claims(
    audited: pd.DataFrame, small_data: Microdata
) -> None:
    others = audit_multirr(small_data.domain, dependences(small_data), P, [12], [0.05])
    both = pd.concat([others, audited], ignore_index=True)
    assert list(audited) == list(others) == list(both)
    assert (audited.dtypes == others.dtypes).all()
    assert not both.duplicated(["mechanism", "matrix", "p", "t_v", "unit", "of"]).any()
    # A record of 4.1; for each mechanism of 4.3 two claims for a record, one for each attribute.
    assert len(audited) == len(READINGS) * len(P) * (1 + 2 * (2 + len(small_data.domain)))


def test_composition_holds_and_the_waiver_does_not(
    audited: pd.DataFrame, small_data: Microdata
) -> None:
    claims = audited.set_index("of")
    assert claims.loc["all attributes", "holds"].all()
    assert claims.loc[SUMMED, "holds"].all()
    assert not claims.loc[WAIVED, "holds"].any()
    assert not audited.loc[audited["unit"] == "attribute", "holds"].any()
    pairs_an_attribute = len(small_data.domain) - 1
    ratio = claims.loc[WAIVED, "exact_epsilon"] / claims.loc[WAIVED, "claimed_epsilon"]
    assert ratio.to_numpy() == pytest.approx(pairs_an_attribute, rel=1e-12)
    np.testing.assert_allclose(audited["shipped_epsilon"], audited["exact_epsilon"], rtol=1e-9)


def test_the_library_states_what_the_audit_finds(
    audited: pd.DataFrame, small_data: Microdata
) -> None:
    for (matrix, p), rows in audited.groupby(["matrix", "p"]):
        exact = rows.set_index(["mechanism", "of"])["exact_epsilon"]
        once = AttributeReports(small_data.domain, p, matrix)
        assert once.epsilon == pytest.approx(
            exact["assessment attributes", "all attributes"], rel=1e-9
        )
        for mechanism in CLUSTER_MECHANISMS:
            pairs = PairReports(small_data.domain, p, matrix, mechanism)
            name = f"assessment pairs_{mechanism}"
            assert pairs.epsilon == pytest.approx(exact[name, SUMMED], rel=1e-9)
            for attribute, epsilon in pairs.epsilon_by_changed_attribute().items():
                told = exact[name, f"{attribute}, as if released once"]
                assert epsilon == pytest.approx(told, rel=1e-9)


# -- the proposition, by enumeration ---------------------------------------------------------------


def pair_matrices(
    sizes: Sequence[int], p: str, mechanism: ClusterMechanism
) -> tuple[list[Matrix], list[tuple[int, ...]]]:
    """Return the weights of all pairs, and for each record its cell in each of them."""
    pairs = list(combinations(range(len(sizes)), 2))
    odds = [rr_odds(size, Fraction(p), "keep") for size in sizes]
    matrices = [
        constant_matrix(
            sizes[i] * sizes[j], claimed_odds([sizes[i], sizes[j]], Fraction(p), "keep")
        )
        if mechanism == "joint"
        else np.kron(constant_matrix(sizes[i], odds[i]), constant_matrix(sizes[j], odds[j]))
        for i, j in pairs
    ]
    records = product(*(range(size) for size in sizes))
    return matrices, [tuple(r[i] * sizes[j] + r[j] for i, j in pairs) for r in records]


@pytest.mark.parametrize("mechanism", CLUSTER_MECHANISMS)
def test_sums_over_two_parties_cost_as_much_as_a_partys_own_masked_pairs(
    mechanism: ClusterMechanism,
) -> None:
    # Three binary attributes, all three pairs: 1,000 outcomes, each with each record of the other.
    matrices, records = pair_matrices((2, 2, 2), "0.3", mechanism)
    once = sum(float(np.log(float(rr_odds(2, Fraction("0.3"), "keep")))) for _ in range(3))
    alone = aggregate_epsilon(matrices, records, 1)
    assert alone == pytest.approx(2 * once, rel=1e-12)  # every attribute in two pairs
    assert aggregate_epsilon(matrices, records, 2) == alone
    # A change of the last attribute alone.
    two = [records[0], records[1]]
    told = PairReports(
        Domain(tuple(Attribute(name, ("0", "1")) for name in "abc")), 0.3, "keep", mechanism
    ).epsilon_by_changed_attribute()["c"]
    for parties in (1, 2, 3):
        assert aggregate_epsilon(matrices, two, parties) == pytest.approx(told, rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_the_proposition_for_any_two_matrices_and_up_to_three_parties(seed: int) -> None:
    # Attributes a, b, c in the pairs (a, b) and (a, c); weights of no special form.
    generator = np.random.default_rng(seed)
    matrices = []
    for _ in range(2):
        weights = generator.integers(1, 9, (4, 4)).astype(object)
        weights[:, 3] = 40 - weights[:, :3].sum(axis=1)
        matrices.append(weights)
    records = [(2 * a + b, 2 * a + c) for a, b, c in product(range(2), repeat=3)]
    worst = max(
        math.prod(
            max(Fraction(own, other) for own, other in zip(m[x], m[y], strict=True))
            for m, x, y in zip(matrices, first, second, strict=True)
        )
        for first in records
        for second in records
    )
    expected = exact_epsilon(constant_matrix(2, worst))  # its logarithm, rounded as all others
    assert aggregate_epsilon(matrices, records, 1) == expected
    assert aggregate_epsilon(matrices, records, 2) == expected
    chosen = [records[i] for i in (0, 3, 5)]
    known = [aggregate_epsilon(matrices, chosen, parties) for parties in (1, 2, 3)]
    assert len(set(known)) == 1


def test_whatever_the_others_hold_the_worst_output_is_as_bad() -> None:
    matrix, truths = constant_matrix(3, Fraction(5, 2)), [(0,), (1,), (2,)]
    for others in product(range(3), repeat=3):
        sums = aggregate_matrix([matrix], truths, others)
        assert sums.shape == (3, math.comb(6, 2))
        assert set(sums.sum(axis=1)) == {9**4}  # rows of 5 + 2 + 2
        assert exact_epsilon(sums) == exact_epsilon(matrix)


def test_a_report_that_only_some_can_give_stays_infinitely_telling() -> None:
    matrix = np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1]], dtype=object)
    for parties in (1, 2, 4):
        assert aggregate_epsilon([matrix], [(0,), (1,), (2,)], parties) == math.inf


def test_what_is_too_large_to_enumerate_is_refused() -> None:
    matrices, records = pair_matrices((3, 3, 3), "0.5", "joint")
    with pytest.raises(DeniableError, match=r"3 parties with 27 records .* too many to enumerate"):
        aggregate_epsilon(matrices, records, 3)


# -- what unlinkability buys -----------------------------------------------------------------------


def slow_delta(ones: int, zeros: int, keep: Fraction, claim: Fraction) -> Fraction:
    """Hockey-stick divergence from every sequence of reports of every party."""
    values = [None, *[1] * ones, *[0] * zeros]
    counts: list[dict[int, Fraction]] = []
    for own in (1, 0):
        found: dict[int, Fraction] = {}
        for reports in product((0, 1), repeat=len(values)):
            probability = Fraction(1)
            for report, value in zip(reports, values, strict=True):
                true = own if value is None else value
                probability *= keep if report == true else 1 - keep
            found[sum(reports)] = found.get(sum(reports), Fraction(0)) + probability
        counts.append(found)
    if_one, if_zero = counts
    return sum(
        (
            max(Fraction(0), if_one[i] * if_one[j] - claim * if_zero[i] * if_zero[j])
            for i in if_one
            for j in if_one
        ),
        Fraction(0),
    )


@pytest.mark.parametrize("keep", [Fraction(3, 4), Fraction(11, 20)])
@pytest.mark.parametrize(("ones", "zeros"), [(0, 0), (1, 0), (0, 2), (2, 1), (3, 2)])
def test_delta_is_that_of_all_reports(ones: int, zeros: int, keep: Fraction) -> None:
    crowd, parity = (ones, zeros, keep), keep / (1 - keep)
    for claim in (Fraction(1), Fraction(6, 5), parity, parity**2 * Fraction(99, 100)):
        assert two_sums_delta(*crowd, claim) == slow_delta(*crowd, claim)
    # No delta is needed at the summed epsilon, for any number of parties; some below it.
    assert two_sums_delta(*crowd, parity**2) == 0
    assert two_sums_delta(*crowd, parity**2 * Fraction(99, 100)) > 0


def test_the_worst_crowd_is_the_worst_of_all() -> None:
    keep = Fraction(11, 20)
    for parties in (0, 1, 2, 5, 12, 39):
        worst = worst_ones(parties, keep, Fraction(11, 9))
        deltas = [
            two_sums_delta(ones, parties - ones, keep, Fraction(11, 9))
            for ones in range(parties + 1)
        ]
        assert deltas[worst] == max(deltas)
    assert worst == 38  # of 39: not always all alike


def test_delta_of_the_waiver_falls_with_the_parties() -> None:
    table = waiver_table([0.5, 0.7], (1, 2, 3, 10, 60))
    assert not table["holds"].any()
    assert (table["exact_epsilon"] == 2 * table["claimed_epsilon"]).all()
    few = table["parties"] <= 3
    assert table["enumerated_epsilon"].notna().tolist() == few.tolist()
    enumerated = table.loc[few, "enumerated_epsilon"].to_numpy()
    assert enumerated == pytest.approx(table.loc[few, "exact_epsilon"].to_numpy(), rel=1e-12)
    assert (enumerated.reshape(2, -1) == enumerated.reshape(2, -1)[:, :1]).all()  # in parties
    for _, rows in table.groupby("p"):
        assert (rows["delta"].diff().dropna() < 0).all()
        assert rows["delta"].iloc[-1] > 0
    assert table["delta"].iloc[0] == 3 / 8
    assert table.loc[table["parties"] == 1, "trust"].str.startswith("none").all()
    assert table.loc[table["parties"] > 1, "trust"].str.contains("none colludes").all()


def test_a_matrix_that_says_nothing_needs_no_waiver() -> None:
    row = waiver_table([0.5], (10,), ("diagonal",)).iloc[0]
    assert (row["claimed_epsilon"], row["exact_epsilon"], row["delta"]) == (0, 0, 0)
    assert row["holds"]


def test_odds_below_one_are_odds_of_the_other_report() -> None:
    printed = waiver_table([0.1], (1, 5), ("printed",))  # odds 2/9
    ones = worst_ones(4, Fraction(9, 11), Fraction(9, 2))
    exchanged = two_sums_delta(ones, 4 - ones, Fraction(9, 11), Fraction(9, 2))
    assert printed["delta"].iloc[1] == pytest.approx(float(exchanged), rel=1e-15)
    assert printed["claimed_epsilon"].iloc[0] == pytest.approx(math.log(9 / 2), rel=1e-15)


# -- all that is spent -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def risks(small_data: Microdata) -> pd.DataFrame:
    measured = dependences(small_data)
    clusters = {t_v: cluster_attributes(small_data.domain, measured, t_v, 0.05) for t_v in (1, 12)}
    assert len(clusters[12]) < len(clusters[1]) == len(small_data.domain)
    return risk_table(small_data.domain, clusters, P)


def test_every_way_to_spend_has_a_row(risks: pd.DataFrame) -> None:
    assert not risks.duplicated(["matrix", "p", "mechanism", "t_v", "assessment"]).any()
    assert len(risks) == len(READINGS) * len(P) * (1 + 2 * 2 * len(ASSESSMENTS))
    alone = risks[risks["mechanism"] == "rr_independent"]
    assert (alone["assessment"] == "none").all()
    assert alone["t_v"].isna().all()
    flags = ["equal_risk_record", "equal_risk_attribute", "equal_risk_with_assessment"]
    assert alone[flags].all(axis=None)
    assert (alone["attribute_ratio"] == 1).all()


def test_equal_risk_is_that_of_a_record_and_of_a_release_alone(risks: pd.DataFrame) -> None:
    clusters = risks[risks["mechanism"] != "rr_independent"]
    assert clusters["equal_risk_record"].all()
    together = (clusters["mechanism"] == "joint") & (clusters["t_v"] == 12)
    assert not clusters.loc[together, "equal_risk_attribute"].any()
    assert clusters.loc[~together, "equal_risk_attribute"].all()
    assert (clusters.loc[together, "attribute_ratio"] > 1).all()
    unassessed = clusters["assessment"] == "none"
    assert (clusters["equal_risk_with_assessment"] == unassessed).all()


def test_what_assessments_cost(risks: pd.DataFrame, small_data: Microdata) -> None:
    for _, rows in risks[risks["t_v"] == 12].groupby(["matrix", "p", "mechanism"]):
        cost = rows.set_index("assessment")["assessment_epsilon"]
        release = rows["release_epsilon"].iloc[0]
        assert cost["none"] == 0
        assert cost["4.1"] == pytest.approx(release, rel=1e-12)
        assert cost["4.2"] == math.inf
        assert cost["4.3 waived"] == pytest.approx(release, rel=1e-12)
        pairs_an_attribute = len(small_data.domain) - 1
        assert cost["4.3 summed"] == pytest.approx(pairs_an_attribute * release, rel=1e-12)
        assert (rows["total_epsilon"] == rows["release_epsilon"] + rows["assessment_epsilon"]).all()


def test_the_release_is_what_the_library_releases(
    risks: pd.DataFrame, small_data: Microdata
) -> None:
    clusters = cluster_attributes(small_data.domain, dependences(small_data), 12, 0.05)
    keep = risks[(risks["matrix"] == "keep") & (risks["p"] == 0.7) & (risks["t_v"] == 12)]
    rows = keep.drop_duplicates("mechanism").set_index("mechanism")
    for mechanism in CLUSTER_MECHANISMS:
        protocol = rr_clusters(small_data.domain, clusters, 0.7, "keep", mechanism)
        assert rows.loc[mechanism, "release_epsilon"] == pytest.approx(protocol.epsilon, rel=1e-9)
    inside = next(c for c in clusters if rows.loc["joint", "attribute"] in c)
    whole = rr_clusters(small_data.domain, clusters, 0.7, "keep", "joint").channel_of(inside)
    assert rows.loc["joint", "attribute_epsilon"] == pytest.approx(whole.epsilon, rel=1e-9)


def test_an_attribute_that_says_nothing_alone_has_an_infinite_ratio_in_a_cluster() -> None:
    domain = Domain(
        (
            Attribute("nine", tuple("123456789")),
            Attribute("two", ("a", "b")),
            Attribute("z", ("c",)),
        )
    )
    table = risk_table(domain, {18: (("nine", "two"), ("z",))}, [0.1])
    joint = table[(table["mechanism"] == "joint") & (table["matrix"] == "printed")].iloc[0]
    assert (joint["attribute"], joint["attribute_ratio"]) == ("nine", math.inf)
    assert joint["equal_risk_record"]
    assert not joint["equal_risk_attribute"]


@pytest.mark.parametrize("reading", READINGS)
def test_an_attribute_with_one_category_costs_nothing(reading: Reading) -> None:
    two, three = Attribute("two", ("a", "b")), Attribute("three", ("a", "b", "c"))
    without, with_one = (two, three), (two, Attribute("one", ("a",)), three)
    both = (audit_assessments(Domain(each), [0.3]) for each in (without, with_one))
    alone, beside = (table[table["matrix"] == reading] for table in both)
    claims = [table.groupby("of")["claimed_epsilon"].first() for table in (alone, beside)]
    assert claims[1][WAIVED] == claims[0][WAIVED]
    assert claims[1]["one, as if released once"] == 0
    # The others are in one pair more each, and these pairs carry their own epsilon.
    assert claims[1][SUMMED] == pytest.approx(2 * claims[0][SUMMED], rel=1e-12)
    assert beside.loc[beside["of"] == "one, as if released once", "holds"].all()
    spent = risk_table(Domain(with_one), {6: (("two", "one"), ("three",))}, [0.3])
    spent = spent[spent["matrix"] == reading]
    assert (spent["release_epsilon"] == spent["release_epsilon"].iloc[0]).all()
    assert spent["equal_risk_attribute"].all()
