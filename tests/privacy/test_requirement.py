"""Requirements in place of epsilon: rounding, refusals, and tiny plans by enumeration."""

import math
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deniable.channels import DenseChannel
from deniable.cli import main
from deniable.errors import DataError, DeniableError
from deniable.plans import (
    PlanInputs,
    make_plan,
    plan_from_json,
    plan_from_protocol,
    plan_to_json,
    settings_from,
)
from deniable.privacy import Requirement
from deniable.randomized_response import Protocol
from deniable.schema import schema_from_dict

COLUMNS = [
    {"name": "sex", "kind": "categorical", "categories": ["F", "M"]},
    {"name": "town", "kind": "categorical", "categories": ["a", "b", "c"]},
]
ABOUT = {"format": "deniable-schema", "population": "people", "file": {"kind": "arrow"}}
SCHEMA = schema_from_dict(ABOUT | {"columns": COLUMNS})
REQUIREMENTS = [Requirement(beta=3.0), Requirement(breach=(0.1, 0.5)), Requirement(beta=1.7)]


@pytest.mark.parametrize("required", REQUIREMENTS)
def test_epsilon_is_rounded_down_by_one_step(required: Requirement) -> None:
    # exp in 60 digits is exact enough to decide between neighbouring floats.
    with localcontext(prec=60):
        exact = (Decimal(required.parity.numerator) / required.parity.denominator).ln()
    above = math.nextafter(required.epsilon, math.inf)
    assert Decimal(required.epsilon) < exact < Decimal(above)


@pytest.mark.parametrize("kind", ["columns", "strata", "columns, matrix"])
@pytest.mark.parametrize("stated", [{"beta": 3.0}, {"breach": [0.1, 0.5]}])
def test_every_prior_and_set_of_a_tiny_plan_meets_the_requirement(
    kind: str, stated: dict[str, Any]
) -> None:
    options: dict[str, Any] = {"kind": kind.partition(",")[0], **stated}
    if kind == "strata":
        options["strata"] = ["sex"]
    if "matrix" in kind:
        options = {"kind": "columns", "matrix": {"kind": "epsilon", **stated}}
    plan: Any = settings_from(options).plan(PlanInputs(SCHEMA))
    required = plan.requirement
    assert required is not None
    assert required.of == ("column" if "matrix" in kind else "record")
    for protocol in plan.protocols.values():
        exact = [
            np.array([c.exact_column(v) for v in range(c.reports)]).T for c in protocol.channels
        ]
        joint = (
            exact if required.of == "column" else [np.kron(*exact) if len(exact) > 1 else exact[0]]
        )
        for matrix in joint:
            ratios = [a / b for column in matrix.T for a, b in product(column, column)]
            assert max(ratios) <= required.parity
            assert float(max(ratios)) > float(required.parity) * (1 - 1e-12)
            if required.beta:  # posterior / prior of each category, for priors on a grid
                for first in (Fraction(1, 2), Fraction(1, 100)):
                    prior = [first, 1 - first, *[Fraction()] * (len(matrix) - 2)]
                    total = np.array(prior) @ matrix
                    assert max((matrix[u] / total).max() for u in (0, 1)) <= required.beta
    again = plan_from_json(plan_to_json(plan))
    assert again.requirement == required
    audit = again.audit()
    own = audit[audit["unit"].str.endswith(required.label)]
    assert len(own) == (2 if required.of == "column" else 1)
    assert own["holds"].all()


def test_a_plan_without_a_requirement_has_the_same_document() -> None:
    assert "requirement" not in plan_to_json(make_plan(SCHEMA, 1.0))


def test_equality_is_decided_in_fractions() -> None:
    # The exact epsilon of parity 3, rounded up, is above ln 3: floats alone would refuse it.
    domain = SCHEMA.domain().project(["sex"])
    warner = DenseChannel(np.array([[0.75, 0.25], [0.25, 0.75]]))
    plan = plan_from_protocol(Protocol(domain, (("sex",),), (warner,)))
    met = replace(plan, requirement=Requirement(beta=3.0))
    assert met.audit().iloc[-1]["holds"]
    with pytest.raises(DeniableError, match=r"parity is too large for beta 2\.99 of the record"):
        replace(plan, requirement=Requirement(beta=2.99))


def test_an_edited_requirement_is_refused() -> None:
    values = plan_to_json(make_plan(SCHEMA, Requirement(beta=3.0)))
    values["requirement"] = {"beta": 2.0, "of": "record"}
    with pytest.raises(DataError, match="parity is too large for beta 2"):
        plan_from_json(values)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "give one of them"),
        ({"beta": 2.0, "breach": (0.1, 0.2)}, "give one of them"),
        ({"beta": 1.0}, "above 1"),
        ({"beta": math.inf}, "not a finite number"),
        ({"breach": (0.2, 0.1)}, "rho_1 must be the smaller"),
    ],
)
def test_invalid_requirements_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(DeniableError, match=said):
        Requirement(**given)


def test_a_design_meets_beta(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text("proportions: {a: 0.6, b: 0.4}\nrequirements: {beta: 3}\n")
    assert main(["design", "s.yaml"]) == 0
    assert "required beta    3.0: holds" in capsys.readouterr().out
    assert '"requirement": {"beta": 3.0, "of": "column", "holds": true}' in (
        Path("s-properties.json").read_text()
    )
    Path("s.yaml").write_text(
        "proportions: {a: 0.6, b: 0.4}\nrequirements: {beta: 3, epsilon: 1}\n"
    )
    assert main(["design", "s.yaml"]) == 2
    assert "more than one of epsilon, beta and breach" in capsys.readouterr().err
