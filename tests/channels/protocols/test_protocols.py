"""Every answer of every protocol, against the whole matrix in fractions from the definition."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from tests.channels.channel_cases import combined, diagonal, exact_parity, outer, times, transposed
from tests.channels.protocols.protocol_cases import (
    PROTOCOLS,
    exact_matrix,
    floats,
    own_inverse,
    sets_of,
)

from deniable.channels import (
    HadamardResponse,
    ProjectiveGeometry,
    SubsetSelection,
    channel_from_json,
    channel_to_json,
    log_rounded_up,
    rounded_up,
)
from deniable.errors import ChannelError, SingularChannelError

EVERY = pytest.mark.parametrize("channel", PROTOCOLS.values(), ids=PROTOCOLS.keys())


def some_truth(size: int) -> list[Fraction]:
    weights = [(7 * u + 3) % 11 + 2 for u in range(size)]
    return [Fraction(x, sum(weights)) for x in weights]


def some_reported(channel) -> list[Fraction]:
    weights = [(5 * v + 1) % 7 + 1 for v in range(channel.reports)]
    return [Fraction(x, sum(weights)) for x in weights]


# -- the definition, in fractions ------------------------------------------------------------------


@EVERY
def test_matrix_columns_and_parity_are_the_definition(channel):
    exact = exact_matrix(channel)
    assert (channel.size, channel.reports) == (len(exact), len(exact[0]))
    assert all(sum(row) == 1 for row in exact)
    np.testing.assert_allclose(channel.matrix(), floats(exact), rtol=1e-13)
    for report in range(channel.reports):
        assert channel.exact_column(report) == [row[report] for row in exact]
    parity = exact_parity(exact)
    assert channel.exact_parity == parity
    assert channel.parity == rounded_up(parity)
    assert channel.epsilon == log_rounded_up(parity)


@EVERY
def test_own_inverse_is_a_left_inverse_and_the_one_used(channel):
    P, D = exact_matrix(channel), own_inverse(channel)
    assert times(P, D) == diagonal([Fraction(1)] * channel.size)
    for found, expected in (
        (channel.solve(np.eye(channel.size)), transposed(D)),
        (channel.solve_transposed(np.eye(channel.reports)), D),
    ):
        np.testing.assert_allclose(found, floats(expected), rtol=1e-12, atol=1e-12)


@EVERY
def test_linear_maps_are_the_definition_for_batches_too(channel):
    P, D = exact_matrix(channel), own_inverse(channel)
    reports, sets = sets_of(channel)
    M = [[Fraction(v in own) for v in range(reports)] for own in sets]
    truths = [some_truth(channel.size), [Fraction(u * u - 3, 2) for u in range(channel.size)]]
    values = [some_reported(channel), [Fraction(v % 5 - 1) for v in range(channel.reports)]]
    x, f = floats(truths), floats(values)
    for shape in ((2,), (2, 1), (1, 2)):
        X, F = x.reshape(*shape, -1), f.reshape(*shape, -1)
        for found, expected in (
            (channel.reported(X), times(truths, P)),
            (channel.expected(F), times(values, transposed(P))),
            (channel.solve(X), times(truths, transposed(D))),
            (channel.solve_transposed(F), times(values, D)),
            (channel.membership_sums(F), times(values, transposed(M))),
            (channel.point_sums(X), times(truths, M)),
        ):
            assert found.shape[:-1] == shape
            flat = found.reshape(2, -1)
            np.testing.assert_allclose(flat, floats(expected), rtol=1e-11, atol=1e-11)


@EVERY
@pytest.mark.parametrize("power", [2, 3])
def test_moments_are_the_definition(channel, power):
    P, D = exact_matrix(channel), own_inverse(channel)
    powered = [[x**power for x in row] for row in D]
    reported = [some_reported(channel)]
    np.testing.assert_allclose(
        channel.moments(floats(reported)[0], power),
        floats(times(reported, powered))[0],
        rtol=1e-11,
    )
    own = [sum(p * D[v][u] ** power for v, p in enumerate(P[u])) for u in range(channel.size)]
    np.testing.assert_allclose(channel.own_moments(power), floats([own])[0], rtol=1e-11)


@EVERY
@pytest.mark.parametrize("target", ["population", "file"])
def test_own_covariance_is_the_definition(channel, target):
    P, D, truth = exact_matrix(channel), own_inverse(channel), some_truth(channel.size)
    reported = times([truth], P)[0]
    spread = times(times(transposed(D), diagonal(reported)), D)
    own = outer(truth) if target == "population" else diagonal(truth)
    expected = floats(combined(spread, own, -1)) / 250
    pi = floats([truth])[0]
    found = channel.covariance(pi, 250, target, inverse="own")
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
    if target == "population":
        np.testing.assert_allclose(
            channel.own_variance(pi) / 250, np.diag(expected), rtol=1e-11, atol=1e-12
        )


@EVERY
def test_least_covariance_attains_the_bound(channel):
    # Cramer and Rao: the inverse of P L^-1 P' less pi pi', with L the distribution of reports.
    P, truth = exact_matrix(channel), some_truth(channel.size)
    L = times([truth], P)[0]
    information = times(times(P, diagonal([1 / x for x in L])), transposed(P))
    pi = floats([truth])[0]
    bound = np.linalg.inv(floats(information)) - np.outer(pi, pi)
    least = channel.covariance(pi, 1, inverse="least")
    np.testing.assert_allclose(least, bound, rtol=1e-7, atol=1e-9)
    own = channel.covariance(pi, 1, inverse="own")
    assert np.linalg.eigvalsh(own - least).min() > -1e-9


@EVERY
def test_estimates_are_of_both_inverses(channel):
    D, counts = own_inverse(channel), np.array([(5 * v + 1) % 7 for v in range(channel.reports)])
    shares = [[Fraction(int(c), int(counts.sum())) for c in counts]]
    own = floats(times(shares, D))[0]
    np.testing.assert_allclose(channel.estimate(counts, inverse="own"), own, rtol=1e-10, atol=1e-11)
    pi = floats([some_truth(channel.size)])[0]
    reported = channel.reported(pi)
    for inverse in ("own", "least"):
        np.testing.assert_allclose(channel.estimate(reported, inverse=inverse), pi, atol=1e-9)


@EVERY
def test_posterior_is_bayes(channel):
    P, prior = exact_matrix(channel), some_truth(channel.size)
    expected = [[prior[u] * row[v] for u, row in enumerate(P)] for v in range(channel.reports)]
    expected = [[x / sum(row) for x in row] for row in expected]
    np.testing.assert_allclose(channel.posterior(floats([prior])[0]), floats(expected), rtol=1e-11)


@EVERY
def test_supports_are_counted(channel):
    reports = np.random.default_rng(5).integers(0, channel.reports, 300)
    sets = sets_of(channel)[1]
    expected = [sum(int(v) in own for v in reports) for own in sets]
    tally = np.bincount(reports, minlength=channel.reports).astype(float)
    np.testing.assert_allclose(channel.membership_sums(tally), expected, atol=1e-9)
    codes = np.arange(channel.reports).reshape(-1, 1)
    for u, own in enumerate(sets):
        assert set(np.flatnonzero(channel.supported_by(codes, u)).tolist()) == own


def test_sums_go_over_more_subsets_than_a_chunk():
    channel, generator = SubsetSelection(20, 7, 0.5), np.random.default_rng(6)
    assert channel.reports > 2**16
    reports, weights = generator.integers(0, channel.reports, 100_000), generator.random(20)
    tally = np.bincount(reports, minlength=channel.reports).astype(float)
    supports = np.bincount(channel.elements(reports).reshape(-1), minlength=20)
    np.testing.assert_array_equal(channel.membership_sums(tally), supports)
    assert channel.point_sums(weights) @ tally == pytest.approx(weights @ supports, rel=1e-12)


@pytest.mark.parametrize(
    "channel",
    [
        HadamardResponse(300, 0.75),
        ProjectiveGeometry(900, 2, 0.6),
        ProjectiveGeometry(300, 7, 0.4),
    ],
    ids=lambda channel: f"{type(channel).__name__} {channel.reports}",
)
def test_sums_of_larger_channels_go_over_the_sets(channel):
    generator, codes = np.random.default_rng(8), np.arange(channel.reports)
    tally, weights = generator.integers(0, 9, channel.reports), generator.random(channel.size)
    sums = [tally[channel.supported_by(codes, u)].sum() for u in range(channel.size)]
    np.testing.assert_allclose(channel.membership_sums(tally.astype(float)), sums, atol=1e-6)
    assert channel.point_sums(weights) @ tally == pytest.approx(weights @ sums, rel=1e-12)


@EVERY
def test_designs_are_balanced(channel):
    sets = sets_of(channel)[1]
    assert {len(own) for own in sets} == {channel.members}
    pairs = {len(a & b) for i, a in enumerate(sets) for b in sets[:i]}
    assert pairs == {channel.shared}


@EVERY
def test_indexes_are_a_permutation_of_reports_members_first(channel):
    sets = sets_of(channel)[1]
    for u, own in enumerate(sets):
        placed = channel.place(np.full(channel.reports, u), np.arange(channel.reports)).tolist()
        assert set(placed[: channel.members]) == own
        assert sorted(placed) == list(range(channel.reports))


# -- kinds and limits ------------------------------------------------------------------------------


@EVERY
def test_json_keeps_every_bit(channel):
    found = channel_from_json(json.loads(json.dumps(channel_to_json(channel))))
    assert type(found) is type(channel)
    assert repr(found) == repr(channel)


@pytest.mark.parametrize(
    ("description", "message"),
    [
        ({"kind": "hadamard-response", "categories": 3, "probability": 0.5}, "not a fraction"),
        ({"kind": "hadamard-response", "categories": 3}, "lacks 'probability'"),
        (
            {"kind": "hadamard-response", "categories": 3.5, "probability": "7/10"},
            "not a channel's",
        ),
        ({"kind": "hadamard-response", "categories": 3, "probability": "3/2"}, "must be in"),
        (
            {"kind": "projective-geometry", "categories": 3, "probability": "1/2", "prime": 4},
            "not a prime",
        ),
    ],
)
def test_descriptions_of_no_protocol_are_refused(description, message):
    with pytest.raises(ChannelError, match=message):
        channel_from_json(description)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SubsetSelection(1, 1, 0.5), "at least 2 categories"),
        (lambda: SubsetSelection(4, 4, 0.5), "choose from 1 to 3"),
        (lambda: SubsetSelection(80, 40, 0.5), "63 bits"),
        (lambda: SubsetSelection(4, 2, math.nan), "must be in"),
        (lambda: HadamardResponse(1, 0.5), "at least 2 categories"),
        (lambda: HadamardResponse(3, -0.1), "must be in"),
        (lambda: ProjectiveGeometry(5, 6, 0.5), "6 is not a prime"),
        (lambda: ProjectiveGeometry(2**27, 3, 0.5), "too many for a counter each"),
        (lambda: ProjectiveGeometry.of_epsilon(2**26, 1.0), "too many for a transform"),
        (lambda: ProjectiveGeometry(5, 1, 0.5), "1 is not a prime"),
        (
            lambda: SubsetSelection(40, 20, 0.5).reported(np.full(40, 1 / 40)),
            "use another protocol",
        ),
    ],
)
def test_impossible_protocols_are_refused(make, message):
    with pytest.raises(ChannelError, match=message):
        make()


def test_what_says_nothing_estimates_nothing():
    channel = HadamardResponse(5, 0.5)
    assert channel.singular
    assert channel.epsilon == 0.0
    with pytest.raises(SingularChannelError):
        channel.own_variance()


def test_what_is_never_reported_makes_the_parity_infinite():
    for probability in (0.0, 1.0):
        channel = SubsetSelection(4, 2, probability)
        assert channel.exact_parity is None
        assert channel.epsilon == math.inf
