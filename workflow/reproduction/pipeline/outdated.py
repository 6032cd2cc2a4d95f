"""Find outdated results: recorded settings, code or inputs differ from the present ones.

The provenance metadata next to each result decide, because a copy of the results may lack
Snakemake's own metadata. A result that is made only once is never outdated.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from reproduction.pipeline.code_digest import changed_code
from reproduction.pipeline.plan import RunPlan
from reproduction.pipeline.provenance import SOURCE_SUFFIX, WITHHELD, Record, content_digest

MAX_REASONS = 3  # largest number of changed settings in a list


def reasons_of(plan: RunPlan, record: Record) -> list[str]:
    """Return the reasons why a `plan` makes the result of a `record` outdated."""
    if record["made_once"]:
        return []
    then, now = dict(_leaves(record.get("asked", {}))), dict(_leaves(settings_now(plan, record)))
    reasons = [
        f"{name}: made with {then.get(name, 'nothing')!r}, now {now.get(name, 'nothing')!r}"
        for name in then | now
        if then.get(name, "nothing") != now.get(name, "nothing")
    ]
    if len(reasons) > MAX_REASONS:
        reasons[MAX_REASONS:] = [f"and {len(reasons) - MAX_REASONS} more settings"]
    if changed := changed_code(record.get("parts", {})):
        reasons.append(f"made by other code: {', '.join(changed)}")
    for name, digest in record["inputs"].items():
        found = next((file for file in (Path(name), plan.root / name) if file.exists()), None)
        # An input that is a result of a job is checked with the record of that job.
        is_result = name.startswith("results/")
        if found and not is_result and digest not in (WITHHELD, content_digest(found)):
            reasons.append(f"made from another state of {name}")
    return reasons


def settings_now(plan: RunPlan, record: Record) -> dict[str, Any]:
    """Return the settings that a `plan` has for the job of a `record`, by names of parameters.

    Other parameters keep their recorded values. So does ``section``, the place of the settings in
    the config.
    """
    path = Path(record["file"])
    now: dict[str, Any] = dict(record.get("asked", {}))
    for name in [*now]:
        match name:
            case "seed":
                now[name] = plan.config.seed
            case "source" | "mirror" if path.name.endswith(SOURCE_SUFFIX):
                now[name] = plan.download_settings(path.name.removesuffix(SOURCE_SUFFIX))[name]
            case "study" | "settings" if "section" in now:
                part = plan.config.part(now["section"])
                now[name] = part.model_dump() if part else {}
            case "settings" if "sweeps" in path.parts:
                sweep = plan.config.sweeps.get(path.stem)
                now[name] = sweep and sweep.settings
            case "release":
                named = (each for each in plan.config.releases if each.name in path.parts)
                now[name] = next((each.model_dump() for each in named), None)
            case "config":
                now[name] = plan.config.model_dump(exclude={"data", "keys", "ledger"})
    return dict(json.loads(json.dumps(now)))  # in the recorded form


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the plain values in a nested `value`, each with its path.

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
