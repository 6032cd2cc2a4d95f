"""Assessing dependences without a trusted party: what is sent, what is estimated, what it costs."""

import math
import warnings
from collections import Counter
from collections.abc import Collection
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tests.slow_variants import slow

from deniable.channels import ProductChannel
from deniable.errors import DeniableError
from deniable.privacy.audit import column_epsilon
from deniable.randomized_response.assessment import (
    AssessmentProtocol,
    AttributeReports,
    PairReports,
    SecureSum,
    assessment_protocol,
    two_way_counts,
)
from deniable.randomized_response.dependence import (
    cluster_attributes,
    dependences,
    dependences_from_tables,
    pair_measures,
)
from deniable.randomized_response.protocols import (
    CLUSTER_MECHANISMS,
    READINGS,
    Assessment,
    claimed_epsilon,
)
from deniable.records.categorical import Microdata
from deniable.records.domain import Attribute, Domain

from reproduction.papers.multirr.dependence_assessment import masked_pairs

METHODS: tuple[Assessment, ...] = (
    "attributes",
    "attributes_inverted",
    "secure_sum",
    "pairs_joint",
    "pairs_kronecker",
)
# Each comparison of two samples fails by chance once in 10,000 times.
ERROR_RATE = 1e-4


def assess(
    protocol: AssessmentProtocol,
    data: Microdata,
    source: np.random.Generator,
    ordinal: Collection[str] = (),
) -> pd.DataFrame:
    tables = protocol.tables(protocol.drawn_reports(data, source, 1))
    first = {pair: table[0] for pair, table in tables.items()}
    return dependences_from_tables(first, pair_measures(protocol.domain, ordinal))


def domain_of(*sizes: int) -> Domain:
    return Domain(
        tuple(Attribute(f"a{i}", tuple(map(str, range(size)))) for i, size in enumerate(sizes))
    )


def data_of(sizes: tuple[int, ...], records: int, seed: int = 1) -> Microdata:
    generator = np.random.default_rng(seed)
    return Microdata(
        domain_of(*sizes), tuple(generator.integers(0, size, records) for size in sizes)
    )


# -- what is sent ----------------------------------------------------------------------------------


def test_two_way_counts_are_those_of_the_records(small_data: Microdata) -> None:
    found = two_way_counts(small_data)
    assert list(found) == list(combinations(small_data.domain.names, 2))
    for pair, table in found.items():
        np.testing.assert_array_equal(table, small_data.counts(pair))


@pytest.mark.parametrize("method", METHODS)
def test_every_method_reports_every_party_in_every_pair(
    small_data: Microdata, method: Assessment
) -> None:
    protocol = assessment_protocol(method, small_data.domain, 0.4, "keep")
    generator = np.random.default_rng(5)
    many = protocol.drawn_reports(small_data, generator, 3)
    for pair in combinations(small_data.domain.names, 2):
        shape = small_data.domain.project(pair).shape
        assert many[pair].shape == (3, *shape)
        assert (many[pair].sum(axis=(1, 2)) == len(small_data)).all()
        tables = protocol.tables(many)[pair]
        assert tables.shape == (3, *shape)
        assert tables.min() >= 0


def margins_of_first(protocol: AssessmentProtocol, data: Microdata) -> list[list[int]]:
    reports = protocol.drawn_reports(data, np.random.default_rng(2), 1)
    name = data.domain.names[0]
    return [table[0].sum(axis=1).tolist() for pair, table in reports.items() if pair[0] == name]


def test_pairs_share_a_randomization_in_4_1_and_have_their_own_in_4_3(
    small_data: Microdata,
) -> None:
    shared = margins_of_first(AttributeReports(small_data.domain, 0.4, "keep"), small_data)
    assert shared[0] == shared[1] == shared[2]
    anew = margins_of_first(PairReports(small_data.domain, 0.4, "keep"), small_data)
    assert len({tuple(margin) for margin in anew}) == 3


def counted(tables: np.ndarray) -> Counter[tuple[int, ...]]:
    return Counter(map(tuple, tables.reshape(len(tables), -1).tolist()))


def assert_one_distribution(first: np.ndarray, second: np.ndarray) -> None:
    """Two samples of tables are one distribution: chi-square, rare tables together."""
    a, b = counted(first), counted(second)
    often = [table for table in a | b if a[table] + b[table] >= 20]
    rows = [[sample[table] for table in often] for sample in (a, b)]
    rows = [[*row, sample.total() - sum(row)] for row, sample in zip(rows, (a, b), strict=True)]
    assert len(often) > 5
    assert stats.chi2_contingency(rows).pvalue > ERROR_RATE


@pytest.mark.parametrize("mechanism", CLUSTER_MECHANISMS)
@pytest.mark.parametrize(("p", "reading"), [(0.4, "keep"), slow(0.1, "printed")])
def test_drawn_counts_are_distributed_as_masked_records(mechanism, p, reading) -> None:
    data = data_of((2, 3), 6)
    protocol = PairReports(data.domain, p, reading, mechanism)
    generator = np.random.default_rng(11)
    pair = ("a0", "a1")
    masked = [masked_pairs(protocol, data, generator)[pair].counts(pair) for _ in range(3000)]
    assert_one_distribution(protocol.drawn_reports(data, generator, 6000)[pair], np.stack(masked))


def test_a_pair_of_4_1_is_distributed_as_a_kronecker_pair_of_4_3() -> None:
    data = data_of((2, 3, 2), 6)
    generator = np.random.default_rng(12)
    once = AttributeReports(data.domain, 0.4, "keep").drawn_reports(data, generator, 3000)
    pairs = PairReports(data.domain, 0.4, "keep", "kronecker")
    anew = pairs.drawn_reports(data, generator, 6000)
    for pair in once:
        assert_one_distribution(anew[pair], once[pair])


# -- what is estimated -----------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["attributes_inverted", "pairs_joint", "pairs_kronecker"])
@pytest.mark.parametrize("reading", READINGS)
def test_expected_reports_give_back_the_true_distribution(
    small_data: Microdata, method: Assessment, reading
) -> None:
    protocol = assessment_protocol(method, small_data.domain, 0.35, reading)
    true = two_way_counts(small_data)
    expected = {}
    for pair, table in true.items():
        sizes = small_data.domain.project(pair)
        mechanism = "joint" if method == "pairs_joint" else "kronecker"
        channel = PairReports(sizes, 0.35, reading, mechanism).channels[pair]
        expected[pair] = channel.reported(table.reshape(-1)).reshape(table.shape)
    for pair, table in protocol.tables(expected).items():
        np.testing.assert_allclose(table, true[pair] / len(small_data), atol=1e-12)


def test_the_secure_sum_gives_the_true_dependences(small_data: Microdata) -> None:
    found = assess(
        SecureSum(small_data.domain), small_data, np.random.default_rng(4), ["colour", "region"]
    )
    pd.testing.assert_frame_equal(found, dependences(small_data, ["colour", "region"]))


def test_4_1_measures_the_reports_themselves(small_data: Microdata) -> None:
    protocol = AttributeReports(small_data.domain, 0.6, "keep")
    reports = protocol.protocol.randomize(small_data, np.random.default_rng(3))
    found = assess(protocol, small_data, np.random.default_rng(3))
    pd.testing.assert_frame_equal(found, dependences(reports))


@pytest.mark.parametrize("method", METHODS)
def test_clusters_form_from_every_assessment(small_data: Microdata, method: Assessment) -> None:
    protocol = assessment_protocol(method, small_data.domain, 0.999, "keep")
    found = assess(protocol, small_data, np.random.default_rng(4), ["region"])
    true = dependences(small_data, ["region"])
    assert found.columns.tolist() == true.columns.tolist()
    pd.testing.assert_frame_equal(found.iloc[:, :3], true.iloc[:, :3])
    np.testing.assert_allclose(found["dependence"], true["dependence"], atol=0.1)
    formed = cluster_attributes(small_data.domain, found, 6, 0.3)
    assert formed == cluster_attributes(small_data.domain, true, 6, 0.3)


def test_what_a_singular_matrix_erases_depends_on_nothing() -> None:
    # The printed matrix of nine categories says nothing at p = .1.
    data = data_of((9, 2, 4), 400)
    columns = (data.columns[0], (data.columns[0] > 3).astype(int), data.columns[0] % 4)
    data = Microdata(data.domain, columns)
    generator = np.random.default_rng(4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assess(AttributeReports(data.domain, 0.1, "printed"), data, generator)
    for method in ("attributes_inverted", "pairs_kronecker"):
        protocol = assessment_protocol(method, data.domain, 0.1, "printed")
        with pytest.warns(RuntimeWarning, match="2 of 3 pairs are singular") as caught:
            found = assess(protocol, data, generator)["dependence"]
        assert len(caught) == 1
        assert "a0 x a1, a0 x a2" in str(caught[0].message)
        np.testing.assert_allclose(found[:2], 0, atol=1e-12)
        assert found[2] > 0
    # One matrix for the pair carries what the other attribute pays for.
    joint = PairReports(data.domain, 0.1, "printed", "joint")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (assess(joint, data, generator)["dependence"] > 0).all()


# -- what it costs ---------------------------------------------------------------------------------


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("p", [0.1, 0.7])
def test_epsilons_are_sums(reading, p) -> None:
    domain = domain_of(3, 2, 4, 2)
    each = {a.name: claimed_epsilon(a.size, p, reading) for a in domain}
    total, others = sum(each.values()), len(domain) - 1
    once = AttributeReports(domain, p, reading)
    assert once.epsilon == pytest.approx(total, rel=1e-12)
    assert once.epsilon_by_changed_attribute() == pytest.approx(each, rel=1e-12)
    for mechanism in CLUSTER_MECHANISMS:
        pairs = PairReports(domain, p, reading, mechanism)
        assert pairs.epsilon == pytest.approx(others * total, rel=1e-12)
        assert pairs.waived_epsilon == pytest.approx(total, rel=1e-15)
        told = pairs.epsilon_by_changed_attribute()
        for name, own in each.items():
            whole_pairs = (others - 1) * own + total
            expected = whole_pairs if mechanism == "joint" else others * own
            assert told[name] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("mechanism", CLUSTER_MECHANISMS)
def test_the_epsilon_of_pairs_is_that_of_all_masked_pairs_of_a_record(mechanism) -> None:
    domain = domain_of(2, 3, 2)
    protocol = PairReports(domain, 0.3, "keep", mechanism)
    records = list(product(*(range(size) for size in domain.shape)))
    matrix = np.ones((len(records), 1))
    for pair, channel in protocol.channels.items():
        positions = [domain.position(name) for name in pair]
        shape = domain.project(pair).shape
        cells = [np.ravel_multi_index([record[i] for i in positions], shape) for record in records]
        rows = channel.matrix()[cells]
        matrix = (matrix[:, :, None] * rows[:, None, :]).reshape(len(records), -1)
    assert protocol.epsilon == pytest.approx(column_epsilon(matrix), rel=1e-9)
    told = protocol.epsilon_by_changed_attribute()
    for position, name in enumerate(domain.names):
        classes: dict[tuple[int, ...], list[int]] = {}
        for number, record in enumerate(records):
            classes.setdefault(record[:position] + record[position + 1 :], []).append(number)
        exact = column_epsilon(matrix, list(classes.values()))
        assert told[name] == pytest.approx(exact, rel=1e-9)


def test_the_secure_sum_has_no_epsilon() -> None:
    protocol = SecureSum(domain_of(2, 3))
    assert protocol.epsilon == math.inf
    assert protocol.epsilon_by_changed_attribute() == {"a0": math.inf, "a1": math.inf}


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_one_attribute_has_no_dependence(method: Assessment) -> None:
    with pytest.raises(DeniableError, match="one attribute, 'a0'; dependences need two"):
        assessment_protocol(method, domain_of(3), 0.5, "keep")


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(DeniableError, match="unknown assessment 'guess'; use attributes, "):
        assessment_protocol("guess", domain_of(3, 2), 0.5, "keep")  # type: ignore[arg-type]


def test_channels_are_those_of_clusters_of_two() -> None:
    kronecker = PairReports(domain_of(3, 2), 0.5, "keep", "kronecker").channels["a0", "a1"]
    assert isinstance(kronecker, ProductChannel)
    assert kronecker.shape == (3, 2)
    assert PairReports(domain_of(3, 2), 0.5, "keep").channels["a0", "a1"].size == 6
