"""Resources of the jobs of a rule, in Snakemake's terms."""

from collections.abc import Callable, Mapping
from inspect import isfunction
from typing import Any


def needs(*entries: Any) -> Mapping[str, Callable[..., int]]:
    """Return the resources of a rule: the largest of all `entries`, times the attempt's number.

    An entry is `Resources`, an entry of a catalog with resources, or a function of wildcards that
    returns one of these.
    """

    def largest(name: str) -> Callable[..., int]:
        def found(wildcards: Any, attempt: int) -> int:
            given = (each(wildcards) if isfunction(each) else each for each in entries)
            return attempt * max(
                int(getattr(each if hasattr(each, name) else each.resources, name))
                for each in given
            )

        return found

    return {"runtime": largest("minutes"), "mem_mb": largest("memory_mb")}
