"""Small releases by plans of every kind, and the records that they are made from."""

import multiprocessing
import os
import random
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from deniable.files import read_json, write_once
from deniable.plans import CollectedPlan, MaskedPlan, Plan, StrataPlan, make_plan
from deniable.release import Entry, Ledger, RecordDigests, protect
from deniable.release.counting.entries import Overlap, overlaps
from deniable.release.keys import KEY_FILE
from deniable.schema import Part, Schema, schema_from_dict

CATEGORIES = {
    "a": ("0", "1"),
    "b": ("x", "y", "z"),
    "c": ("no", "yes"),
    "d": ("1", "2", "3", "4"),
}


BOUNDS = {"width": (0.0, 20.0), "height": (1.0, 6.0)}
UNSOUND = ("no_epsilon_for_records", "original_values_released")


def schema(
    kind: str = "parquet",
    population: str = "people",
    numbers: bool = False,
    missing: str = "refuse",
) -> Schema:
    """Return the schema of the records in a kind of file; with or without the `numbers`.

    The policy `missing` is for all columns. Numbers cannot have a category for missing values.
    """
    columns: list[dict[str, Any]] = [
        {"name": name, "kind": "categorical", "categories": list(own)}
        | {"missing": {"policy": missing}}
        for name, own in CATEGORIES.items()
    ]
    more = {"kind": "numeric" if numbers else "left_out"}
    policy = {"missing": {"policy": "refuse" if missing == "category" else missing}}
    for name, bounds in BOUNDS.items():
        own: dict[str, Any] = {"bounds": list(bounds)} | policy if numbers else {}
        own |= {"type": "double"} if numbers and kind != "csv" else {}
        columns.append({"name": name} | more | own)
    about = {"format": "deniable-schema", "version": 1, "population": population}
    return schema_from_dict(about | {"file": {"kind": kind}, "columns": columns})


def _strata(schema: Schema, epsilon: float, **options: Any) -> Plan:
    return StrataPlan.from_schema(schema, ["c"], epsilon, [["a", "b"]], **options)


def _masked(method: str, **own: Any) -> Callable[..., Plan]:
    accepted = UNSOUND if method == "idp_cbls" else ()

    def make(schema: Schema, epsilon: float, **options: Any) -> Plan:
        given = {"class_column": "c", "accept": accepted} | own | options
        return MaskedPlan.from_schema(schema, epsilon, method, **given)  # type: ignore[arg-type]

    return make


def _collected(**own: Any) -> Callable[..., Plan]:
    def make(schema: Schema, epsilon: float, **options: Any) -> Plan:
        return CollectedPlan.from_schema(schema, epsilon, block=70, **own | options)

    return make


def _plan(**own: Any) -> Callable[..., Plan]:
    return lambda schema, epsilon, **options: make_plan(schema, epsilon, **own | options)


KINDS: dict[str, tuple[str, Callable[..., Plan]]] = {
    "columns": ("parquet", _plan(mechanism="generalized-rr", responses="categories")),
    "columns of text": ("csv", _plan(mechanism="generalized-rr", responses="categories")),
    "cluster": ("arrow", _plan(clusters=[["a", "b"]], responses="categories")),
    "other values": ("parquet", _plan(mechanism="subset-selection")),
    "strata": ("csv", _strata),
    "numbers": ("parquet", _masked("dp")),
    "numbers as text": ("csv", _masked("dp")),
    "centroids": ("arrow", _masked("idp_cbls", k=7)),
    "histograms": ("csv", _masked("histograms", bins=8)),
    "views": ("parquet", _collected(answers="view")),
    "pooled tables": ("csv", _collected(answers="table", floor=0.3)),
}
"""Format of the file, and a plan by schema and epsilon."""


def plan_for(kind: str, epsilon: float = 2.0, population: str = "people", **options: Any) -> Plan:
    """Return a plan of a kind."""
    form, make = KINDS[kind]
    numbers = kind in ("numbers", "numbers as text", "centroids", "histograms")
    return make(schema(form, population, numbers), epsilon, **options)


def records(count: int = 700) -> pd.DataFrame:
    """Return original records."""
    drawn = np.random.default_rng(1)
    codes = {name: drawn.integers(0, len(own), count) for name, own in CATEGORIES.items()}
    codes["b"] = np.where(drawn.random(count) < 0.7, codes["a"], codes["b"])
    texts = {n: np.array(CATEGORIES[n])[each] for n, each in codes.items()}
    width = np.clip(drawn.gamma(3, 1.5, count).round(1), 0, 20)
    return pd.DataFrame(texts | {"width": width, "height": drawn.uniform(1, 6, count).round(1)})


def written(data: pd.DataFrame, plan: Plan, stem: Path) -> Path:
    """Write records in the format of a plan; return the file."""
    kind = plan.schema.file.kind
    file = stem.with_suffix(f".{kind}")
    file.parent.mkdir(parents=True, exist_ok=True)
    if kind == "csv":
        data.to_csv(file, index=False)
    elif kind == "parquet":
        data.to_parquet(file)
    else:
        table = pa.Table.from_pandas(data, preserve_index=False)
        with pa.ipc.new_file(file, table.schema) as stream:
            stream.write_table(table)
    return file


def made(
    kind: str,
    at: Path,
    key_folder: Path | None = None,
    data: pd.DataFrame | None = None,
    name: str = "small",
    plan: Plan | None = None,
    **options: Any,
) -> dict[str, bytes]:
    """Make a production release with a ledger next to it; return its public files."""
    ledger_in(at / "ledger")
    own = plan_for(kind) if plan is None else plan
    given = written(records() if data is None else data, own, at / f"records of {name}")
    protect(given, own, at / name, ledger=at / "ledger", key_folder=key_folder, **options)
    return content(at / name / "public")


def ledger_in(folder: Path) -> Path:
    """Make a ledger in a folder, unless the folder exists; return the folder."""
    if not folder.exists():
        Ledger.init(folder)
    return folder


def new_entry(
    population: str,
    release: str,
    plan: str,
    records: RecordDigests,
    epsilon: Any,
    part: Part | None = None,
    **changes: Any,
) -> Entry:
    """Return an entry for a ledger, from the facts that most tests give."""
    given = {"population": population, "release": release, "plan": plan, "records": records}
    return Entry(**given | {"epsilon": epsilon, "part": part} | changes)


def overlap(records: RecordDigests, release: str, earlier: RecordDigests) -> Overlap:
    """Return the overlap of a file with the one of an earlier release, even if it is empty."""
    entry = new_entry("people", release, "", earlier, 1)
    return next(overlaps(records, [entry]), Overlap(release, 0.0, 0.0, 0))


def known_key(at: Path, release: str = "small", byte: int = 7) -> Path:
    """Put a known key where a release that the ledger of a folder counts will look for it."""
    label = Ledger(ledger_in(at / "ledger")).label("people", release)
    write_once(at / "keys" / label / KEY_FILE, bytes([byte]) * 32)
    return at / "keys"


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
