"""Requirements that contradict each other: named, and no more of them than it takes."""

import numpy as np
import pytest

from deniable.design import Cost, InfeasibleError, Requirements, design

PI = np.array([0.4, 0.3, 0.2, 0.1])
EVERYTHING = [0, 1, 2, 3]
CASES = {
    # Retention of v in all rows but one: exp(E) / (exp(E) + 3) = .475 is the most.
    "retention, epsilon": (
        Requirements(epsilon=1.0, retention=0.6),
        {"epsilon", "retention"},
    ),
    "one retention, epsilon": (
        Requirements(epsilon=0.5, retention={0: 0.7, 1: 0.7, 2: 0.1}),
        {"epsilon", "retention"},
    ),
    # A zero makes a column of zeros if epsilon is bounded: nothing is left to be retained.
    "forbidden, epsilon, retention": (
        Requirements(epsilon=1.0, forbidden=[(0, 1)], retention={1: 0.2}),
        {"epsilon", "forbidden", "retention"},
    ),
    "a whole row": (
        Requirements(forbidden=[(2, v) for v in EVERYTHING]),
        {"forbidden"},
    ),
    "invariance, forbidden": (
        Requirements(invariant=True, forbidden=[(v, 3) for v in EVERYTHING]),
        {"invariance", "forbidden"},
    ),
    "invariance, forbidden, epsilon": (
        Requirements(epsilon=2.0, invariant=True, forbidden=[(0, 3)]),
        {"epsilon", "invariance", "forbidden"},
    ),
    "cost, epsilon": (
        Requirements(epsilon=0.5, cost=Cost(power=1, at_most=0.1)),
        {"epsilon", "expected cost"},
    ),
    "change, retention": (
        Requirements(epsilon=1.0, retention={2: 0.7}, change={2: 0.5}),
        {"retention", "change"},
    ),
    "allowed, change": (
        Requirements(allowed={0: []}, change={0: 0.1}),
        {"allowed", "change"},
    ),
}


def kinds(conflict):
    """Return the kinds of requirements that a conflict names."""
    words = ("epsilon", "retention", "forbidden", "invariance", "expected cost", "change")
    found = {word for word in words for text in conflict if text.startswith(word)}
    return found | ({"allowed"} if any("allowed" in text for text in conflict) else set())


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("loss", ["trace", "changed"])
def test_what_conflicts_is_named(case, loss):
    asked, expected = CASES[case]
    with pytest.raises(InfeasibleError) as caught:
        design(PI, asked, loss)
    error = caught.value
    assert kinds(error.conflict) == expected
    assert str(error).startswith("no channel meets the requirements: ")
    for text in error.conflict:
        assert text in str(error) or "more" in str(error)


def without(asked, kind):
    """Return requirements without those of a kind."""
    empty = {
        "epsilon": {"epsilon": None},
        "retention": {"retention": None},
        "forbidden": {"forbidden": ()},
        "invariance": {"invariant": False},
        "expected cost": {"cost": None},
        "change": {"change": None},
        "allowed": {"allowed": None},
    }[kind]
    options = {name: getattr(asked, name) for name in asked.__dataclass_fields__}
    return Requirements(**options | empty)


@pytest.mark.parametrize("case", CASES)
def test_without_any_kind_of_them_all_can_be_met(case):
    asked, named = CASES[case]
    for kind in named:
        assert design(PI, without(asked, kind), "changed").loss >= 0


def test_the_set_is_smallest():
    # Any two of these floors conflict at this epsilon, and no others are to blame.
    asked = Requirements(epsilon=0.5, retention={0: 0.7, 1: 0.7, 2: 0.1}, change={3: 0.2})
    with pytest.raises(InfeasibleError) as caught:
        design(PI, asked, "changed")
    blamed = {"epsilon <= 0.5", "retention of category 0 and category 1 >= 0.7"}
    assert set(caught.value.conflict) == blamed


def test_remedies_are_enough_and_hardly_more():
    asked = Requirements(epsilon=1.0, retention=0.6, categories=["a", "b", "c", "d"])
    with pytest.raises(InfeasibleError, match="any of these changes is enough") as caught:
        design(PI, asked)
    # ln(.6 / (.4 / 3)) = 1.5041; e / (e + 3) = .47536
    assert caught.value.remedies == ("epsilon <= 1.505", "retention of every category >= 0.4753")
    design(PI, Requirements(epsilon=1.505, retention=0.6), "changed")
    design(PI, Requirements(epsilon=1.0, retention=0.4753), "changed")
    # Of three such floors each row needs .6 + 2 (.6 / e) = 1.04: any three of the four conflict.
    assert caught.value.conflict[1].count("'") == 6


def test_names_of_categories_are_used():
    asked = Requirements(forbidden=[(1, v) for v in (0, 1)], categories=["no", "yes"])
    with pytest.raises(InfeasibleError, match="forbidden 'yes' -> 'no'"):
        design([0.5, 0.5], asked, "changed")


# The reports 2 and 3 are given by nobody.
TWO_ARE_SILENT = [(u, u) for u in range(4)] + [(2, 3), (3, 2), (0, 2), (0, 3), (1, 2), (1, 3)]


@pytest.mark.parametrize(
    ("asked", "fault"),
    [
        (Requirements(epsilon=0.0), "all rows of the matrix \\(nearly\\) equal"),
        (
            Requirements(epsilon=1.0, forbidden=[(0, 1)]),
            "exclude the response category 1, .* epsilon is infinite .*: .* of the transitions",
        ),
        (
            Requirements(epsilon=1.0, change={1: 1.0}),
            "exclude the response category 1, .* or require a change below 1",
        ),
        (
            Requirements(allowed={0: [1], 1: [0]}, forbidden=TWO_ARE_SILENT),
            "exclude the response category 2",
        ),
    ],
)
def test_nothing_to_be_estimated_by_inversion(asked, fault):
    with pytest.raises(InfeasibleError, match=fault) as caught:
        design(PI, asked, "trace")
    assert caught.value.conflict
    assert design(PI, asked, "changed").optimality == "global"
