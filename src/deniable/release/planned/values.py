"""How many different values a column has that goes out as it is, read in portions."""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

MOST_VALUES = 100_000


class Values:
    """Counts the different values of a column, and those of one record alone, up to a limit."""

    def __init__(self) -> None:
        self._times: dict[object, int] | None = {}

    def add(self, column: pa.Array) -> None:
        """Take the values of a `column` of some records; missing ones are none."""
        if self._times is None:
            return
        found = pc.value_counts(column.drop_null())
        if len(found) <= MOST_VALUES:
            values, counts = (found.field(name).to_pylist() for name in ("values", "counts"))
            for value, times in zip(values, counts, strict=True):
                self._times[value] = self._times.get(value, 0) + times
        if max(len(found), len(self._times)) > MOST_VALUES:
            self._times = None  # as many as anybody needs to know

    def told(self) -> Iterator[tuple[str, float]]:
        """Yield what is counted with its number; beyond the limit, that limit as "over"."""
        if self._times is None:
            yield f"different values, over {MOST_VALUES:,}; at least", float(MOST_VALUES)
            return
        yield "different values that go out as they are", float(len(self._times))
        alone = sum(times == 1 for times in self._times.values())
        yield "of them, values of one record alone", float(alone)
