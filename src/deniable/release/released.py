"""Releases that were made, read from their folders."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from deniable.files import read_json
from deniable.release.lanes import LANES, PRIVATE, PUBLIC, Lane
from deniable.release.made import read_made
from deniable.release.settings import LANE_OF

SAID = f"{PUBLIC}/release.json"


def folders_of(left: Iterable[Path | str]) -> list[Path]:
    """Return the folders of releases by what they leave: folders of rehearsals, and receipts."""
    paths = map(Path, left)
    return list(
        dict.fromkeys(p.parent if p.name in (PUBLIC, PRIVATE) else p.parent.parent for p in paths)
    )


def lane_of(folder: Path) -> Lane:
    """Return what the release in a folder went through."""
    return LANES[LANE_OF[read_json(folder / SAID)["parameters"]["mechanism"]]]


def audited_releases(left: Iterable[Path | str]) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield name, mechanism and audited claims of releases, by what they leave.

    Of what was computed on true records those of rehearsals alone.
    """
    for folder in folders_of(left):
        audit = lane_of(folder).audit
        made = read_made(folder / file for file in audit.reads)
        audited = audit(made)
        said = made["release"]
        mechanism = said["parameters"]["mechanism"]
        if len(audited):
            shown = audited["method"].iloc[0] if "method" in audited else mechanism
            yield said["release"], shown, audited


def shown_of(folder: Path) -> dict[str, Any]:
    """Return what a page shows of the release in a folder, by the names of files."""
    lane = lane_of(folder)
    made = read_made(folder / file for file in lane.shown)
    if "audit" in made:
        made["audit"] = lane.audit(made)
    if made["release"]["rehearsal"]:
        made |= read_made(folder / file for file in lane.check.leaves)
    return made
