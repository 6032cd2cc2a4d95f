"""Whether results are what their jobs would make now, by what is recorded beside them.

A result is current if its record names the settings, the seed, the code and the inputs that its
job would have now, if each input still is what it was, and if what it rests on is current. Neither
times of files nor records of Snakemake's are asked, which a copy of the results may come without.
What is drawn once is current whatever happens.
"""

import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deniable.errors import DataError

from reproduction.pipeline.provenance import (
    RESULTS,
    WITHHELD,
    Record,
    content_digest,
    digest_of_values,
    kind_of_origin,
    label,
    provenance_path,
    read_provenance,
    settings_of,
)

STALE_VARIABLE = "DENIABLE_STALE"
"""Names the file into which a dry run writes what it finds, with the data as they are settled."""
STALE = "results/stale"
"""Where results that are not current are kept while they are made again."""
# Prepared records need no second copy, and releases are never touched.
LEFT_IN_PLACE = ("results/data/", "results/releases/")
SMALL = 1_000_000
"""Bytes up to which what others are made from is read, beyond if it is newer than its record."""
SHOWN = 3
"""Settings that are named of a result."""
NAMED = 3
"""Results that are named at the start of a run."""
RESTS_ON = "rests on "


@dataclass(frozen=True)
class Asked:
    """What a job would make now, and of what; with the parameters that `Making` has.

    Attributes
    ----------
    outputs : tuple of str
    inputs : tuple of str
    params : mapping of str to Any
    """

    outputs: tuple[str, ...]
    inputs: tuple[str, ...]
    params: Mapping[str, Any]


def stale(jobs: Iterable[Asked]) -> dict[str, list[str]]:
    """Return the results that are not current, with the reasons.

    What is missing is not among them: it is made if it is needed. Nor is a result of which only
    its own content has changed; what rests on it is, and refuses to read it.

    Parameters
    ----------
    jobs : iterable of Asked
        Of the graph of a run, in any order.
    """
    return _Freshness(jobs).stale()


def summary(found: Mapping[str, list[str]]) -> str:
    """Return what to tell of results `found` to be old: the first that rest on no other."""
    first = [
        f"  {path}: {reasons[0]}"
        for path, reasons in sorted(found.items())
        if not reasons[0].startswith(RESTS_ON)
    ]
    more = len(found) - len(first[:NAMED])
    lines = ["made again where asked for, by the records beside them:", *first[:NAMED]]
    return "\n".join([*lines, f"  and {more} more"] if more else lines)


def set_aside(results: Iterable[str]) -> None:
    """Move `results` and their records to `STALE`; what was there of an earlier run is replaced."""
    for result in results:
        if result.startswith(LEFT_IN_PLACE):
            continue
        # What cannot be moved is replaced where it is.
        with suppress(OSError):
            for file in (Path(result), provenance_path(result)):
                place = Path(STALE) / file.relative_to(RESULTS)
                if place.is_dir():
                    shutil.rmtree(place)
                place.parent.mkdir(parents=True, exist_ok=True)
                file.replace(place)


class _Freshness:
    """The jobs of a graph, and what was found of them and of files so far."""

    def __init__(self, jobs: Iterable[Asked]) -> None:
        self._makers = {output: job for job in jobs for output in job.outputs}
        self._reasons: dict[tuple[str, ...], list[str]] = {}
        self._digests: dict[str, str] = {}

    def stale(self) -> dict[str, list[str]]:
        return {
            output: reasons
            for output, job in self._makers.items()
            if (reasons := self._of(job)) and Path(output).exists()
        }

    def _of(self, job: Asked) -> list[str]:
        """Return why the outputs of a job are not current, they and all that they rest on."""
        if job.outputs not in self._reasons:
            records = {output: _record(output) for output in job.outputs}
            found: dict[str, None] = {}
            if not _made_once(job, records.values()):
                changing = [path for path in job.inputs if self._changes(path)]
                for output, record in records.items():
                    found |= dict.fromkeys(self._of_file(output, record, job, changing))
                found |= dict.fromkeys(f"{RESTS_ON}{label(path)}" for path in changing)
            self._reasons[job.outputs] = list(found)
        return self._reasons[job.outputs]

    def _changes(self, path: str) -> bool:
        maker = self._makers.get(path)
        return maker is not None and bool(self._of(maker))

    def _of_file(
        self, output: str, record: Record | None, job: Asked, changing: list[str]
    ) -> Iterator[str]:
        if record is None:
            if Path(output).exists():
                yield "it has no record of provenance that can be read"
            return
        yield from _of_params(record, job.params)
        inputs = {label(path): path for path in job.inputs}
        then = record.get("inputs", {})
        yield from (f"now made from {name} too" for name in sorted(inputs.keys() - then.keys()))
        yield from (f"not made from {name} now" for name in sorted(then.keys() - inputs.keys()))
        for name in sorted(inputs.keys() & then.keys()):
            path = inputs[name]
            known = then[name] == WITHHELD or path in changing or not Path(path).exists()
            if not known and self._digest(path) != then[name]:
                yield f"made from another state of {name}"
        if not all(Path(path).exists() for path in job.inputs):
            yield from self._of_data(record, job)

    def _of_data(self, record: Record, job: Asked) -> Iterator[str]:
        """Yield whether a result whose inputs are gone comes from other data than they would."""
        now = self._origins(job)
        then = {name: entry["sha256"] for name, entry in record["data"].items()}
        if any(digest not in (WITHHELD, now.get(name)) for name, digest in then.items()):
            yield f"made from other data ({', '.join(then)}; now {', '.join(now)})"

    def _origins(self, job: Asked) -> dict[str, str]:
        """Return the files that the records behind a job come from, each with its SHA-256."""
        found: dict[str, str] = {}
        for path in job.inputs:
            maker, record = self._makers.get(path), _record(path)
            if maker is None and kind_of_origin(label(path)) and Path(path).exists():
                found[label(path)] = self._digest(path)
            elif record and Path(path).exists():
                found |= {name: entry["sha256"] for name, entry in record["data"].items()}
            elif maker is not None:
                found |= self._origins(maker)
        return found

    def _digest(self, path: str) -> str:
        if path not in self._digests:
            self._digests[path] = _recorded_digest(path) or content_digest(path)
        return self._digests[path]


def _record(path: str) -> Record | None:
    try:
        return read_provenance(path)
    except DataError:
        return None


def _made_once(job: Asked, records: Iterable[Record | None]) -> bool:
    """Return whether newer code and data leave what a job makes, or made, alone."""
    made = any(record["made_once"] for record in records if record)
    return made or job.params.get("code", "any") is None


def _recorded_digest(path: str) -> str | None:
    """Return the SHA-256 that is recorded of a large file, unless the file is newer than that."""
    state, beside = Path(path).stat(), provenance_path(path)
    if state.st_size <= SMALL or not beside.exists():
        return None
    if beside.stat().st_mtime_ns < state.st_mtime_ns:
        return None
    record = _record(path)
    return record["sha256"] if record else None


def _of_params(record: Record, params: Mapping[str, Any]) -> Iterator[str]:
    """Yield in what a job's parameters are not those that are recorded."""
    settings = settings_of(params)
    if record.get("settings") != digest_of_values(settings):
        yield from _of_settings(record.get("asked"), settings)
    if "seed" in params and record.get("seed") != params["seed"]:
        yield f"seed: made with {record.get('seed')}, now {params['seed']}"
    if params.get("code") is not None and record.get("code") != params["code"]:
        yield f"made by other code ({record.get('code')}, now {params['code']})"


def _of_settings(then: Any, now: Mapping[str, Any]) -> Iterator[str]:
    """Yield the settings that differ, each with both values."""
    old, new = dict(_leaves(then)), dict(_leaves(now))
    names = [name for name in old | new if old.get(name, "nothing") != new.get(name, "nothing")]
    if then is None or not names:
        yield "made with other settings"
        return
    for name in names[:SHOWN]:
        yield f"{name}: made with {old.get(name, 'nothing')!r}, now {new.get(name, 'nothing')!r}"
    if len(names) > SHOWN:
        yield f"and {len(names) - SHOWN} more settings"


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
