"""Obtain a published file from a mirror or its public address, or choose surrogates."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal, get_args

from pydantic import ConfigDict, ValidationError
from pydantic.dataclasses import dataclass as validated

from deniable.datasets.download import (
    BY_HAND,
    DEFAULT_LIMITS,
    DownloadError,
    Limits,
    disk_errors,
    download,
    set_aside,
)
from deniable.datasets.manifest import PublishedFile
from deniable.errors import DataError
from deniable.files import read_json, sha256, written_whole

SourceSetting = Literal["auto", "mirror", "public", "surrogate"]
OBTAIN_AGAIN = "download it again: snakemake --forcerun download"


@validated(frozen=True, config=ConfigDict(strict=True, extra="forbid"))
class ResolvedFile:
    """The source of the records of a file's data sets.

    Parameters
    ----------
    kind : "published" or "surrogate"
    sha256 : str or None
        Digest of the published file; None for surrogates.
    """

    kind: Literal["published", "surrogate"]
    sha256: str | None


def read_source(path: Path | str) -> ResolvedFile:
    """Read the source of a file's records from the JSON file at `path`.

    A `DataError` is raised if it cannot be read or is malformed.
    """
    try:
        return ResolvedFile(**read_json(path))
    except OSError as error:
        raise DataError(f"{path}: {error.strerror or error}; {OBTAIN_AGAIN}") from None
    except ValidationError as error:
        first = error.errors()[0]
        problem = f"key {first['loc'][0]!r}: {first['msg']}"
    except (TypeError, ValueError):
        problem = "not a JSON object"
    raise DataError(f"{path}: {problem}; {OBTAIN_AGAIN}")


def verified_file(dataset: PublishedFile, source: ResolvedFile, folder: Path) -> Path:
    """Return the published file of a `dataset` in `folder`, after a check of its digest.

    A `DataError` is raised if `source` has another file than the manifest, or the file is missing
    or has another SHA-256.
    """
    path = folder / dataset.file
    if source.sha256 != dataset.sha256:
        raise DataError(f"{path}: the manifest names another file now; {OBTAIN_AGAIN}")
    with disk_errors(path):
        if not path.exists():
            raise DataError(f"{path}: the published file is missing; {OBTAIN_AGAIN}")
        digest = sha256(path)
    if digest != dataset.sha256:
        raise DataError(f"{path}: has the sha256 {digest}, not {dataset.sha256}; {OBTAIN_AGAIN}")
    return path


class NotInMirror(DataError):  # noqa: N818 - a case to pass over more often than an error
    """The mirror directory lacks the file."""


def from_mirror(dataset: PublishedFile, mirror: Path, target: Path) -> None:
    """Copy the file of a `dataset` from the directory `mirror` to `target`, verified.

    `NotInMirror` is raised if the directory lacks the file, and a `DataError` if there is no such
    directory or its file is not the published one. A copy of that file is then kept in `refused/`
    beside the target.
    """
    origin = mirror.expanduser() / dataset.file
    with disk_errors(origin):
        if not origin.parent.is_dir():
            raise DataError(
                f"{mirror}: the mirror is no directory; create it with {dataset.file} in it, or "
                "correct DENIABLE_DATA_MIRROR (or data.mirror in the config)"
            )
        if not origin.exists():
            raise NotInMirror(
                f"{origin}: the mirror lacks this file of {dataset.name!r}; put it there (it is "
                f"published at {dataset.address}), or set data.source: auto"
            )
        if not origin.is_file():
            raise DataError(f"{origin}: not a regular file; put the published file there")
        stream = origin.open("rb")
    with stream, disk_errors(target), written_whole(target, private=True) as temporary:
        with temporary.open("wb") as copy:
            shutil.copyfileobj(stream, copy)
        digest = sha256(temporary)
        if digest != dataset.sha256:
            refused = set_aside(temporary, target.parent, target.name, digest)
            raise DataError(
                f"{origin}: the file in the mirror has the sha256 {digest}, not {dataset.sha256}; "
                f"it was refused, a copy is kept as {refused} for inspection; replace it by the "
                f"file published at {dataset.address}, or remove it"
            )


def obtain(
    dataset: PublishedFile,
    *,
    source: SourceSetting,
    mirror: Path | None,
    folder: Path,
    limits: Limits = DEFAULT_LIMITS,
    say: Callable[[str], None],
) -> ResolvedFile:
    """Obtain the published file of a `dataset` in `folder`, or choose surrogates.

    A verified file in the folder is used. Otherwise `auto` tries the mirror, then the public
    address, and chooses the surrogate last. A `DataError` is raised if the requested source has no
    valid file, or the disk cannot be written.

    Parameters
    ----------
    source : "auto", "mirror", "public" or "surrogate"
        The setting of the config.
    mirror : path or None
        A directory. A wrong file in it is an error, also for `auto`.
    limits : Limits
        Of the duration and the size of a download.
    say : callable
        Receives the address and the reasons, in lines for a log.
    """
    if source not in get_args(SourceSetting):
        allowed = ", ".join(get_args(SourceSetting))
        raise DataError(f"data.source is {source!r}; give one of {allowed}")
    if source == "surrogate":
        say(f"{dataset.file}: SURROGATE DATA, because data.source is surrogate")
        return ResolvedFile("surrogate", None)
    if source == "mirror" and mirror is None:
        raise DataError(
            "data.source is mirror, but no mirror directory is named; set DENIABLE_DATA_MIRROR (or "
            f"the mirror in the config) to a directory that holds {dataset.file}"
        )
    published = ResolvedFile("published", dataset.sha256)
    target = folder / dataset.file
    if _is_verified(dataset, target, say):
        say(f"{dataset.file}: a verified copy of the published file is already there")
        return published
    failure = "no mirror directory was named"
    if source != "public" and mirror is not None:
        try:
            from_mirror(dataset, mirror, target)
        except NotInMirror:
            if source == "mirror":
                raise
            failure = f"the mirror directory lacks {dataset.file}"
            say(f"{dataset.file}: the mirror {mirror} lacks it and is passed over")
        else:
            say(f"{dataset.file}: copied from the mirror {mirror}")
            return published
    say(f"{dataset.file}: downloading {dataset.address}")
    limits = replace(limits, most_bytes=dataset.bytes or limits.most_bytes)
    try:
        download(dataset.address, target, dataset.sha256, limits)
    except DownloadError as error:
        if source == "public":
            raise
        say(
            f"{dataset.file}: SURROGATE DATA instead of the published file ({failure}; "
            f"{dataset.address}: {error.reason}); to use the published file, {BY_HAND} and run "
            "again"
        )
        return ResolvedFile("surrogate", None)
    return published


def _is_verified(dataset: PublishedFile, target: Path, say: Callable[[str], None]) -> bool:
    """Return whether `target` is the published file; move any other file aside."""
    with disk_errors(target):
        if not target.exists():
            return False
        digest = sha256(target)
        if digest == dataset.sha256:
            return True
        refused = set_aside(target, target.parent, target.name, digest)
    say(
        f"{target}: has the sha256 {digest}, not {dataset.sha256}; it was moved to {refused} "
        "and the file is obtained again"
    )
    return False
