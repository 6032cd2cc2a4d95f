"""Domains, parameters and protection of numeric records."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from tests.idp.numeric_files import METHODS, mechanism_by, numeric_file, stated_domains

from deniable.errors import DeniableError
from deniable.idp import (
    Domains,
    Ranking,
    class_codes,
    domains_by_factor,
    masking,
    protect_numbers,
    refuse_bad_parameters,
)
from deniable.records import NumericMicrodata
from deniable.sampling import SeededNoise


def test_a_domain_factor_takes_the_largest_value() -> None:
    data = numeric_file()
    domains = domains_by_factor(data, 1.5)
    assert domains.lower.tolist() == [0, 0]
    np.testing.assert_array_equal(domains.upper, 1.5 * data.values.max(axis=0))
    with pytest.raises(DeniableError, match=r"'width' go from .* needs values of at least 0"):
        domains_by_factor(replace(data, values=data.values - 3), 1.5)
    with pytest.raises(DeniableError, match="all 0"):
        domains_by_factor(replace(data, values=0 * data.values), 1.5)


def test_values_outside_a_domain_are_clipped() -> None:
    values = np.array([[30.0, 2.0], [-30.0, 2.0]])
    assert stated_domains().inner(values)[:, 0].tolist() == [20, 0]


@given(
    st.floats(-1e6, 1e6),
    st.floats(1e-3, 1e6),
    st.lists(st.floats(0, 1), min_size=1, max_size=20),
)
def test_clipped_values_equal_the_ends_exactly(
    lower: float, width: float, places: list[float]
) -> None:
    stated = Domains(("a",), np.array([lower]), np.array([lower + width]))
    inner = np.array([[0.0], [stated.widths[0]], *([place * stated.widths[0]] for place in places)])
    outer = stated.outer(inner)
    assert outer[0] == stated.lower
    assert outer[1] == stated.upper
    assert ((outer >= stated.lower) & (outer <= stated.upper)).all()


@pytest.mark.parametrize("method", METHODS)
def test_numbers_keep_to_their_domains_and_records_do_not_change(method: str) -> None:
    data, mechanism = numeric_file(), mechanism_by(method)
    before = data.values.copy()
    generator = np.random.default_rng(1)
    values, counts = protect_numbers(mechanism, data, SeededNoise(generator), generator)
    np.testing.assert_array_equal(data.values, before)
    assert ((values >= mechanism.domains.lower) & (values <= mechanism.domains.upper)).all()
    assert values.shape == before.shape
    assert (counts is not None) == (method == "histograms")
    if counts is not None:
        assert counts.shape == (2, 2, 8)


@pytest.mark.parametrize("method", METHODS)
def test_records_without_classes_have_one(method: str) -> None:
    data = numeric_file()
    plain = NumericMicrodata(data.names, data.values)
    assert class_codes(plain).tolist() == [0] * len(plain)
    generator = np.random.default_rng(1)
    values, _ = protect_numbers(mechanism_by(method), plain, SeededNoise(generator), generator)
    assert values.shape == data.values.shape


def test_scales_are_those_of_the_method() -> None:
    data, mechanism = numeric_file(), mechanism_by("idp_cbls")
    domains, generator = mechanism.domains, np.random.default_rng(1)
    values, _ = protect_numbers(mechanism, data, SeededNoise(generator), generator)
    ranking = Ranking.of(domains.inner(data.values))
    masked = masking("idp_cbls", ranking, mechanism.k or 0, [20.0, 5.0], 1.0)
    own = masked.mask(SeededNoise(np.random.default_rng(1)))[0]
    np.testing.assert_array_equal(values, domains.outer(own))


@pytest.mark.parametrize(
    ("method", "changes", "words"),
    [
        ("dp", {"epsilon": -1.0}, "epsilon: -1.0; allowed: above 0"),
        ("dp", {"epsilon": float("nan")}, "epsilon: nan"),
        ("dp", {"k": 5}, "k: 5; allowed with method 'dp': no k"),
        ("dp_um", {"k": None}, "k is missing; allowed with method 'dp_um'"),
        ("idp_ls", {"k": 2}, "k: 2; allowed: 3 to"),
        ("histograms", {"bins": 1}, "bins: 1; allowed: 2 to"),
        ("histograms", {"domain_factor": 1.5}, "domain_factor: 1.5; .*: none"),
        ("dp", {"domain_factor": 0.5}, "domain_factor: 0.5; .*: 1 to"),
    ],
)
def test_parameters_out_of_range_are_refused(
    method: str, changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(DeniableError, match=words):
        mechanism_by(method, **changes)


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(DeniableError, match="unknown method 'idp'"):
        refuse_bad_parameters("idp", 1.0, None, 20, None)
