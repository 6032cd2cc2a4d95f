"""Tests of deniable.records.numeric: records of numbers, their class, and their files."""

import stat
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st

from deniable.errors import DataError
from deniable.records.categorical import Microdata
from deniable.records.numeric import NumericMicrodata, read_true_records


def small(**changes: Any) -> NumericMicrodata:
    given: dict[str, Any] = {
        "names": ("age", "hours"),
        "values": [[17.5, 40], [44, 0], [60, 1e300]],
        "class_name": "sex",
        "classes": ("f", "m"),
        "labels": [1, 0, 1],
        "marks": {"data_source": "original"},
    }
    return NumericMicrodata(**(given | changes))


def test_records_columns_and_classes() -> None:
    data = small()
    assert len(data) == 3
    assert data.values.dtype == np.float64
    assert data.labels.dtype == np.int8
    assert data.column("hours").tolist() == [40, 0, 1e300]
    assert data.class_counts().tolist() == [1, 2]
    one = data.select(["hours"])
    assert (one.names, one.values.shape, one.labels.tolist()) == (("hours",), (3, 1), [1, 0, 1])
    with pytest.raises(DataError, match="no numeric attribute 'pay'; there are age, hours"):
        data.column("pay")


def test_without_classes() -> None:
    data = NumericMicrodata(("a",), np.array([[1.0], [2], [3]]))
    assert data.labels.shape == data.class_counts().shape == (0,)
    first, second = data.training_split()
    assert (first.column("a").tolist(), second.column("a").tolist()) == ([1, 2], [3])


@pytest.mark.parametrize(("records", "first"), [(1080, 713), (4898, 3233), (3, 2), (50, 33)])
def test_training_split_takes_the_first_66_percent(records: int, first: int) -> None:
    values = np.arange(records, dtype=float)[:, None]
    data = small(names=("a",), values=values, labels=np.arange(records) % 2)
    train, test = data.training_split()
    assert (len(train), len(test)) == (first, records - first)
    assert np.array_equal(np.concatenate([train.values, test.values]), values)
    assert np.array_equal(np.concatenate([train.labels, test.labels]), data.labels)


@pytest.mark.parametrize("records", [0, 1])
def test_training_split_refuses_an_empty_part(records: int) -> None:
    data = small(values=np.zeros((records, 2)), labels=np.zeros(records, dtype=int))
    with pytest.raises(DataError, match=f"{records} records leave none for training or testing"):
        data.training_split()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"names": ()}, "no numeric attributes"),
        ({"names": ("age", "age")}, "the attribute 'age' is given twice"),
        ({"names": ("age", "sex")}, "the attribute 'sex' is given twice"),
        ({"names": ("age", "")}, "attribute 1: the name '' is not text"),
        ({"names": ("age", 7)}, "attribute 1: the name 7 is not text"),
        ({"classes": ("f", "f")}, "the class 'f' is given twice"),
        ({"classes": ()}, "the class attribute is 'sex' and its classes are ()"),
        ({"class_name": ""}, "the class attribute is '' and its classes are"),
        ({"classes": tuple(map(str, range(128)))}, "128 classes; at most 127"),
        ({"values": [1, 2, 3]}, "the values have the shape (3,)"),
        ({"values": [[1], [2], [3]]}, "a column for each of the 2 attributes"),
        ({"values": [[1, "x"], [2, 3], [3, 4]]}, "the values are not all numbers"),
        ({"values": [[1, 2], [3, np.nan], [5, 6]]}, "record 2, column 'hours' has the value nan"),
        ({"values": [[1, 2], [3, 4], [-np.inf, 6]]}, "record 3, column 'age' has the value -inf"),
        ({"labels": [0, 1]}, "labels of the shape (2,); give labels of the shape (3,)"),
        ({"labels": [0, 1, 2]}, "class 'sex': the code 2 is outside 0 .. 1"),
        ({"labels": [0, -1, 1]}, "class 'sex': the code -1 is outside 0 .. 1"),
        ({"labels": [0.0, 1.0, 1.0]}, "class 'sex': codes must be integers, not float64"),
    ],
)
def test_bad_records_are_refused_with_what_is_wrong(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(DataError) as caught:
        small(**changes)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


numbers = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=20), st.booleans(), st.data())
@settings(deadline=None, max_examples=50)
def test_files_read_back_to_the_same(
    tmp_path_factory: pytest.TempPathFactory, rows: Any, classified: bool, draw: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("numeric") / "d.parquet"
    labels = draw.draw(st.lists(st.integers(0, 1), min_size=len(rows), max_size=len(rows)))
    about = ("sex", ("f", "m"), labels) if classified else ()
    data = NumericMicrodata(("a", "b"), np.array(rows), *about)
    data.write_parquet(path)
    again = read_true_records(path)
    assert again.values.tobytes() == data.values.tobytes()
    assert again.labels.tolist() == data.labels.tolist()
    assert (again.names, again.classes) == (data.names, data.classes)


def test_files_are_whole_bytes_alike_and_marked(tmp_path: Path) -> None:
    small().write_parquet(tmp_path / "one.parquet")
    small().write_parquet(tmp_path / "two.parquet")
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()
    assert read_true_records(tmp_path / "one.parquet").marks == {"data_source": "original"}
    assert stat.S_IMODE((tmp_path / "one.parquet").stat().st_mode) & 0o600 == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "one.parquet",
        "two.parquet",
    ]


def with_column(name: str, values: pa.Array) -> pa.Table:
    table = small().to_arrow()
    return table.set_column(table.column_names.index(name), name, values)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (
            with_column("age", pa.array([1.0, None, 2.0])),
            "record 2, column 'age' has the value nan",
        ),
        (with_column("age", pa.array(["a", "b", "c"])), "column 'age' has string, not numbers"),
        (
            with_column("sex", pa.array(["f", "x", "m"])),
            "record 2, column 'sex' has the unknown category 'x'",
        ),
        (with_column("sex", pa.array(["f", "m", None])), "record 3, column 'sex' has a missing"),
        (
            small().to_arrow().drop_columns(["sex"]),
            "the metadata have the attribute 'sex', but the",
        ),
        (small().to_arrow().replace_schema_metadata(None), "has no domain in its metadata"),
        (
            small().to_arrow().replace_schema_metadata({b"deniable_numeric": b"{}"}),
            "its metadata describe no numeric attributes",
        ),
    ],
)
def test_bad_parquet_is_refused_with_what_is_wrong(
    table: pa.Table, words: str, tmp_path: Path
) -> None:
    pq.write_table(table, tmp_path / "d.parquet")
    with pytest.raises(DataError) as caught:
        read_true_records(tmp_path / "d.parquet")
    assert str(caught.value).startswith(f"{tmp_path / 'd.parquet'}: ")
    assert words in str(caught.value)


def test_files_that_are_none_or_of_the_other_kind(tmp_path: Path, small_data: Microdata) -> None:
    with pytest.raises(DataError, match=r"absent\.parquet: not readable as Parquet"):
        read_true_records(tmp_path / "absent.parquet")
    (tmp_path / "text.parquet").write_text("no Parquet")
    with pytest.raises(DataError, match=r"text\.parquet: not readable as Parquet"):
        read_true_records(tmp_path / "text.parquet")
    small_data.write_parquet(tmp_path / "coded.parquet")
    assert isinstance(read_true_records(tmp_path / "coded.parquet"), Microdata)
