"""Expected errors of tables against the covariance of the channels, and by hand."""

import math
from itertools import pairwise

import numpy as np
import pytest

from deniable.channels import KeepOrReplace, ProductChannel, SquareWave, SubsetSelection
from deniable.errors import DeniableError
from deniable.plans.blocks import Block, ExpectedTable, blocks_of
from deniable.records import Attribute, Domain
from deniable.schema import Schema, schema_from_dict

SEX = Attribute("sex", ("F", "M"))
GRADE = Attribute("grade", ("low", "mid", "high"))
AGE = Attribute("age", tuple(map(str, range(7))), "ordinal")
SHARES = {"sex": np.array([0.4, 0.6]), "grade": np.array([0.2, 0.5, 0.3])}


def block(*attributes: Attribute, prior: object = None, points: int = 7) -> Block:
    part = Domain(attributes)
    shares = np.full(part.size, 1 / part.size) if prior is None else np.asarray(prior)
    return Block(part, {"age": points} if AGE in attributes else {}, shares)


def schema_of(*more: Attribute) -> Schema:
    columns: list[dict[str, object]] = [
        {"name": each.name, "kind": "categorical", "categories": list(each.categories)}
        for each in (SEX, GRADE, *more)
    ]
    columns.insert(2, {"name": "age", "kind": "numeric", "bounds": [0, 6], "step": 1})
    about = {"format": "deniable-schema", "population": "all", "file": {"kind": "arrow"}}
    return schema_from_dict(about | {"columns": columns})


def test_the_error_of_a_yes_or_no_is_that_by_hand() -> None:
    keep = math.tanh(0.5)  # epsilon 1: (e - 1) / (e + 1)
    by_hand = (1 / keep**2 - 1) / 4
    found = block(SEX).error(KeepOrReplace.of_epsilon(2, 1.0))
    assert found == pytest.approx(by_hand, rel=1e-12)


def test_the_error_of_a_pair_is_that_of_the_product_of_channels() -> None:
    blocks = [block(SEX, prior=SHARES["sex"]), block(GRADE, prior=SHARES["grade"])]
    channels = [KeepOrReplace.of_epsilon(2, 0.7), SubsetSelection(3, 2, 0.8)]
    table = ExpectedTable.of(blocks, ["grade", "sex"])
    moments = {
        part: blocks[part[0]].second_moments(channels[part[0]], part[1]) for part in table.parts
    }
    joint = np.kron(SHARES["sex"], SHARES["grade"])
    covariance = ProductChannel(tuple(channels)).covariance(joint, 1, "file")
    assert table.shares == 6
    assert table.excess(moments) == pytest.approx(np.diagonal(covariance).mean(), rel=1e-9)


def test_a_margin_of_a_cluster_sums_its_cells() -> None:
    prior = np.array([0.1, 0.2, 0.1, 0.1, 0.3, 0.2])
    cluster, channel = block(SEX, GRADE, prior=prior), KeepOrReplace.of_epsilon(6, 1.5)
    table = ExpectedTable.of([cluster], ["grade"])
    found = table.excess({(0, ("grade",)): cluster.second_moments(channel, ("grade",))})
    weights = np.kron(np.ones((1, 2)), np.eye(3))
    covariance = weights @ channel.covariance(prior, 1, "file") @ weights.T
    assert found == pytest.approx(np.diagonal(covariance).mean(), rel=1e-9)


@pytest.mark.parametrize("points", [7, 6])  # the last of 7 cells may be that of missing values
def test_shares_of_a_number_are_those_at_or_below_a_point(points: int) -> None:
    number, channel = block(AGE, points=points), SquareWave.of_epsilon(7, 1.0)
    weights = np.tril(np.ones((7, 7)))[: points - 1]
    if points < 7:
        weights = np.vstack([weights, np.eye(7)[-1]])
    assert number.shares(["age"]).T.tolist() == weights.tolist()
    covariance = weights @ channel.covariance(number.prior, 1, "file") @ weights.T
    assert number.error(channel) == pytest.approx(np.diagonal(covariance).mean(), rel=1e-9)
    assert number.on_a_grid == (points == 7)


def test_of_many_points_evenly_spaced_ones_are_shares() -> None:
    income = Attribute("age", tuple(map(str, range(1001))), "ordinal")
    many = Block(Domain((income,)), {"age": 1001}, np.full(1001, 1 / 1001))
    held = many.shares(["age"]).sum(axis=0).astype(int).tolist()
    assert len(held) == 100 == many.expected(["age"])[-1]
    assert {b - a for a, b in pairwise([0, *held, 1001])} <= {9, 10}


def test_blocks_are_in_the_order_of_the_file() -> None:
    found = blocks_of(schema_of(), [("age", "sex")], "any", SHARES)
    assert [each.names for each in found] == [("sex", "age"), ("grade",)]
    assert [each.categories_only for each in found] == [True, False]
    assert found[0].prior == pytest.approx(np.kron(SHARES["sex"], np.full(7, 1 / 7)))


@pytest.mark.parametrize(
    ("clusters", "prior", "said"),
    [
        ([("sex", "grade"), ("grade", "age")], {}, "'grade' is in two clusters"),
        ([("sex", "wide")], {}, "has 10,000 cells; allowed: 4,096"),
        ([], {"sex": np.ones(3) / 3}, "the prior of 'sex' has 3 probabilities"),
    ],
)
def test_blocks_that_cannot_be_are_refused(
    clusters: list[tuple[str, ...]], prior: dict[str, np.ndarray], said: str
) -> None:
    wide = Attribute("wide", tuple(map(str, range(5000))))
    with pytest.raises(DeniableError, match=said):
        blocks_of(schema_of(wide), clusters, "any", prior)
