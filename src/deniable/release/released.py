"""Releases that were made, read from their folders."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from deniable.files import read_json, read_table
from deniable.release.lanes import LANES, PRIVATE, PUBLIC, SAID, Lane
from deniable.release.made import FOR_ALL, read_made
from deniable.release.settings import LANE_OF


def folders_of(left: Iterable[Path | str]) -> list[Path]:
    """Return the folders of releases by what is `left`: folders of rehearsals, and receipts."""
    paths = map(Path, left)
    return list(
        dict.fromkeys(p.parent if p.name in (PUBLIC, PRIVATE) else p.parent.parent for p in paths)
    )


def lane_of(folder: Path) -> Lane:
    """Return what the release in a `folder` went through."""
    return LANES[LANE_OF[read_json(folder / SAID)["parameters"]["mechanism"]]]


def audited_releases(left: Iterable[Path | str]) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield name, mechanism and audited claims of releases, by what is `left` of them.

    Of what was computed on true records those of rehearsals alone.
    """
    for folder in folders_of(left):
        audit = lane_of(folder).audit
        made = read_made(folder / file for file in audit.reads)
        audited, said = _for_all(made, audit(made)), made["release"]
        mechanism = said["parameters"]["mechanism"]
        if len(audited):
            shown = audited["method"].iloc[0] if "method" in audited else mechanism
            yield said["release"], shown, audited


def _for_all(made: Mapping[str, Any], audited: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that tell nothing of true records; all of a rehearsal's."""
    if made["release"]["rehearsal"] or "use" not in audited:
        return audited
    return audited[audited["use"] == FOR_ALL].reset_index(drop=True)


def shown_of(folder: Path) -> dict[str, Any]:
    """Return what a page shows of the release in a `folder`, by the names of files."""
    lane = lane_of(folder)
    made = _as_shown(folder, lane.shown)
    if "audit" in made:
        made["audit"] = _for_all(made, made["audit"])
    return made | (_as_shown(folder, lane.check.leaves) if made["release"]["rehearsal"] else {})


def _as_shown(folder: Path, files: Iterable[str]) -> dict[str, Any]:
    """Read files as tables have them: what is of no stratum has none."""
    return {
        Path(file).stem: (read_json if file.endswith(".json") else read_table)(folder / file)
        for file in files
    }
