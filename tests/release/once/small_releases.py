"""Small releases by plans of every kind, and the records that they are made from."""

import multiprocessing
import os
import random
import signal
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from deniable.files import read_json, write_once
from deniable.plans import Plan, StrataPlan, make_plan
from deniable.release import KeyPlace, canonical, protect
from deniable.release.key_places import KEY_FILE, PLACE_FILE, PlaceOfKey
from deniable.schema import Schema, schema_from

CATEGORIES = {
    "a": ("0", "1"),
    "b": ("x", "y", "z"),
    "c": ("no", "yes"),
    "d": ("1", "2", "3", "4"),
}


def schema(kind: str = "parquet", population: str = "people") -> Schema:
    """Return the schema of the records in a kind of file."""
    columns = [
        {"name": name, "kind": "categorical", "categories": list(own)}
        for name, own in CATEGORIES.items()
    ]
    about = {"format": "deniable-schema", "version": 1, "population": population}
    return schema_from(about | {"file": {"kind": kind}, "columns": columns})


def _strata(schema: Schema, epsilon: float, **options: Any) -> Plan:
    return StrataPlan.of_epsilon(schema, ["c"], epsilon, [["a", "b"]], **options)


def _plan(**own: Any) -> Callable[..., Plan]:
    return lambda schema, epsilon, **options: make_plan(schema, epsilon, **own | options)


KINDS: dict[str, tuple[str, Callable[..., Plan]]] = {
    "columns": ("parquet", _plan(mechanism="generalized-rr", reports="categories")),
    "columns of text": ("csv", _plan(mechanism="generalized-rr", reports="categories")),
    "cluster": ("arrow", _plan(clusters=[["a", "b"]], reports="categories")),
    "other values": ("parquet", _plan(mechanism="subset-selection")),
    "strata": ("csv", _strata),
}
"""Format of the file, and a plan by schema and epsilon."""


def plan_for(kind: str, epsilon: float = 2.0, population: str = "people", **options: Any) -> Plan:
    """Return a plan of a kind."""
    form, make = KINDS[kind]
    return make(schema(form, population), epsilon, **options)


def records(count: int = 700) -> pd.DataFrame:
    """Return original records."""
    drawn = np.random.default_rng(1)
    codes = {name: drawn.integers(0, len(own), count) for name, own in CATEGORIES.items()}
    codes["b"] = np.where(drawn.random(count) < 0.7, codes["a"], codes["b"])
    return pd.DataFrame({n: np.array(CATEGORIES[n])[each] for n, each in codes.items()})


def made(
    kind: str,
    at: Path,
    place: KeyPlace | None = None,
    data: pd.DataFrame | None = None,
    name: str = "small",
    plan: Plan | None = None,
    **options: Any,
) -> dict[str, bytes]:
    """Make a production release with a ledger next to it; return its public files."""
    given = records() if data is None else data
    own = plan_for(kind) if plan is None else plan
    protect(given, own, at / name, ledger=at / "ledger", place=place, **options)
    return content(at / name / "public")


class NamedKeys(KeyPlace):
    """Keys by the names of releases alone."""

    def of_release(self, release: str, private: Path) -> PlaceOfKey:
        begun = PlaceOfKey(release, str(self.folder), [], release, "this machine")
        write_once(private / PLACE_FILE, canonical(asdict(begun)))
        return begun


def known_key(folder: Path, release: str = "small", byte: int = 7) -> KeyPlace:
    """Put a known key where a release will look for it."""
    write_once(folder / release / KEY_FILE, bytes([byte]) * 32)
    return NamedKeys(str(folder))


def killed_at_random(
    process: Callable[..., None],
    given: Sequence[Any],
    rounds: int,
    seconds: float,
    moments: random.Random,
) -> int:
    """Start a process twice at once, again and again; return how many were killed by then.

    Two, as a job and the one that was started because the first was thought dead. The process gets
    a barrier after what is `given`, and is killed within so many `seconds` after it.
    """
    context, killed = multiprocessing.get_context("spawn"), 0
    for _ in range(rounds):
        barrier = context.Barrier(3)
        started = [context.Process(target=process, args=(*given, barrier)) for _ in range(2)]
        for each in started:
            each.start()
        barrier.wait(120)
        for each in started:
            each.join(moments.uniform(0, seconds))
            if each.is_alive():
                os.kill(each.pid or 0, signal.SIGKILL)
                killed += 1
            each.join(60)
    return killed


def content(folder: Path) -> dict[str, bytes]:
    """Return the content of all files below a folder, by name."""
    files = (file for file in sorted(folder.rglob("*")) if file.is_file())
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}


def but_for_the_entry(folder: Path) -> dict[str, Any]:
    """Return the content of a public folder without the digest of its ledger's entry.

    The entry has the time of its reservation, so that two ledgers never have the same one.
    """
    found: dict[str, Any] = content(folder)
    document = read_json(folder / "plan.json")
    document["release"].get("ledger", {}).pop("head", None)
    found |= {"plan.json": document}
    del found["SHA256SUMS"]
    return found
