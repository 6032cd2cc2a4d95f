"""Random streams: seeded for each job of an experiment, and from the operating system."""

import hashlib
import json
import os
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from deniable.arrays import Counts
from deniable.errors import DeniableError, shown


class RandomSource(Protocol):
    """The interface of `numpy.random.Generator` and `SystemRandomSource` for randomization."""

    def integers(self, low: int, high: int, size: int) -> Counts:
        """Return `size` uniform integers in `low` .. `high` - 1."""


class SystemRandomSource:
    """The operating system's cryptographic generator, for releases of real data.

    It has no seed, and no state that could be stored, so two randomizations differ.
    """

    def _words(self, size: int) -> npt.NDArray[np.uint64]:
        return np.frombuffer(bytearray(os.urandom(8 * size)), dtype=np.uint64)

    def integers(self, low: int, high: int, size: int) -> Counts:
        """Return `size` integers in `low` .. `high` - 1, exactly uniform by rejection."""
        span, words = high - low, self._words(size)
        if span == 2**64:  # every word is one of them
            return words.view(np.int64)
        limit = np.uint64(2**64 - 1 - (2**64 % span))  # largest word of the last full span
        while (rejected := np.flatnonzero(words > limit)).size:
            words[rejected] = self._words(rejected.size)
        return (words % np.uint64(span)).astype(np.int64) + low


def refuse_no_source(source: object, *, of_counts: bool = False) -> None:
    """Raise `DeniableError` unless `source` can draw random numbers; a seed cannot.

    Draws of counts (`of_counts`) need a `numpy.random.Generator`.
    """
    if not hasattr(source, "multinomial" if of_counts else "integers"):
        system = "" if of_counts else ", or deniable.SystemRandomSource()"
        raise DeniableError(
            f"{shown(source)} is not a random source; give numpy.random.default_rng(seed){system}"
        )


def generator_for(root_seed: int, key: Mapping[str, Any]) -> np.random.Generator:
    """Return the random stream of one job, from the root seed and the key of the job.

    The stream does not depend on the order of jobs, the number of cores, or the chunks. The
    `root_seed` is >= 0. The `key` has plain JSON values; equal keys give equal streams.

    Examples
    --------
    >>> a = generator_for(1, {"study": "s", "p": 0.1})
    >>> b = generator_for(1, {"p": 0.1, "study": "s"})
    >>> a.integers(1000) == b.integers(1000)
    np.True_
    """
    text = json.dumps(key, sort_keys=True, ensure_ascii=True, allow_nan=False)
    words = np.frombuffer(hashlib.sha256(text.encode()).digest(), dtype="<u4")
    return np.random.Generator(np.random.PCG64([root_seed, *map(int, words)]))
