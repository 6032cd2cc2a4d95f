"""The margins of a file that matrices are made for."""

from collections.abc import Iterator

import numpy as np

from deniable.arrays import Counts
from deniable.records import Microdata


def margins(data: Microdata) -> Iterator[tuple[str, list[str], Counts]]:
    """Yield each attribute with two or more categories that occur: name, those, their counts."""
    for attribute in data.domain:
        counts = data.counts((attribute.name,))
        present = np.flatnonzero(counts)
        if present.size >= 2:
            names = [attribute.categories[code] for code in present]
            yield attribute.name, names, counts[present]
