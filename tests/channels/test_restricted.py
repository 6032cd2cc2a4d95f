"""Channels over possible cells: exact epsilon over possible inputs, estimates, impossible cells."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from deniable.channels import (
    Channel,
    DenseChannel,
    KeepOrReplace,
    ProductChannel,
    RestrictedChannel,
    channel_from_json,
    channel_to_json,
)
from deniable.errors import ChannelError
from deniable.privacy import audit_sampler, epsilon_of_ratio, largest_ratio, whole_weights
from deniable.sampling import KeyedDraws, new_key


@st.composite
def restricted(draw: Any) -> RestrictedChannel:
    flags = np.array(draw(st.lists(st.booleans(), min_size=3, max_size=9).filter(any)))
    size, generator = int(flags.sum()), np.random.default_rng(draw(st.integers(0, 10**6)))
    inner: Channel = KeepOrReplace.uniform(size, keep=0.4)
    if draw(st.booleans()):
        matrix = generator.dirichlet(np.ones(size), size) + np.eye(size)
        inner = DenseChannel(matrix / 2)
    return RestrictedChannel(inner, flags)


@settings(deadline=None, max_examples=30, derandomize=True)
@given(channel=restricted())
def test_epsilon_is_the_largest_ratio_over_possible_inputs(channel: RestrictedChannel) -> None:
    ratio = largest_ratio(whole_weights(channel), [channel.possible_cells.tolist()])
    assert channel.exact_parity == ratio
    assert channel.epsilon == epsilon_of_ratio(ratio)


@settings(deadline=None, max_examples=30, derandomize=True)
@given(channel=restricted(), seed=st.integers(0, 10**6))
def test_estimates_are_unbiased_and_have_the_covariance_of_the_possible_cells(
    channel: RestrictedChannel, seed: int
) -> None:
    inner, cells = channel.inner, channel.possible_cells
    pi = np.zeros(channel.size)
    pi[cells] = np.random.default_rng(seed).dirichlet(np.ones(cells.size))
    matrix = channel.matrix()
    np.testing.assert_allclose(matrix.sum(axis=1), 1, atol=1e-12)
    reported = channel.reported(pi)
    np.testing.assert_allclose(reported, pi @ matrix, atol=1e-15)
    assert not np.delete(reported, cells).any()
    np.testing.assert_allclose(channel.solve_transposed(reported), pi, atol=1e-9)
    eye = np.eye(channel.size)
    np.testing.assert_allclose(matrix @ channel.solve(eye).T, eye, atol=1e-8)
    for target in ("file", "population"):
        found = channel.covariance(pi, 50, target)
        np.testing.assert_allclose(
            found[np.ix_(cells, cells)], inner.covariance(pi[cells], 50, target), atol=1e-9
        )
        assert not np.delete(found, cells, axis=0).any()
    counts = np.zeros(channel.size, dtype=int)
    counts[cells] = np.random.default_rng(seed).integers(1, 50, cells.size)
    estimate, errors = channel.estimate(counts), channel.standard_errors(counts, "file")
    np.testing.assert_array_equal(np.delete(estimate, cells), 0)
    np.testing.assert_array_equal(np.delete(errors, cells), 0)
    np.testing.assert_allclose(errors[cells], inner.standard_errors(counts[cells], "file"))
    for power in (2, 3):
        own = (matrix * channel.solve(eye) ** power).sum(axis=1)
        np.testing.assert_allclose(channel.own_moments(power), own, rtol=1e-6)


@pytest.mark.parametrize("keyed", [True, False])
def test_draws_fit_the_matrix_and_are_never_impossible(keyed: bool) -> None:
    flags = np.array([True, False, True, True, False])
    channel = RestrictedChannel(KeepOrReplace.uniform(3, keep=0.3), flags)
    generator = np.random.default_rng(5)

    def randomize(codes: np.ndarray) -> np.ndarray:
        # The test of samplers numbers the possible cells alone.
        true = channel.possible_cells[codes].astype(np.uint8)
        if keyed:
            drawn = channel.report(true, KeyedDraws(bytes(32), b"plan"), ("a", "b"))
        else:
            drawn = channel.randomize(true, generator)
        assert drawn.dtype == true.dtype
        assert flags[drawn].all()
        return np.searchsorted(channel.possible_cells, drawn)

    test = audit_sampler(randomize, channel.inner.matrix(), 20_000)
    assert test.p_value > 1e-6
    assert test.impossible == 0
    counts = channel.randomize_counts([300, 0, 200, 100, 0], generator)
    assert counts.sum() == 600
    assert not counts[~flags].any()


def test_impossible_records_and_counts_are_refused() -> None:
    channel = RestrictedChannel(KeepOrReplace.uniform(2, keep=0.5), np.array([True, False, True]))
    with pytest.raises(ChannelError, match="impossible combination of categories"):
        channel.randomize(np.array([0, 1]), np.random.default_rng(1))
    with pytest.raises(ChannelError, match="impossible combination of categories"):
        channel.report(np.array([1]), KeyedDraws(new_key(), b"plan"), ("a",))
    with pytest.raises(ChannelError, match="counts of impossible combinations"):
        channel.randomize_counts([1, 1, 0], np.random.default_rng(1))
    with pytest.raises(ChannelError, match="give a square one over these"):
        RestrictedChannel(KeepOrReplace.uniform(2, keep=0.5), np.array([True, True, True]))


def test_a_document_gives_the_same_channel_and_refuses_damages() -> None:
    flags = np.array([True, False, True, True])
    channel = RestrictedChannel(DenseChannel(np.full((3, 3), 1 / 4) + np.eye(3) / 4), flags)
    document = json.loads(json.dumps(channel_to_json(channel)))
    again = channel_from_json(document)
    assert channel_to_json(again) == document
    np.testing.assert_array_equal(again.matrix(), channel.matrix())
    assert again.possible_cells is not None
    np.testing.assert_array_equal(again.possible_cells, [0, 2, 3])
    with pytest.raises(ChannelError, match="lacks 'possible'"):
        channel_from_json({name: document[name] for name in ("kind", "inner")})


def test_a_product_has_the_possible_cells_of_its_factors() -> None:
    channel = RestrictedChannel(KeepOrReplace.uniform(2, keep=0.5), np.array([True, False, True]))
    coin = KeepOrReplace.uniform(2, keep=0.5)
    assert ProductChannel((coin, coin)).possible_cells is None
    np.testing.assert_array_equal(ProductChannel((channel, coin)).possible_cells, [0, 1, 4, 5])
    found = ProductChannel((coin, channel)).estimate([5, 0, 6, 7, 0, 8])
    np.testing.assert_array_equal(found[[1, 4]], 0)
