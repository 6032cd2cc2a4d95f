"""Find results with recorded settings, code or inputs that differ from the current ones.

The provenance metadata next to each result decide, because a copy of the results may lack
Snakemake's own records. A result that is made once is never outdated.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from reproduction.papers import ANALYSES, TABLES
from reproduction.pipeline.code_digest import changed_code
from reproduction.pipeline.plan import RunPlan
from reproduction.pipeline.provenance import (
    SOURCE_SUFFIX,
    WITHHELD,
    Record,
    content_digest,
)

MAX_REASONS = 3
"""Largest number of changed settings that are listed."""


def reasons_of(plan: RunPlan, record: Record) -> list[str]:
    """Return the reasons for which the result of a `record` is outdated by a `plan`."""
    if record["made_once"]:
        return []
    reasons = list(_changed_settings(record.get("asked", {}), settings_now(plan, record)))
    if len(reasons) > MAX_REASONS:
        reasons[MAX_REASONS:] = [f"and {len(reasons) - MAX_REASONS} more settings"]
    if changed := changed_code(record.get("parts", {})):
        reasons.append(f"made by other code: {', '.join(changed)}")
    return [*reasons, *_changed_inputs(plan, record)]


def settings_now(plan: RunPlan, record: Record) -> dict[str, Any]:
    """Return the settings of the job of a `record` by a `plan`, by the names of its params.

    A parameter of another name keeps its recorded value.
    """
    path = Path(record["file"])
    now: dict[str, Any] = dict(record.get("asked", {}))
    for name in [*now]:
        match name:
            case "seed":
                now[name] = plan.config.seed
            case "source" | "mirror" if path.name.endswith(SOURCE_SUFFIX):
                now[name] = plan.download_settings(path.name.removesuffix(SOURCE_SUFFIX))[name]
            case "study":
                table = TABLES.get(path.stem)
                study = table.study if table and path.parent.name == "tables" else path.parent.name
                now[name] = _part(plan, f"studies.{study}")
            case "settings" if "sweeps" in path.parts:
                sweep = plan.sweeps.get(path.stem)
                now[name] = sweep and sweep.settings
            case "settings":
                now[name] = _of_analysis(plan, record)
            case "release":
                named = (each for each in plan.config.releases if each.name in path.parts)
                now[name] = next((each.model_dump() for each in named), None)
            case "config":
                now[name] = plan.config.model_dump(exclude={"data", "keys", "ledger"})
    as_recorded: dict[str, Any] = json.loads(json.dumps(now))
    return as_recorded


def _of_analysis(plan: RunPlan, record: Record) -> dict[str, Any]:
    """Return the current settings of an analysis.

    If it reads several sections, they are the section with the recorded options. If several
    sections have these options, the recorded settings are returned.
    """
    recorded: dict[str, Any] = record["asked"]["settings"]
    made_by = {table.path: each for each in ANALYSES.values() for table in each.tables}
    own = [made_by[record["file"]]] if record["file"] in made_by else ANALYSES.values()
    places = {place for each in own for place in each.settings}
    parts = [_part(plan, place) for place in sorted(places)]
    alike = [part for part in parts if part.keys() == recorded.keys()]
    if len(places) == 1:
        return parts[0]
    return alike[0] if len(alike) == 1 else recorded


def _part(plan: RunPlan, path: str) -> dict[str, Any]:
    """Return the settings at a `path` of the config, or an empty mapping."""
    part = plan.config.part(path) if path else None
    values: dict[str, Any] = part.model_dump() if part else {}
    return values


def _changed_settings(then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """Yield the settings that differ, each with both values."""
    old, new = dict(_leaves(then)), dict(_leaves(now))
    for name in old | new:
        before, after = old.get(name, "nothing"), new.get(name, "nothing")
        if before != after:
            yield f"{name}: made with {before!r}, now {after!r}"


def _changed_inputs(plan: RunPlan, record: Record) -> Iterator[str]:
    """Yield the workflow's own inputs that have changed."""
    for name, digest in record["inputs"].items():
        found = next((file for file in (Path(name), plan.root / name) if file.exists()), None)
        # An input that a job makes is checked with the record of that job.
        is_result = name.startswith("results/")
        if found and not is_result and digest not in (WITHHELD, content_digest(found)):
            yield f"made from another state of {name}"


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the plain values in nested ones, each by its path.

    Examples
    --------
    >>> dict(_leaves({"study": {"grids": [{"p": [0.3, 0.7]}]}}))
    {'study.grids[0].p[0]': 0.3, 'study.grids[0].p[1]': 0.7}
    """
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _leaves(part, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list | tuple):
        for number, part in enumerate(value):
            yield from _leaves(part, f"{name}[{number}]")
    else:
        yield name, value
