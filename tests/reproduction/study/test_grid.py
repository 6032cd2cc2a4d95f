"""Grids become cells, and cells chunks that lose none."""

import pytest
from hypothesis import given, strategies as st

from deniable.errors import DeniableError

from reproduction.study.grid import cells_of_grids, chunk_of, values_of


def test_cells_of_several_grids_keep_their_order() -> None:
    grids = [{"p": [0.1, 0.3], "t_v": [50, 100]}, {"p": [0.5], "t_v": [50]}]
    assert [tuple(cell.values()) for cell in cells_of_grids(grids)] == [
        (0.1, 50),
        (0.1, 100),
        (0.3, 50),
        (0.3, 100),
        (0.5, 50),
    ]


def test_values_are_listed_once_in_order() -> None:
    assert values_of([{"p": [0.3, 0.1]}, {"p": [0.1, 0.5]}], "p") == [0.3, 0.1, 0.5]


@given(st.integers(1, 60), st.integers(1, 20))
def test_chunks_are_a_partition_of_the_cells_of_even_sizes(number: int, chunks: int) -> None:
    cells = [{"cell": i} for i in range(number)]
    parts = [chunk_of(cells, i, chunks) for i in range(chunks)]
    assert sorted(cell["cell"] for part in parts for cell in part) == list(range(number))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


@pytest.mark.parametrize("chunk", [-1, 3])
def test_a_chunk_that_is_not_there_is_refused(chunk: int) -> None:
    with pytest.raises(DeniableError, match=f"chunk {chunk} of 3 does not exist"):
        chunk_of([{"a": 1}], chunk, 3)
