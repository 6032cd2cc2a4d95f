"""The p of an exact epsilon, and what is spent there, in fractions worked from the definition."""

import math
from fractions import Fraction
from functools import partial

import pytest
from hypothesis import given, strategies as st

from deniable.errors import DeniableError
from deniable.randomized_response import (
    Clusters,
    epsilons,
    keep_probability,
    rr_clusters,
    rr_independent,
)
from deniable.records import Attribute, Domain

SIZES = (9, 16, 7, 2)
DOMAIN = Domain(tuple(Attribute(f"a{i}", tuple(map(str, range(r)))) for i, r in enumerate(SIZES)))
GROUPED: Clusters = (("a0", "a3"), ("a1",), ("a2",))


def log_odds(p: float, size: int) -> float:
    """Return ln(1 + p |A| / (1 - p)), from [multirr], 6.3.1 read as keep."""
    return math.log(1 + Fraction(p) * size / (1 - Fraction(p)))


@given(st.floats(0.01, 25))
def test_what_is_asked_for_is_reached_and_never_exceeded(epsilon: float) -> None:
    build = partial(rr_independent, DOMAIN, reading="keep")
    p = keep_probability(epsilon, lambda p: build(p=p))
    assert build(p=p).epsilon <= epsilon < build(p=math.nextafter(p, 1)).epsilon
    assert sum(log_odds(p, size) for size in SIZES) == pytest.approx(epsilon, rel=1e-11)


@pytest.mark.parametrize("epsilon", [0.5, 4.0, 21.19])
def test_clusters_by_one_matrix_spend_the_same_on_a_record_and_more_on_an_attribute(
    epsilon: float,
) -> None:
    for mechanism, inside in (("kronecker", [9]), ("joint", [9, 2])):
        build = partial(rr_clusters, DOMAIN, GROUPED, reading="keep", mechanism=mechanism)
        p = keep_probability(epsilon, lambda p, build=build: build(p=p))
        spent = epsilons(build(p=p))
        assert epsilon * (1 - 1e-11) < spent["record_epsilon"] <= epsilon
        largest = max(log_odds(p, 16), sum(log_odds(p, size) for size in inside))
        assert spent["attribute_epsilon"] == pytest.approx(largest, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.inf, math.nan])
def test_an_epsilon_that_cannot_be_asked_for_is_refused(epsilon: float) -> None:
    with pytest.raises(DeniableError, match=f"epsilon is {epsilon}; ask for a number above 0"):
        keep_probability(epsilon, lambda p: rr_independent(DOMAIN, p, "keep"))
