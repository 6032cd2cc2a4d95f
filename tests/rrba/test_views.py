"""Views: every combination once, none with an attribute of another, and as few as can be."""

import math
from collections.abc import Sequence
from itertools import combinations

import pytest
from hypothesis import given, settings, strategies as st

from deniable.errors import DeniableError
from deniable.rrba.questions import View, fewest_views, make_views

# Section 4 of the text, for A, R, E, O, S, T and without T.
PRINTED = {
    "AREOST": ["AR EO ST", "AE RS OT", "AT RE OS", "AO RT ES", "AS RO ET"],
    "AREOS": ["AR EO", "RE OS", "AE RS", "AO ES", "AS RO"],
}


def named(attributes: int) -> list[str]:
    return [f"a{number:02d}" for number in range(attributes)]


def check_views(views: Sequence[View], names: Sequence[str], size: int) -> None:
    """Coverage: each combination once. Disjointness: no attribute twice in a view."""
    found = sorted(combination for view in views for combination in view)
    assert found == list(combinations(sorted(names), size))
    for view in views:
        asked = [name for combination in view for name in combination]
        assert len(asked) == len(set(asked)) == size * len(view)


@pytest.mark.parametrize("attributes", range(2, 38))
def test_pairs_are_covered_by_a_round_robin(attributes: int) -> None:
    views = make_views(named(attributes), 2)
    check_views(views, named(attributes), 2)
    assert len(views) == attributes - 1 + attributes % 2
    assert {len(view) for view in views} == {attributes // 2}


@pytest.mark.parametrize("attributes", range(3, 38))
def test_triples_are_covered_by_as_few_views_as_can_be(attributes: int) -> None:
    views = make_views(named(attributes), 3)
    check_views(views, named(attributes), 3)
    assert len(views) == -(-math.comb(attributes, 3) // (attributes // 3))


@pytest.mark.parametrize(
    ("attributes", "size"), [(4, 4), (8, 4), (9, 4), (15, 4), (20, 4), (24, 4), (11, 5), (12, 6)]
)
def test_larger_combinations_likewise(attributes: int, size: int) -> None:
    views = make_views(named(attributes), size)
    check_views(views, named(attributes), size)
    assert len(views) == fewest_views(attributes, size)


@settings(deadline=None, derandomize=True)
@given(st.integers(1, 13).flatmap(lambda d: st.tuples(st.just(d), st.integers(1, d))))
def test_any_number_of_attributes_and_any_size(shape: tuple[int, int]) -> None:
    attributes, size = shape
    views = make_views(named(attributes), size)
    check_views(views, named(attributes), size)
    # The issue asks for at most twice the counting bound; these attain it.
    assert len(views) == fewest_views(attributes, size)


@pytest.mark.parametrize(
    ("attributes", "size", "views"),
    [(6, 2, 5), (5, 2, 5), (20, 2, 19), (37, 2, 37), (37, 3, 648), (20, 3, 190), (20, 4, 969)],
)
def test_numbers_of_views_worked_by_hand(attributes: int, size: int, views: int) -> None:
    assert fewest_views(attributes, size) == views


@pytest.mark.parametrize("attributes", PRINTED)
def test_the_printed_lists_are_views_of_the_same_kind(attributes: str) -> None:
    printed = [tuple(map(tuple, view.split())) for view in PRINTED[attributes]]
    in_order = [tuple(tuple(sorted(combination)) for combination in view) for view in printed]
    check_views(in_order, attributes, 2)
    assert len(make_views(attributes, 2)) == len(printed)


def test_order_follows_the_names() -> None:
    for view in make_views("TSOERA", 2):
        assert all("TSOERA".index(a) < "TSOERA".index(b) for a, b in view)
        assert list(view) == sorted(view, key=lambda pair: "TSOERA".index(pair[0]))


def test_one_combination_of_many_attributes() -> None:
    names = named(90)
    assert make_views(names, 90) == ((tuple(names),),)
    assert len(make_views(names, 89)) == 90


@pytest.mark.parametrize(
    ("names", "size", "message"),
    [
        (["a", "b", "a"], 2, "named twice"),
        (["a", "b"], 0, "k must be in 1 .. 2"),
        (["a", "b"], 3, "k must be in 1 .. 2"),
        (named(60), 5, "allowed are 200,000"),
    ],
)
def test_what_cannot_be_is_refused(names: list[str], size: int, message: str) -> None:
    with pytest.raises(DeniableError, match=message):
        make_views(names, size)
