"""Resources that jobs request, in the words of Snakemake.

The minutes are at least five times the time of the slowest job at full size. The memory has room
for two Snakemakes around a job (200 MB each, docs/cluster.md). All jobs use one thread.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple


class Resources(NamedTuple):
    """Resources of a job at its first attempt."""

    minutes: int  # of its time limit
    memory_mb: int  # of its memory


SECONDS = Resources(3, 1000)  # of jobs that take seconds and 200 to 300 MB
MINUTES = Resources(15, 1500)  # of jobs that may take minutes and up to 500 MB
SIMULATION = Resources(30, 1500)  # of a chunk, which a user's own ``chunks`` may make larger


def needs(resources: Resources) -> Mapping[str, Callable[[Any, int], int]]:
    """Return the `resources` of a rule. The n-th attempt requests n times as much as the first."""
    return {
        "runtime": lambda wildcards, attempt: attempt * resources.minutes,
        "mem_mb": lambda wildcards, attempt: attempt * resources.memory_mb,
    }
