"""What the studies of PRAM cannot be told: the border at which cells are checked."""

from typing import Any

import pytest
from pydantic import ValidationError

from deniable.validation import Strict

from reproduction.papers.pram.settings import (
    CoverageGrid,
    InvariantGrid,
    ItemSetGrid,
    JointLossGrid,
    WeightsGrid,
)

CELLS: dict[type[Strict], dict[str, Any]] = {
    CoverageGrid: {"channel": "warner", "records": 5000},
    WeightsGrid: {"design": "pps", "channel": "ordinal", "records": 2000},
    ItemSetGrid: {"epsilon": 1.0, "size": 2, "records": 400},
    InvariantGrid: {"attribute": "sex", "records": 400, "method": "two_step", "p": 0.6},
    JointLossGrid: {"first": "sex", "second": "race", "epsilon": 2.0},
}


def of(grid: type[Strict], **change: Any) -> Strict:
    return grid(**{name: [value] for name, value in (CELLS[grid] | change).items()})


@pytest.mark.parametrize("grid", CELLS)
def test_the_cells_that_are_changed_here_are_good(grid: type[Strict]) -> None:
    assert of(grid).model_dump() == {name: [value] for name, value in CELLS[grid].items()}


@pytest.mark.parametrize(
    ("grid", "change"),
    [
        (CoverageGrid, {"channel": "best"}),
        (CoverageGrid, {"records": 1}),
        (WeightsGrid, {"design": "systematic"}),
        (WeightsGrid, {"channel": "best"}),
        (WeightsGrid, {"channel": "product"}),  # over several attributes
        (ItemSetGrid, {"size": 0}),
        (ItemSetGrid, {"size": 13}),
        (ItemSetGrid, {"epsilon": 0.0}),
        (ItemSetGrid, {"epsilon": float("inf")}),
        (InvariantGrid, {"method": "three_step"}),
        (InvariantGrid, {"p": 1.0}),
        (InvariantGrid, {"records": 1}),
    ],
)
def test_a_bad_value_is_refused_by_name(grid: type[Strict], change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=next(iter(change))):
        of(grid, **change)
