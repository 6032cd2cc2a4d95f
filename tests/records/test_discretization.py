"""Intervals by hand, refusals, and Adult's age and hours through randomized response."""

import csv
import math
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from deniable.channels import ProductChannel
from deniable.errors import DataError, DeniableError
from deniable.randomized_response.dependence import absolute_correlation
from deniable.randomized_response.protocols import rr_channel, rr_independent
from deniable.records.categorical import Microdata
from deniable.records.domain import Discretization, Domain
from deniable.records.numeric import read_true_records

ROOT = Path(__file__).resolve().parents[2]
reproducible = settings(deadline=None, derandomize=True)


def test_edges_by_hand():
    age = Discretization("age", (17, 25, 65))
    assert age.attribute.name == "age"
    assert age.attribute.scale == "ordinal"
    assert age.attribute.categories == ("[17, 25)", "[25, 65)")
    assert age.codes([17, 24.999, 25, 64.999]).tolist() == [0, 0, 1, 1]
    assert age.codes(np.array([17, 64], dtype=np.uint8)).dtype == np.uint8
    assert age.codes(np.array([])).tolist() == []
    assert age == Discretization("age", (17.0, 25.0, 65.0))


def test_open_ends_by_hand():
    gain = Discretization("gain", (-0.0, 0.5, 1000), open_below=True, open_above=True)
    assert gain.attribute.categories == ("(-inf, 0)", "[0, 0.5)", "[0.5, 1000)", "[1000, inf)")
    assert gain.codes([-1e300, -1e-300, 0, 0.5, 999.9, 1000, 1e300]).tolist() == [
        *(0, 0, 1, 2, 2, 3, 3)
    ]
    sign = Discretization("sign", (0,), open_below=True, open_above=True)
    assert sign.codes([-3, 0, 3]).tolist() == [0, 1, 1]
    assert Discretization("x", (0,), open_above=True).attribute.size == 1


edges = st.lists(
    st.integers(-(10**6), 10**6).map(lambda k: k / 8), min_size=2, max_size=30, unique=True
).map(sorted)


@reproducible
@given(edges, st.booleans(), st.booleans(), st.data())
def test_a_value_lies_in_the_interval_of_its_code(edges, below, above, data):
    found = Discretization("x", tuple(edges), open_below=below, open_above=above)
    low = -2e6 if below else edges[0]
    high = 2e6 if above else math.nextafter(edges[-1], -math.inf)
    values = data.draw(st.lists(st.floats(low, high) | st.sampled_from(edges[:-1]), min_size=1))
    bounds = [*[-math.inf] * below, *edges, *[math.inf] * above]
    assert found.attribute.size == len(bounds) - 1
    for value, code in zip(values, found.codes(values).tolist(), strict=True):
        assert bounds[code] <= value < bounds[code + 1]


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([20, 30, 65], r"record 3 has the value 65, outside \[17, 65\); .*set open_above"),
        ([16.5, 30], r"record 1 has the value 16.5, outside \[17, 65\); .*set open_below"),
        ([20, math.nan], r"record 2 has no value \(NaN\); fill it in"),
        ([20, 30, math.inf], "record 3 has the value inf; give a finite number"),
        ([-math.inf], "record 1 has the value -inf; give a finite number"),
        (["20"], "numbers in one dimension, not <U2 of shape"),
        ([None, 20], "not object"),
        ([[20, 30]], r"of shape \(1, 2\)"),
        ([True], "not bool"),
        ([1j], "not complex"),
    ],
)
def test_values_that_fall_into_no_interval(values, message):
    age = Discretization("age", (17, 25, 65))
    with pytest.raises(DataError, match=f"attribute 'age'.*{message}"):
        age.codes(values)


def test_an_open_end_is_not_open_to_infinity():
    both = Discretization("x", (0,), open_below=True, open_above=True)
    for value in (math.inf, -math.inf, math.nan):
        with pytest.raises(DataError, match="record 2"):
            both.codes([1, value])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Discretization("x", ()), "too few edges"),
        (lambda: Discretization("x", (1,)), "too few edges"),
        (lambda: Discretization("x", (), True, True), "too few edges"),
        (lambda: Discretization("x", (1, 3, 2)), "the edge 2 after 3"),
        (lambda: Discretization("x", (1, 1)), "the edge 1 after 1"),
        (lambda: Discretization("x", (1, math.inf)), "set open_below or open_above"),
        (lambda: Discretization("x", (math.nan, 1)), "finite numbers"),
        (lambda: Discretization("", (1, 2)), "no name"),
    ],
)
def test_what_is_no_discretization(make, message):
    with pytest.raises(DeniableError, match=message):
        make()


# -- as microdata ----------------------------------------------------------------------------------


def discretize(columns, by):
    pairs = zip(by, columns, strict=True)
    return Microdata(
        Domain(tuple(each.attribute for each in by)),
        tuple(each.codes(values) for each, values in pairs),
    )


def test_intervals_give_microdata(tmp_path):
    columns = [[17, 90, 40], [40.0, 1.0, 99.0]]
    by = [
        Discretization("age", tuple(range(15, 96, 10))),
        Discretization("hours", tuple(range(-5, 106, 10))),
    ]
    data = discretize(columns, by)
    assert data.domain.names == ("age", "hours")
    assert [column.tolist() for column in data.columns] == [[0, 7, 2], [4, 0, 10]]
    data.write_parquet(tmp_path / "data.parquet")
    assert read_true_records(tmp_path / "data.parquet").domain == data.domain
    with pytest.raises(DataError, match="attribute 'hours': record 2"):
        discretize([[20, 20], [20, 200]], by)


@pytest.fixture(scope="module")
def age_and_hours() -> np.ndarray:
    places = [os.environ.get("DENIABLE_DATA_MIRROR"), ROOT.parent / "shared" / "data"]
    mirror = next((Path(p) for p in places if p and (Path(p) / "adult.data").is_file()), None)
    if mirror is None:
        pytest.skip("NO adult.data in DENIABLE_DATA_MIRROR or ../shared/data: ADULT IS NOT TESTED")
    with (mirror / "adult.data").open(encoding="utf-8", newline="") as stream:
        rows = [row for row in csv.reader(stream, skipinitialspace=True) if row]
    return np.array([[int(row[0]), int(row[12])] for row in rows])


@pytest.mark.real_data
def test_adult_age_and_hours(age_and_hours):
    # [multirr], section 4: |r| of numeric attributes after discretization. Edges as a questionnaire
    # would have them: age in years of five, hours to the nearest five.
    raw = abs(np.corrcoef(age_and_hours.T)[0, 1])
    assert raw == pytest.approx(0.0688, abs=5e-5)
    by = [
        Discretization("age", tuple(range(15, 96, 5))),
        Discretization("hours", tuple(np.arange(-2.5, 103, 5))),
    ]
    data = discretize(list(age_and_hours.T), by)
    assert data.domain.shape == (16, 21)
    assert absolute_correlation(data.counts()) == pytest.approx(raw, abs=0.002)
    middles = [np.convolve(each.edges, [0.5, 0.5], "valid") for each in by]
    back = [middle[codes] for middle, codes in zip(middles, data.columns, strict=True)]
    assert np.abs(back - age_and_hours.T).max() <= 2.5
    # Randomized and estimated back without bias: the mean of 40 times is beyond 6 of its standard
    # errors once in a million (Student's t). Uncorrected, the reports' correlation is attenuated.
    p, generator = 0.7, np.random.default_rng(31)
    protocol = rr_independent(data.domain, p, "keep")
    channel = ProductChannel(tuple(rr_channel(size, p, "keep") for size in data.domain.shape))
    estimates, uncorrected = [], []
    for _ in range(40):
        reported = protocol.randomize(data, generator).counts()
        estimate = channel.estimate(reported.reshape(-1)).reshape(data.domain.shape)
        estimates.append(absolute_correlation(estimate))
        uncorrected.append(absolute_correlation(reported))
    error = np.std(estimates, ddof=1) / math.sqrt(40)
    assert error < 0.005
    assert abs(np.mean(estimates) - absolute_correlation(data.counts())) < 6 * error
    assert np.mean(uncorrected) < 0.6 * raw
