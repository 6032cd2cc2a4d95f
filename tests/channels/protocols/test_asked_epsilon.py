"""An epsilon that is asked for is met, and not exceeded, in fractions."""

import math
from dataclasses import replace
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tests.channels.channel_cases import exact_parity
from tests.channels.protocols.protocol_cases import exact_matrix

from deniable.channels import (
    Channel,
    HadamardResponse,
    KeepOrReplace,
    ProjectiveGeometry,
    SubsetSelection,
    best_protocol,
    protocol_candidates,
)
from deniable.channels.makers import MAX_WORK
from deniable.channels.protocols import probability_of_epsilon, projective_work
from deniable.errors import ChannelError

PRECISE = Context(prec=60)
KINDS = {
    "subsets": SubsetSelection.of_epsilon,
    "Hadamard": HadamardResponse.of_epsilon,
    "projective": ProjectiveGeometry.of_epsilon,
    "generalized": KeepOrReplace.of_epsilon,
}


def exceeds(ratio: Fraction, epsilon: float) -> bool:
    quotient = PRECISE.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
    return PRECISE.ln(quotient) > Decimal(epsilon)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60, deadline=None, derandomize=True)
@given(size=st.integers(2, 62), epsilon=st.floats(1e-5, 30))
def test_an_epsilon_is_met_and_not_exceeded(kind, size, epsilon):
    channel = KINDS[kind](size, epsilon)
    parity = channel.exact_parity
    assert not exceeds(parity, epsilon)
    assert channel.epsilon <= epsilon
    # Where hardly anything else is reported, one step of a float moves epsilon by some 1e-3.
    assert channel.epsilon == pytest.approx(epsilon, rel=1e-9 if epsilon < 12 else 5e-3)


@pytest.mark.parametrize("kind", ["subsets", "Hadamard", "projective"])
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, math.log(3), 2.0, 2.5, 8.0, 8.3])
def test_the_next_float_would_exceed_it(kind, epsilon):
    channel = KINDS[kind](9, epsilon)
    larger = replace(channel, probability=math.nextafter(channel.probability, 1.0))
    assert channel.epsilon <= epsilon < larger.epsilon


@pytest.mark.parametrize("kind", ["subsets", "Hadamard", "projective"])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_the_matrix_by_the_definition_does_not_exceed_it(kind, epsilon):
    assert not exceeds(exact_parity(exact_matrix(KINDS[kind](4, epsilon))), epsilon)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", [0.0, -1.0, 31.0, math.inf, math.nan])
def test_no_epsilon_is_refused(kind, epsilon):
    with pytest.raises(ChannelError, match="must be above 0 and at most 30"):
        KINDS[kind](4, epsilon)


def test_an_epsilon_below_what_floats_tell_is_refused():
    with pytest.raises(ChannelError, match="too small for floats"):
        HadamardResponse.of_epsilon(4, 1e-18)


# -- variances -------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0])
def test_projective_geometry_is_near_the_limit(epsilon):
    limit = 4 * math.exp(epsilon) / math.expm1(epsilon) ** 2
    found = float(ProjectiveGeometry.of_epsilon(100_000, epsilon).own_variance())
    assert 0.999 * limit < found < 1.1 * limit


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("size", [4, 10, 25])
def test_subsets_are_of_the_best_size(size, epsilon):
    variances = [
        float(SubsetSelection.of_epsilon(size, epsilon, d).own_variance(1 / size))
        for d in range(1, size)
    ]
    chosen = SubsetSelection.of_epsilon(size, epsilon)
    assert float(chosen.own_variance(1 / size)) == pytest.approx(min(variances), rel=1e-12)
    assert abs(chosen.subset_size - size / (math.exp(epsilon) + 1)) < 1.5


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 1.5, 2.0])
@pytest.mark.parametrize("size", [4, 7, 13])
def test_primes_are_the_best(size, epsilon):
    def variance(q):
        points = ProjectiveGeometry(size, q, 0.5)
        probability = probability_of_epsilon(epsilon, points.reports, points.members)
        return float(ProjectiveGeometry(size, q, probability).own_variance(1 / size))

    variances = {q: variance(q) for q in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)}
    assert variances[ProjectiveGeometry.of_epsilon(size, epsilon).prime] == min(variances.values())


def test_primes_leave_a_transform_that_can_be_made():
    for epsilon in (6.0, 7.0):
        channel = ProjectiveGeometry.of_epsilon(1_000_000, epsilon)
        assert channel.prime ** (channel.dimension - 1) <= 2**25


def test_textbook_variances_of_rare_categories():
    e = math.exp(1.0)
    assert HadamardResponse.of_epsilon(1000, 1.0).own_variance() == pytest.approx(
        ((e + 1) / (e - 1)) ** 2, rel=1e-12
    )


# -- the choice ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "epsilon", "name"),
    [
        (1, 1.0, "generalized randomized response"),
        (2, 1.0, "generalized randomized response"),
        (8, 1.0, "subset selection"),
        (8, 3.0, "generalized randomized response"),
        (100_000, 0.5, "projective geometry response"),
        (100_000, 4.0, "projective geometry response"),
        (100_000, 12.0, "generalized randomized response"),
    ],
)
def test_the_protocol_fits_the_size_and_epsilon(size, epsilon, name):
    chosen = best_protocol(size, epsilon)
    assert chosen.name == name
    assert chosen.channel.epsilon <= epsilon
    variances = [each.variance for each in protocol_candidates(size, epsilon)]
    assert chosen.variance == pytest.approx(min(variances), rel=1e-9)


@pytest.mark.parametrize(("size", "epsilon"), [(4, 3.0), (12, 3.0), (3, 1.0)])
def test_lines_are_not_compared(size, epsilon):
    assert ProjectiveGeometry.of_epsilon(size, epsilon).dimension == 2
    names = {candidate.name for candidate in protocol_candidates(size, epsilon)}
    assert "projective geometry response" not in names


@pytest.mark.parametrize("size", [2, 5, 12, 30])
def test_the_variances_compared_are_those_of_the_estimates(size):
    pi = np.full(size, 1 / size)
    for candidate in protocol_candidates(size, 1.0):
        channel: Channel = candidate.channel
        if size * channel.reports <= 2**16:
            own = np.trace(channel.covariance(pi, 1, inverse="own")) / size
            assert candidate.variance == pytest.approx(own, rel=1e-9)


def test_subset_selection_beats_generalized_by_what_is_known():
    for size, gain in ((8, 0.15), (10, 0.29)):
        variances = {c.name: c.variance for c in protocol_candidates(size, 1.0)}
        ratio = variances["subset selection"] / variances["generalized randomized response"]
        assert 1 - ratio == pytest.approx(gain, abs=0.05)


@pytest.mark.parametrize(("size", "epsilon"), [(1_000_000, 6.0), (1_000_000, 8.0), (100_000, 9.0)])
def test_a_smaller_prime_is_taken_where_the_best_one_costs_too_much(size, epsilon):
    best = ProjectiveGeometry.of_epsilon(size, epsilon)
    chosen = best_protocol(size, epsilon)
    assert chosen.name == "projective geometry response"
    chosen_work = projective_work(size, chosen.channel.prime)
    assert chosen_work <= MAX_WORK < projective_work(size, best.prime)
    limit = 4 * math.exp(epsilon) / math.expm1(epsilon) ** 2
    assert chosen.variance < 1.15 * limit


def test_work_is_bounded(monkeypatch):
    monkeypatch.setattr("deniable.channels.makers.MAX_WORK", 10)
    assert best_protocol(1000, 1.0).name.startswith("generalized")


def test_no_category_is_refused():
    with pytest.raises(ChannelError, match="the number of categories is 0"):
        best_protocol(0, 1.0)
