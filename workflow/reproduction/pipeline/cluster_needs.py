"""Resources that jobs request from Snakemake.

The time is at least five times the time of the slowest job at full size. The memory is for a job
and two Snakemake processes around it (200 MB each, docs/cluster.md). All jobs use one thread.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple


class Resources(NamedTuple):
    """Resources of a job at its first attempt."""

    minutes: int  # time limit
    memory_mb: int  # memory limit in MB


SECONDS = Resources(3, 1000)  # for jobs that take seconds and 200 to 300 MB
MINUTES = Resources(15, 1500)  # for jobs that may take minutes and up to 500 MB
SIMULATION = Resources(30, 1500)  # for a chunk; a user's value of ``chunks`` may make it larger


def needs(resources: Resources) -> Mapping[str, Callable[[Any, int], int]]:
    """Return the `resources` of a rule; the n-th attempt requests n times as much as the first."""
    return {
        "runtime": lambda wildcards, attempt: attempt * resources.minutes,
        "mem_mb": lambda wildcards, attempt: attempt * resources.memory_mb,
    }
