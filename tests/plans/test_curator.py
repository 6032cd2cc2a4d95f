"""What a curator chooses by the true records: invariant matrices and clusters."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from deniable import Released
from deniable.errors import DeniableError
from deniable.plans import Plan, clusters_from, make_plan, verify_plan, write_plan
from deniable.release import Ledger, protect
from deniable.schema import RecordsFile, Schema, schema_from_dict

NUMBER = 4000
BY_DATA = ("chosen_by_data",)


def survey() -> tuple[Schema, pd.DataFrame]:
    generator = np.random.default_rng(2)
    sex = generator.choice(["F", "M"], NUMBER, p=[0.7, 0.3])
    table = pd.DataFrame(
        {
            "sex": sex,
            "region": generator.choice(["e", "n", "s"], NUMBER, p=[0.5, 0.3, 0.2]),
            "again": np.where(generator.random(NUMBER) < 0.95, sex, "M"),
            "land": generator.choice([f"c{u}" for u in range(30)], NUMBER),
        }
    )
    columns: list[dict[str, Any]] = [
        {"name": name, "kind": "categorical", "categories": sorted(table[name].unique())}
        for name in table
    ]
    about = {"format": "deniable-schema", "version": 1, "population": "p"}
    return schema_from_dict(about | {"file": {"kind": "arrow"}, "columns": columns}), table


def test_an_invariant_matrix_leaves_true_shares_and_spends_what_was_asked(tmp_path: Path) -> None:
    schema, table = survey()
    data = RecordsFile.open(pa.Table.from_pandas(table), schema)
    plan = make_plan(schema, 4.0, mechanism="invariant", data=data, accept=BY_DATA)
    total = Fraction(0)
    for (name,), channel in zip(plan.protocol.clusters, plan.protocol.channels, strict=True):
        shares = table[name].value_counts(normalize=True).sort_index().to_numpy()
        matrix = channel.matrix()
        assert shares @ matrix == pytest.approx(shares, abs=1e-12)
        rows = [[Fraction(p) for p in row] for row in matrix.tolist()]
        worst = max(max(column) / min(column) for column in zip(*rows, strict=True))
        assert float(worst) <= np.exp(1.0) * (1 + 1e-12)
        total += Fraction(float(np.log(float(worst))))
    assert 3.9 < total <= 4 + Fraction(1, 10**9)
    assert plan.not_covered
    write_plan(tmp_path / "plan.json", plan)
    assert verify_plan(tmp_path / "plan.json")["holds"].all()
    protect(table, plan, tmp_path / "made", ledger=Ledger.init(tmp_path / "ledger").folder)
    # A key of its own each time: one in a million of these misses.
    found = Released(tmp_path / "made" / "public").margins(target="file", confidence=1 - 1e-6)
    rows = found[found["column"] == "region"]
    truth = table["region"].value_counts(normalize=True).sort_index().to_numpy()
    assert ((rows["ci_low"] <= truth) & (truth <= rows["ci_high"])).all()


def test_clusters_are_of_columns_that_depend_on_each_other() -> None:
    schema, table = survey()
    data = RecordsFile.open(pa.Table.from_pandas(table), schema)
    assert clusters_from(data, 50, 0.2) == (("sex", "again"),)
    assert clusters_from(data, 3, 0.2) == ()
    assert clusters_from(data, 12, 0.0) == (("sex", "region", "again"),)
    plan = make_plan(schema, 4.0, data=data, clusters_from_data=(50, 0.2), accept=BY_DATA)
    assert plan.protocol.clusters == (("sex", "again"), ("region",), ("land",))
    assert plan.epsilon <= 4


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"mechanism": "invariant"}, "made from the records: give --data"),
        ({"clusters_from_data": (50, 0.1)}, "clusters are found in the data: give --data"),
        ({"mechanism": "invariant", "data": True}, "--accept chosen_by_data"),
        ({"clusters_from_data": (1, 0.1), "data": True}, "T_v is 1; a cluster has 2 to 4,096"),
        ({"clusters_from_data": (50, 1.5), "data": True}, "T_d is 1.5; dependences are in"),
        (
            {"clusters_from_data": (50, 0.1), "data": True, "clusters": [("sex", "again")]},
            "name no clusters",
        ),
    ],
)
def test_what_no_curator_may_choose_is_refused(asked: dict[str, Any], words: str) -> None:
    schema, table = survey()
    if asked.get("data"):
        asked = asked | {"data": RecordsFile.open(pa.Table.from_pandas(table), schema)}
    with pytest.raises(DeniableError, match=words):
        make_plan(schema, 4.0, **asked)


def test_a_cell_without_records_has_no_invariant_matrix() -> None:
    schema, table = survey()
    table["region"] = table["region"].replace("s", "n")
    data = RecordsFile.open(pa.Table.from_pandas(table), schema)
    plan = make_plan(schema, 4.0, mechanism="invariant", data=data, accept=BY_DATA)
    assert "invariant needs a record in every cell" in plan.why[1]
    with pytest.raises(DeniableError, match="region: invariant needs a record in every cell"):
        make_plan(schema, 4.0, mechanisms={"region": "invariant"}, data=data, accept=BY_DATA)


@pytest.mark.parametrize(
    "asked", [{"mechanism": "invariant"}, {"mechanisms": {"sex": "invariant"}}]
)
def test_an_invariant_matrix_is_refused_for_weighted_records(asked: dict[str, Any]) -> None:
    """It keeps the frequencies of records, not those of the population that weights stand for."""
    schema, table = survey()
    values = schema.to_json()
    table["w"] = 2.5

    def plan_with(kind: str) -> Plan:
        weighted = schema_from_dict(
            values | {"columns": [*values["columns"], {"name": "w", "kind": kind}]}
        )
        data = RecordsFile.open(pa.Table.from_pandas(table), weighted)
        return make_plan(weighted, 4.0, data=data, accept=BY_DATA, **asked)

    refused = "invariant: column 'w' is a weight.*Declare the column as left_out or choose another"
    with pytest.raises(DeniableError, match=refused):
        plan_with("weight")
    assert plan_with("left_out").epsilon <= 4
