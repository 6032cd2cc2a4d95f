"""What jobs ask of a cluster, in the words of Snakemake."""

from collections.abc import Callable, Mapping
from inspect import isfunction
from typing import Any

from reproduction.study import Resources

Asking = Any
"""`Resources`, an entry of a catalog that has them, or a function of wildcards that finds one."""


def needs(*asking: Asking) -> Mapping[str, Callable[..., int]]:
    """Return the resources of a rule: the most that one of those `asking` asks for.

    A second attempt asks for twice as much as the first, a third for three times.
    """

    def most(name: str) -> Callable[..., int]:
        def asked(wildcards: Any, attempt: int) -> int:
            return attempt * max(int(getattr(_of(each, wildcards), name)) for each in asking)

        return asked

    return {"runtime": most("minutes"), "mem_mb": most("memory_mb")}


def _of(asking: Asking, wildcards: Any) -> Resources:
    entry = asking(wildcards) if isfunction(asking) else asking
    found: Resources = entry if hasattr(entry, "memory_mb") else entry.resources
    return found
