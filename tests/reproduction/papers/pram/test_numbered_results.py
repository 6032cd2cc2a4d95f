"""The numbered results of [pram]: they hold, and the checks can fail."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from deniable import privacy
from deniable.channels import Channel, DenseChannel, ProductChannel
from deniable.privacy import prior_approaching_parity
from deniable.privacy.breaches import Breach, find_breaches

from reproduction.papers.pram import numbered_results as pram_results
from reproduction.papers.pram.numbered_results import CHECKS, numbered_results


@pytest.fixture(scope="module")
def found() -> pd.DataFrame:
    return numbered_results("resources/claims/pram.csv").set_index("result")


def gap_of(number: str) -> float:
    return next(row[2] for check in CHECKS for row in check() if row[0] == number)


def test_results_hold(found: pd.DataFrame) -> None:
    assert len(found) == 27
    assert (found["verdict"] == "holds").all()
    assert (found["cases"] > 0).all()
    assert found["figure"].all()


def test_every_result_is_listed_once(found: pd.DataFrame) -> None:
    assert found.index.is_unique
    assert list(found.index) == [row[0] for check in CHECKS for row in check()]
    assert set(found["section"]) == {"1", "2", "3", "4"}


def _of_smaller_sets(*given: object) -> Breach:
    """Return the breaches of single categories, and none of larger sets."""
    found = find_breaches(*given)  # type: ignore[arg-type]
    members: Any = given[2]
    return found if len(members) == 1 else replace(found, upward=(), downward=())


def _at_half_the_mass(channel: Channel, mass: Fraction, side: privacy.Side) -> object:
    return prior_approaching_parity(channel, mass / 2, side)


WRONG: dict[str, tuple[object, str, Callable[..., object]]] = {
    "(1.2)": (Channel, "estimate", lambda self, counts, *_: np.asarray(counts) / np.sum(counts)),
    "(1.3)": (Channel, "covariance", lambda self, pi, n: np.diag(pi) / n),
    "(1.3) plug-in": (Channel, "estimated_covariance", lambda self, counts: np.eye(3)),
    "(2.1)": (pram_results, "two_step", lambda channel, pi: DenseChannel(channel.matrix())),
    "(2.2)": (pram_results, "two_step", lambda channel, pi: DenseChannel(channel.matrix())),
    "(2.3)": (pram_results, "two_step", lambda channel, pi: DenseChannel(channel.matrix())),
    "(2.4)": (pram_results, "conditional_covariance", lambda channel, counts: np.eye(3)),
    "(2.6)": (pram_results, "covariance_bound", lambda pi, n: (np.diag(pi) - np.outer(pi, pi)) / n),
    "(2.6) tight": (pram_results, "covariance_bound", lambda pi, n: np.eye(3)),
    "(2.7)": (pram_results, "two_step", lambda channel, pi: DenseChannel(channel.matrix())),
    "(3.1)": (Channel, "posterior", lambda self, prior: self.matrix()),
    "(3.3) duality": (privacy, "find_breaches", _of_smaller_sets),
    "(3.4)": (Channel, "parity", property(lambda self: 6.0)),
    "(3.5)": (privacy, "largest_parity", lambda low, high: 50.0),
    "(3.5) necessary": (privacy, "witness", lambda channel, low, high: None),
    "(3.7)": (Channel, "posterior", lambda self, prior: self.matrix()),
    "(3.14) ratio": (privacy, "find_breaches", lambda *_: Breach(0.5, np.ones(3), (0,), ())),
    "(3.14) only if": (privacy, "prior_approaching_parity", _at_half_the_mass),
    "4": (ProductChannel, "estimate", lambda self, counts, *_: np.asarray(counts) / np.sum(counts)),
}


@pytest.mark.parametrize("number", WRONG)
def test_a_check_fails_where_the_library_is_wrong(
    number: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, name, wrong = WRONG[number]
    monkeypatch.setattr(place, name, wrong)
    assert gap_of(number) > pram_results.ROUNDING
