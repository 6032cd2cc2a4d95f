"""The samplers that ship draw by their matrices, and a wrong one is found."""

import numpy as np
import pandas as pd
import pytest

from deniable.channels import Channel, KeepOrReplace
from deniable.plans import make_plan
from deniable.sampling import KeyedColumn
from deniable.schema import schema_from_dict

from reproduction.papers.samplers import SAMPLER_COLUMNS, audit_samplers


@pytest.fixture
def channels() -> dict[str, Channel]:
    columns = [
        {"name": name, "kind": "categorical", "categories": list("abcd")[:size]}
        for name, size in (("x", 2), ("y", 3), ("z", 4))
    ]
    about = {"format": "deniable-schema", "version": 1, "population": "people"}
    schema = schema_from_dict(about | {"file": {"kind": "arrow"}, "columns": columns})
    options = {"mechanism": "generalized-rr", "responses": "categories"}
    return dict(make_plan(schema, 2.0, clusters=[("x", "y")], **options).channels())


def test_the_samplers_that_ship_pass(channels: dict[str, Channel]) -> None:
    table = audit_samplers({"r": channels}, 1, draws=50_000)
    assert tuple(table) == SAMPLER_COLUMNS
    assert len(table) == len(channels) == 2
    assert table["holds"].all()
    assert (table["impossible"] == 0).all()


def test_the_test_is_the_same_for_the_same_seed(channels: dict[str, Channel]) -> None:
    pd.testing.assert_frame_equal(
        audit_samplers({"r": channels}, 1, draws=5_000),
        audit_samplers({"r": channels}, 1, draws=5_000),
    )


def test_a_sampler_that_keeps_too_often_is_caught(
    channels: dict[str, Channel], monkeypatch: pytest.MonkeyPatch
) -> None:
    def randomize(self: KeepOrReplace, codes: np.ndarray, column: KeyedColumn) -> np.ndarray:
        replaced = column.words(64) * 2.0**-64 >= self.diagonal_weight + 0.02
        return np.where(replaced, column.words() % self.size, codes)

    monkeypatch.setattr(KeepOrReplace, "randomize_keyed", randomize)
    assert not audit_samplers({"r": channels}, 1)["holds"].any()


def test_a_sampler_with_an_impossible_value_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    channels: dict[str, Channel] = {"x": KeepOrReplace(1.0, np.zeros(3))}
    assert audit_samplers({"r": channels}, 1, draws=1000)["holds"].all()

    def randomize(self: KeepOrReplace, codes: np.ndarray, column: KeyedColumn) -> np.ndarray:
        values = codes.copy()
        values[0] = 1
        return values

    monkeypatch.setattr(KeepOrReplace, "randomize_keyed", randomize)
    table = audit_samplers({"r": channels}, 1, draws=1000)
    assert (table["impossible"] == 1).all()
    assert not table["holds"].any()
