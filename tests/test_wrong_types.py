"""A wrong type of any argument of a public function gives an error that names the argument."""

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import deniable
from deniable.errors import DeniableError, named_types

FRAME = pd.DataFrame({"sex": ["F", "M"] * 50, "job": ["a", "b", "c", "a"] * 25})
TEXT = deniable.draft_schema(FRAME, "people").replace("status: drafted", "status: declared")
SCHEMA = deniable.schema_from_dict(TEXT)
PLAN = deniable.make_plan(SCHEMA, 1.0)
CHANNEL = deniable.KeepOrReplace.uniform(4, 0.5)
COUNTS = [300, 250, 250, 200]
DEPENDENCES = pd.DataFrame({"attribute_1": ["sex"], "attribute_2": ["job"], "dependence": [0.5]})
WRONG = (
    *(None, 3, 2.5, "x", b"x", object(), [], [1, 2], {}, {"a": 1}, True, np.array(["a", "b"])),
    *(float("nan"), ["a"], (("a", "b"),)),
)
RANDOM = np.random.default_rng(1)
DOMAIN = SCHEMA.domain()
FUNCTIONALS: dict[str, Any] = {"total": None, "functionals": None, "target": "population"}
CALLS: dict[str, dict[str, Any]] = {
    "draft_schema": {"source": FRAME, "population": "people"},
    "schema_from_dict": {"values": TEXT},
    "make_plan": {
        **{"schema": SCHEMA, "epsilon": 1.0, "split": "even", "clusters": (), "tables": ()},
        **{"mechanism": "best", "mechanisms": None, "responses": "any", "prior": None},
        **{"data": None, "clusters_from_data": None, "accept": (), "order": "permuted"},
    },
    "compare": {
        **{"source": FRAME, "schema": SCHEMA, "epsilons": [1.0], "tables": [], "clusters": ()},
        **{"responses": "any", "prior": None},
    },
    "randomize": {"records": FRAME, "plan": PLAN, "source": RANDOM},
    "Released": {"public": deniable.randomize(FRAME, PLAN, RANDOM), "plan": PLAN},
    "confidence_intervals": {
        **{"reported_counts": COUNTS, "channel": CHANNEL, "confidence": 0.95, "method": "score"},
        **{"simultaneous": "none", "target": "population", "functionals": None, "inverse": "least"},
    },
    "maximum_likelihood": {"reported_counts": COUNTS, "channel": CHANNEL, "tolerance": 1e-6},
    "expectation_maximization": {
        **{"reported_counts": COUNTS, "channel": CHANNEL, "tolerance": 1e-6, "iterations": 100},
    },
    "survey_estimate": {
        **{"codes": np.array([0, 1, 2, 3] * 10), "weights": np.ones(40), "channel": CHANNEL},
        **{"strata": None, "clusters": None, **FUNCTIONALS},
    },
    "clip_and_rescale": {"estimate": [0.5, 0.6, -0.1]},
    "euclidean_projection": {"estimate": [0.5, 0.6, -0.1]},
    "largest_posterior": {"prior_probability": 0.1, "parity": 2.0},
    "smallest_posterior": {"prior_probability": 0.1, "parity": 2.0},
    "largest_parity": {"rho_1": 0.1, "rho_2": 0.5},
    "exact_epsilon": {"matrix": np.array([[Fraction(2, 3), Fraction(1, 3)]] * 2, dtype=object)},
    "column_epsilon": {"matrix": [[0.6, 0.4], [0.4, 0.6]]},
    "find_breaches": {
        **{"channel": CHANNEL, "prior": [0.1, 0.2, 0.3, 0.4], "members": [0], "rho_1": 0.1},
        "rho_2": 0.5,
    },
    "rr_independent": {"domain": DOMAIN, "p": 0.5, "reading": "keep"},
    "rr_joint": {"domain": DOMAIN, "records": 1000, "p": 0.5, "reading": "keep"},
    "rr_clusters": {
        **{"domain": DOMAIN, "clusters": (("sex", "job"),), "p": 0.5, "reading": "keep"},
        "mechanism": "joint",
    },
    "protocol_from_epsilon": {"domain": DOMAIN, "epsilon": 1.0, "clusters": None, "how": "even"},
    "plan_from_protocol": {
        **{"protocol": deniable.rr_independent(DOMAIN, 0.5, "keep"), "population": "records"},
        **{"chosen_from": "no data", "accept": ()},
    },
    "adjust": {
        **{"columns": [np.array([0, 1] * 5)], "targets": [[0.5, 0.5]], "tolerance": 1e-6},
        "most_sweeps": 10,
    },
    "channel_to_json": {"channel": CHANNEL},
    "channel_from_json": {"value": deniable.channel_to_json(CHANNEL)},
    "audit_cluster": {
        **{"sizes": [3], "p": "0.5", "reading": "keep", "mechanism": "joint", "changed": None},
    },
    "cluster_attributes": {
        **{"domain": DOMAIN, "dependences": DEPENDENCES, "largest_cells": 50},
        "least_dependence": 0.1,
    },
    "audit_sampler": {
        **{"randomize": lambda codes: codes, "matrix": [[1.0, 0.0], [0.0, 1.0]]},
        "draws_a_row": 100,
    },
}


@pytest.mark.parametrize("name", CALLS)
def test_the_call_itself_is_valid(name: str) -> None:
    assert getattr(deniable, name)(**CALLS[name]) is not None


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore")
def test_a_wrong_type_gives_an_error_for_users(name: str) -> None:
    function, refused = getattr(deniable, name), 0
    for argument in CALLS[name]:
        for value in WRONG:
            try:
                function(**CALLS[name] | {argument: value})
            except (DeniableError, FileNotFoundError):  # "x" is a path
                refused += 1
    assert refused >= len(WRONG) // 2


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: deniable.maximum_likelihood(CHANNEL, COUNTS), "reported_counts is KeepOrReplace"),
        (lambda: deniable.rr_independent("sex", 0.5, "keep"), "give Domain"),
        (lambda: deniable.rr_joint(DOMAIN, "many", 0.5, "keep"), "records is 'many', of type str"),
        (lambda: deniable.compare(FRAME, SCHEMA, 2), "epsilons is 2, of type int"),
        (lambda: deniable.make_plan(SCHEMA, 1, data="file.csv"), "data is 'file.csv'"),
        (lambda: deniable.Released(FRAME), "need their plan"),
    ],
)
def test_the_message_names_the_argument_and_its_type(call: Any, said: str) -> None:
    with pytest.raises(DeniableError, match=said):
        call()


@named_types
def twice(number: float, of: "Unknown" = None) -> float:  # type: ignore[name-defined] # noqa: F821
    """Return twice a number, if it is a number."""
    return number * 2 / (0 if number == 1 else 1) if of is None else of + number


def test_calls_that_succeed_and_errors_of_other_reasons_are_left_alone() -> None:
    assert twice(3) == 6
    with pytest.raises(ZeroDivisionError):
        twice(1)
    with pytest.raises(TypeError, match="unsupported"):  # nothing is known of this type
        twice(1.5, of=object())
    with pytest.raises(DeniableError, match="twice: number is None, of type NoneType; give float"):
        twice(None)  # type: ignore[arg-type]


def test_a_draft_becomes_a_plan_and_a_plan_shows_itself_in_ten_lines() -> None:
    drafted = deniable.draft_schema(FRAME, "people")
    with pytest.raises(DeniableError, match="drafted"):
        deniable.make_plan(drafted, 1)
    plan = deniable.make_plan(TEXT, 1)
    assert repr(plan).splitlines() == [
        "ColumnsPlan of population 'people': sex, job",
        f"epsilon {plan.epsilon!r} of the whole record of one respondent, requested 1.0",
        "  sex: epsilon 0.5, generalized-rr",
        "  job: epsilon 0.5, generalized-rr",
    ]
    many = pd.DataFrame({f"column_{number:0100}": ["F", "M"] * 50 for number in range(12)})
    shown = repr(deniable.make_plan(deniable.draft_schema(many), 1, accept=["drafted"]))
    assert "  and 7 more" in shown.splitlines()
    assert len(shown.splitlines()) <= 10
    assert max(map(len, shown.splitlines())) <= 100
