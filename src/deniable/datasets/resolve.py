"""Where the records of a data set come from in a run: mirror, public address or surrogate."""

import shutil
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
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
from deniable.files import read_json, sha256, write_json, written_whole

Wanted = Literal["auto", "mirror", "public", "surrogate"]
Kind = Literal["original", "surrogate"]
Found = Literal["mirror", "public", "surrogate"]

# The reasons of sources that no failure led to; the first one also tells a surrogate that was
# asked for from one that `auto` fell back to.
ASKED_FOR = "data.source is surrogate"
FROM_MIRROR = "the mirror directory holds the published file"
NO_MIRROR = (
    "data.source is mirror, but no mirror directory is named; set DENIABLE_DATA_MIRROR (or the "
    "mirror in the config) to a directory that holds {file}"
)
FROM_EARLIER = "a verified copy of the published file was there already"


@validated(frozen=True, config=ConfigDict(strict=True, extra="forbid"))
class Source:
    """Where the records of a data set come from in this run.

    Parameters
    ----------
    dataset : str
        Its name in the manifest.
    kind : "original" or "surrogate"
        Whether the records are the published ones.
    sha256 : str
        Digest of the published file, or of the surrogate's JSON.
    found : "mirror", "public" or "surrogate"
        Where the file was got from.
    reason : str
        Why it is this one; for a surrogate, why the earlier ones failed. It names no path.
    """

    dataset: str
    kind: Kind
    sha256: str
    found: Found
    reason: str


def read_source(path: Path | str) -> Source:
    """Read the record that `resolve_all` left at `path`.

    Raises `DataError` if it cannot be read or is malformed.
    """
    try:
        return Source(**read_json(path))
    except OSError as error:
        raise DataError(f"{path}: {error.strerror or error}; run the pipeline first") from None
    except ValidationError as error:
        first = error.errors()[0]
        fault = f"key {first['loc'][0]!r}: {first['msg']}"
    except (TypeError, ValueError):
        fault = "no JSON object"
    raise DataError(f"{path}: {fault}; delete it, the pipeline makes it again")


class NotInMirror(DataError):  # noqa: N818 - a case to pass over more often than an error
    """A mirror directory that lacks the file."""


def from_mirror(dataset: PublishedFile, mirror: Path, target: Path) -> None:
    """Copy the file of a `dataset` from the directory `mirror` to `target`, verified.

    Raises
    ------
    NotInMirror
        If the directory lacks the file.
    DataError
        If there is no such directory, or its file is not the published one; a copy of that file
        is then kept in `refused/` beside `target`, and the mirror is left as it is.
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


def resolve_all(
    datasets: Iterable[PublishedFile],
    *,
    source: Wanted,
    mirror: Path | None,
    folder: Path,
    manifest_folder: Path,
    limits: Limits = DEFAULT_LIMITS,
    say: Callable[[str], None],
) -> dict[str, Source]:
    """Decide where the records of each data set come from, once before a run, and record it.

    A verified original in `folder` is used whatever way it came. Otherwise `auto` tries the
    mirror, the public address, and takes the surrogate last; a surrogate that it took once is
    kept, without trying the network again, until a mirror offers the file.

    Of the data sets that are read of one file the first decides, the others follow, with a record
    of their own each. So the file is fetched and checked once, and no run has one of them from the
    published file and another from a surrogate.

    Parameters
    ----------
    datasets : iterable of PublishedFile
        Entries of the manifest.
    source : "auto", "mirror", "public" or "surrogate"
        What was asked for.
    mirror : path or None
        A directory; if it is named, a wrong file in it is an error, never passed over.
    folder : path
        Gets the verified originals under their file names, and the records `<name>.source.json`,
        which are left untouched if nothing changed.
    manifest_folder : path
        What the paths of surrogates in the manifest are relative to.
    limits : Limits
        How long a download may take, and how large it may be.
    say : callable
        Takes notices of one line each.

    Raises
    ------
    DataError
        If the source asked for does not give a published file, the mirror's file is a wrong one,
        a surrogate is needed and absent, or the disk cannot be written.
    """
    if source not in get_args(Wanted):
        raise DataError(f"data.source is {source!r}; give one of {', '.join(get_args(Wanted))}")
    search = _Search(source, mirror, folder, manifest_folder, limits, say)
    found: dict[str, Source] = {}
    first: dict[str, Source] = {}
    for dataset in datasets:
        before = search.recorded(dataset)
        if dataset.file in first:
            now = search.following(dataset, first[dataset.file])
        else:
            now = first[dataset.file] = search.settled(dataset, before)
        found[dataset.name] = now
        # Left untouched if nothing changed: the report's rule would run again.
        if now != before:
            with disk_errors(search.record(dataset)):
                write_json(search.record(dataset), asdict(now), private=True)
    return found


@dataclass(frozen=True)
class _Search:
    """What a run was told of where to look for published files; see `resolve_all`."""

    source: Wanted
    mirror: Path | None
    folder: Path
    manifest_folder: Path
    limits: Limits
    say: Callable[[str], None]

    def record(self, dataset: PublishedFile) -> Path:
        return self.folder / f"{dataset.name}.source.json"

    def recorded(self, dataset: PublishedFile) -> Source | None:
        """Return what the last run found."""
        record = self.record(dataset)
        try:
            before = read_source(record) if record.exists() else None
        except DataError as error:
            self.say(f"{error}; this run decides anew")
            return None
        return before if before and before.dataset == dataset.name else None

    def following(self, dataset: PublishedFile, first: Source) -> Source:
        """Return for a data set what was settled for the first one of the same file."""
        if first.kind == "original":
            return replace(first, dataset=dataset.name)
        found = self._surrogate(dataset, first.reason)
        if first.reason != ASKED_FOR:
            self.say(
                f"{dataset.name}: SURROGATE DATA too, for it is read of the file of {first.dataset}"
            )
        return found

    def settled(self, dataset: PublishedFile, before: Source | None) -> Source:
        if self.source == "surrogate":
            return self._surrogate(dataset, ASKED_FOR)
        if self.source == "mirror" and self.mirror is None:
            raise DataError(NO_MIRROR.format(file=dataset.file))
        if self._has_original(dataset):
            self._hold_mirror_to_its_word(dataset)
            known = before and before.kind == "original" and before.sha256 == dataset.sha256
            return before if before and known else _original(dataset, "public", FROM_EARLIER)
        return self._obtained(dataset, before)

    def _obtained(self, dataset: PublishedFile, before: Source | None) -> Source:
        """Try the sources in turn."""
        target = self.folder / dataset.file
        failure = "no mirror directory was named"
        if self.source != "public" and self.mirror is not None:
            try:
                from_mirror(dataset, self.mirror, target)
                return _original(dataset, "mirror", FROM_MIRROR)
            except NotInMirror:
                if self.source == "mirror":
                    raise
            self.say(
                f"{dataset.name}: the mirror {self.mirror} lacks {dataset.file}, it is passed over"
            )
            failure = f"the mirror directory lacks {dataset.file}"
        fell_back = before and before.kind == "surrogate" and before.reason != ASKED_FOR
        if self.source == "auto" and before and fell_back:
            kept = self._surrogate(dataset, before.reason)
            self.say(
                f"{dataset.name}: SURROGATE DATA, kept from an earlier run without trying the "
                f"network; delete {self.record(dataset)} or set data.source: public to try again"
            )
            return kept
        self.say(f"{dataset.name}: downloading {dataset.address}")
        limits = replace(self.limits, most_bytes=dataset.bytes or self.limits.most_bytes)
        try:
            download(dataset.address, target, dataset.sha256, limits)
            return _original(dataset, "public", f"downloaded from {dataset.address}")
        except DownloadError as error:
            if self.source == "public":
                raise
            reason = f"{failure}; {dataset.address}: {error.reason}"
        surrogate = self._surrogate(dataset, reason)
        self.say(
            f"{dataset.name}: SURROGATE DATA instead of the published file ({reason}); to use the "
            f"original, put {dataset.file} into a directory, set DENIABLE_DATA_MIRROR to it, run "
            "again"
        )
        return surrogate

    def _hold_mirror_to_its_word(self, dataset: PublishedFile) -> None:
        """Refuse a mirror that is named and wrong, also where its file is not needed any more."""
        if self.source == "public" or self.mirror is None:
            return
        origin = self.mirror.expanduser() / dataset.file
        with disk_errors(origin):
            if origin.is_file() and sha256(origin) == dataset.sha256:
                return
        try:
            from_mirror(dataset, self.mirror, self.folder / dataset.file)  # says what is wrong
        except NotInMirror:
            if self.source == "mirror":
                raise

    def _has_original(self, dataset: PublishedFile) -> bool:
        target = self.folder / dataset.file
        with disk_errors(target):
            if not target.exists():
                return False
            digest = sha256(target)
            if digest == dataset.sha256:
                return True
            refused = set_aside(target, self.folder, target.name, digest)
        self.say(
            f"{target}: has the sha256 {digest}, not {dataset.sha256}; it was moved to {refused} "
            "and the file is obtained anew"
        )
        return False

    def _surrogate(self, dataset: PublishedFile, reason: str) -> Source:
        path = self.manifest_folder / dataset.surrogate
        if not path.is_file():
            raise DataError(
                f"{path}: the surrogate of {dataset.name!r} is needed ({reason}), but there is no "
                f"such file; restore it, or get the original: {BY_HAND}"
            )
        with disk_errors(path):
            return Source(dataset.name, "surrogate", sha256(path), "surrogate", reason)


def _original(dataset: PublishedFile, found: Found, reason: str) -> Source:
    return Source(dataset.name, "original", dataset.sha256, found, reason)
