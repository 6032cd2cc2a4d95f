"""How many different values a column has, up to a limit, however it is divided."""

import pyarrow as pa
import pytest

from deniable.release.planned import values
from deniable.release.planned.values import Values


def told(column: list[object], rows: int) -> list[tuple[str, float]]:
    counted, array = Values(), pa.array(column)
    for start in range(0, len(column), rows):
        counted.add(array.slice(start, rows))
    return list(counted.told())


@pytest.mark.parametrize("rows", [1, 3, 100])
def test_values_are_counted_up_to_the_limit(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "MOST_VALUES", 4)
    few = ["a", "b", None, "a", "c", "d"]
    assert told(few, rows) == [
        ("different values that go out as they are", 4.0),
        ("of them, values of one record alone", 3.0),
    ]
    assert told([*few, "e", "a"], rows) == [("different values, over 4; at least", 4.0)]
    assert told([1.5, None, 1.5], rows)[0][1] == 1.0
