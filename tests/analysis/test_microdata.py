"""Weighted and synthetic records, made from the estimates of a release."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

import deniable
from deniable.analysis import Released
from deniable.analysis.microdata import _Stratum
from deniable.errors import DeniableError
from deniable.estimation.simplex import repeat_cells
from deniable.plans import StrataPlan
from deniable.records.categorical import Microdata
from deniable.records.domain import Attribute, Domain

SEEDED = settings(deadline=None, max_examples=150, derandomize=True)
parts = st.lists(st.integers(0, 20), min_size=1, max_size=12).filter(any)

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


def test_repeated_records_keep_strata_and_have_their_estimates() -> None:
    released = by_sex(StrataPlan.from_schema(schema(), ["sex"], retention=0.6))
    made = released.synthetic(seed=3, basis="weights")
    assert list(made) == ["owner", "sex", "job"]
    assert len(made) == RECORDS
    np.testing.assert_array_equal(made["sex"].value_counts(), frame()["sex"].value_counts())
    found = released.table(["sex", "job"], target="file")["consistent"].to_numpy()
    shares = made.groupby(["sex", "job"]).size().to_numpy() / RECORDS
    # Repeated weights of different columns of a stratum are not all within one record.
    assert np.abs(shares - found).max() < 30 / RECORDS
    again = released.synthetic(seed=3, basis="weights")
    pd.testing.assert_frame_equal(made, again)
    assert len(released.synthetic(10, basis="weights")) == 10


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
    with pytest.raises(DeniableError, match="from the joint distribution"):
        released.synthetic(10, basis="weights")
    assert len(released.synthetic(10)) == 10


# -- repeated records ------------------------------------------------------------------------------

DOMAIN = Domain(
    (
        Attribute("colour", ("blue", "red", "green")),
        Attribute("smokes", ("no", "yes")),
        Attribute("region", ("N", "E", "S", "W")),
    )
)


class From:
    """A source whose uniform number is known."""

    def __init__(self, start: float) -> None:
        self.start = start
        self.integers = np.random.default_rng(1).integers

    def random(self) -> float:
        return self.start


def drawn(records: int) -> Microdata:
    source = np.random.default_rng(7)
    return Microdata(DOMAIN, tuple(source.integers(0, size, records) for size in DOMAIN.shape))


def labelled(records: int) -> Microdata:
    """Records that can be told apart: each has a category of its own."""
    return Microdata(
        Domain((Attribute("label", tuple(map(str, range(records)))),)), (np.arange(records),)
    )


def repeated(data: Microdata, weights: Any, records: int, source: Any) -> Microdata:
    domain, rows = data.domain, np.arange(len(data))
    parts = [domain.project(names) for names in (domain.names[::2], domain.names[1::2]) if names]
    cells = [part.ravel([data.column(name) for name in part.names]) for part in parts]
    own = _Stratum("", {}, rows, cells, parts, [])
    found = own.repeated(domain, records, np.asarray(weights), source)
    return Microdata(domain, tuple(found[name] for name in domain.names))


@SEEDED
@given(parts, st.integers(1, 60))
def test_each_record_is_repeated_its_expected_number_of_times_on_average(
    weights: list[int], n: int
) -> None:
    shares = np.array(weights) / sum(weights)
    data, starts = labelled(len(weights)), 64
    total = np.zeros(len(weights))
    for k in range(starts):
        times = repeated(data, shares, n, From((k + 0.5) / starts)).counts()
        assert times.sum() == n
        assert np.all(np.abs(times - n * shares) < 1 + 1e-9)
        assert np.all(times[shares == 0] == 0)
        total += times
    # The mean over all starts, to the fineness of these.
    np.testing.assert_allclose(total / starts, n * shares, atol=1 / starts + 1e-9)


@pytest.mark.parametrize("start", [0.0, 2.0**-53, 0.5, 1 - 2.0**-53])
@pytest.mark.parametrize("records", [1, 10, 1000, 5000])
def test_the_number_of_records_is_exact_at_every_start(start: float, records: int) -> None:
    data = drawn(1000)
    weights = np.random.default_rng(2).dirichlet(np.full(1000, 0.3))
    weights[:400] = 0
    weights /= weights.sum()
    made = repeated(data, weights, records, From(start))
    assert len(made) == records
    assert made.domain == DOMAIN


def test_cells_and_leading_margins_come_within_one_record() -> None:
    data, n, source = drawn(3000), 3000, np.random.default_rng(3)
    weights = np.random.default_rng(2).dirichlet(np.full(3000, 0.5))
    cells = DOMAIN.ravel(data.columns)
    expected = n * np.bincount(cells, weights=weights, minlength=DOMAIN.size).reshape(DOMAIN.shape)
    for _ in range(50):
        found = repeated(data, weights, n, source).counts()
        assert np.abs(found - expected).max() < 1 + 1e-9
        leading = found.sum(axis=(1, 2)) - expected.sum(axis=(1, 2))
        assert np.abs(leading).max() < 1 + 1e-9
        pair = found.sum(axis=2) - expected.sum(axis=2)
        assert np.abs(pair).max() < 1 + 1e-9


def test_light_records_are_not_lost_as_they_are_by_largest_remainders() -> None:
    # All expect less than one record: 500 light ones together 200, 500 heavy ones 400.
    data = labelled(1000)
    weights = np.repeat([0.4, 0.8], 500) / 600
    by_remainders = repeat_cells(weights, 600)
    assert by_remainders[:500].sum() == 100  # a bias of half of them
    made = repeated(data, weights, 600, np.random.default_rng(4))
    assert abs(made.counts()[:500].sum() - 200) <= 1


def test_equal_weights_give_every_record_once() -> None:
    data = drawn(777)
    made = repeated(data, np.full(777, 1 / 777), 777, From(0.3))
    np.testing.assert_array_equal(made.counts(), data.counts())
    assert not np.array_equal(made.columns, data.columns)  # but in another order


def test_heavy_records_are_repeated_often() -> None:
    made = repeated(labelled(3), [0.0, 0.9, 0.1], 20, From(0.5))
    assert made.counts().tolist() == [0, 18, 2]


def test_a_record_without_weight_is_never_taken_wherever_it_stands() -> None:
    for start in (0.0, 2.0**-53, 0.5, 1 - 2.0**-53):
        for weights in ([0, 0.1, 0.9, 0], [0.3, 0, 0.7, 0], [0, 0, 0, 1]):
            times = repeated(labelled(4), weights, 7, From(start)).counts()
            assert not times[np.array(weights) == 0].any()
