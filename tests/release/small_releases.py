"""Small releases of every kind, and what they are made from."""

import multiprocessing
import os
import random
import signal
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from deniable.files import write_once
from deniable.records.categorical import Microdata
from deniable.records.domain import Attribute, Domain
from deniable.records.numeric import NumericMicrodata
from deniable.release import KeyPlace, Source, canonical, release_from
from deniable.release.key_places import KEY_FILE, PLACE_FILE, PlaceOfKey
from deniable.release.keys import Records
from deniable.release.settings import AnyRelease

DOMAIN = Domain(
    (
        Attribute("a", ("0", "1")),
        Attribute("b", ("x", "y", "z")),
        Attribute("c", ("no", "yes")),
        Attribute("d", ("1", "2", "3", "4")),
    )
)
BOUNDS = {"width": (0.0, 20.0), "height": (1.0, 6.0)}
CLUSTERS = {"mechanism": "rr_clusters", "matrix": "keep", "p": 0.5, "t_v": 8, "t_d": 0.0}
IDP = {"mechanism": "idp", "epsilon": 1.0}
RRBA = {"mechanism": "rrba", "p": 0.5, "block": 70}
UNSOUND = {"accept": ["no_epsilon_for_records", "true_values_released"]}
KINDS: dict[str, dict[str, Any]] = {
    "independent": {"mechanism": "rr_independent", "matrix": "keep", "p": 0.5},
    "clusters by a half": CLUSTERS
    | {"cluster_mechanism": "joint"}
    | {"dependences": {"by": "attributes", "p": 0.4, "respondents": "half"}},
    "kronecker clusters": CLUSTERS
    | {"cluster_mechanism": "kronecker"}
    | {"dependences": {"by": "pairs_joint", "p": 0.4, "respondents": "half"}},
    "asked": {"mechanism": "rr_epsilon", "epsilon": 2.0, "channel": "subset-selection"}
    | {"joint": [["b", "d"]]},
    "strata": {
        "mechanism": "pram",
        "matrix": {"kind": "two_step", "epsilon": 2.0},
        "strata": ["c"],
        "joint": [["a", "b"]],
    },
    "values": IDP | {"method": "dp"},
    "centroids": IDP | {"method": "idp_cbls", "k": 7} | UNSOUND,
    "histograms": {"mechanism": "numeric_dp", "epsilon": 1.0, "bins": 8},
    "views": RRBA | {"answers": "view"},
    "pooled tables": RRBA | {"answers": "table", "update": "pooled", "floor": 0.3},
}


def settings(kind: str, **changes: Any) -> AnyRelease:
    """Return a release of a kind, by default no rehearsal."""
    given = {"name": "small", "data": "made", "rehearsal": False, "population": "people"}
    return release_from(given | KINDS[kind] | changes)


def records(lane: str, count: int = 700) -> Records:
    """Return true records for a lane."""
    drawn = np.random.default_rng(1)
    marks = {"data_source": "original"}
    if lane != "numeric":
        columns = [drawn.integers(0, attribute.size, count) for attribute in DOMAIN]
        columns[1] = np.where(drawn.random(count) < 0.7, columns[0], columns[1])
        return Microdata(DOMAIN, tuple(columns), marks)
    values = np.stack([drawn.gamma(3, 1.5, count), drawn.uniform(1, 6, count)], axis=1)
    values = np.clip(values.round(1), [0, 1], [20, 6])
    return NumericMicrodata(
        tuple(BOUNDS), values, "size", ("small", "large"), drawn.integers(0, 2, count), marks
    )


def source(release: AnyRelease, data: Records | None = None, seed: int = 1) -> Source:
    """Return what a release is made from."""
    bounds = (BOUNDS,) if release.lane == "numeric" else ()
    return Source(records(release.lane) if data is None else data, seed, bounds)


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
    """Return what the files below a folder hold, by name."""
    files = (file for file in sorted(folder.rglob("*")) if file.is_file())
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}
