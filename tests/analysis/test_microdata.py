"""Weighted and synthetic records, made from the estimates of a release."""

import numpy as np
import pandas as pd
import pytest

import deniable
from deniable.analysis import Released
from deniable.errors import DeniableError
from deniable.plans import StrataPlan

RECORDS = 3000


def frame() -> pd.DataFrame:
    generator = np.random.default_rng(1)
    sex = generator.choice(["F", "M"], RECORDS, p=[0.7, 0.3])
    job = np.where(generator.random(RECORDS) < 0.6, sex, generator.choice(["x", "y"], RECORDS))
    job = np.where(np.isin(job, ["F", "M"]), np.where(job == "F", "x", "y"), job)
    owner = generator.choice(["no", "yes"], RECORDS, p=[0.9, 0.1])
    return pd.DataFrame({"owner": owner, "sex": sex, "job": job})


def schema() -> deniable.Schema:
    categories = {"owner": ["no", "yes"], "sex": ["F", "M"], "job": ["x", "y"]}
    columns = [
        {"name": name, "kind": "categorical", "categories": own} for name, own in categories.items()
    ]
    about = {"format": "deniable-schema", "version": 1, "population": "survey"}
    return deniable.schema_from_dict(about | {"file": {"kind": "arrow"}, "columns": columns})


def by_sex(plan: StrataPlan, seed: int = 2) -> Released:
    return Released(deniable.randomize(frame(), plan, np.random.default_rng(seed)), plan)


@pytest.mark.parametrize("basis", ["clusters", "weights"])
def test_synthetic_records_keep_strata_and_have_their_estimates(basis: str) -> None:
    released = by_sex(StrataPlan.from_schema(schema(), ["sex"], retention=0.6))
    made = released.synthetic(seed=3, basis=basis)
    assert list(made) == ["owner", "sex", "job"]
    assert len(made) == RECORDS
    np.testing.assert_array_equal(made["sex"].value_counts(), frame()["sex"].value_counts())
    found = released.table(["sex", "job"], target="file")["consistent"].to_numpy()
    shares = made.groupby(["sex", "job"]).size().to_numpy() / RECORDS
    # Repeated weights of different columns of a stratum are not all within one record.
    assert np.abs(shares - found).max() < (1.5 if basis == "clusters" else 30) / RECORDS
    again = released.synthetic(seed=3, basis=basis)
    pd.testing.assert_frame_equal(made, again)
    assert len(released.synthetic(10, basis=basis)) == 10


def test_rows_of_strata_follow_those_of_the_file_and_add_up() -> None:
    released = by_sex(StrataPlan.from_schema(schema(), ["sex"], retention=0.6))
    margins = released.margins("job", by_stratum=True, target="both")
    assert list(margins["stratum"].unique()) == ["", "F", "M"]
    own = margins[margins["target"] == "file"]
    parts = own[own["stratum"] != ""]
    mixed = (parts["estimate"] * parts["records"]).groupby(parts["value"]).sum() / RECORDS
    whole = own[own["stratum"] == ""].set_index("value")["estimate"]
    pd.testing.assert_series_equal(mixed, whole, check_names=False, check_index_type=False)


def test_repeated_records_need_categories() -> None:
    about = {"format": "deniable-schema", "version": 1, "population": "survey"}
    column = {"name": "job", "kind": "categorical", "categories": list("abcdefghi")}
    wide = deniable.schema_from_dict(about | {"file": {"kind": "arrow"}, "columns": [column]})
    plan = deniable.make_plan(wide, 0.5, mechanism="subset-selection")
    jobs = pd.DataFrame({"job": np.random.default_rng(4).choice(list("abcdefghi"), RECORDS)})
    released = Released(deniable.randomize(jobs, plan, np.random.default_rng(5)), plan)
    with pytest.raises(DeniableError, match="by clusters"):
        released.synthetic(10, basis="weights")
    assert len(released.synthetic(10)) == 10
