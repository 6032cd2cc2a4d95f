"""A release from beginning to end: keyed, drawn, verified, published, its key removed.

Each state is a file or folder that is put there once, so that a release which was interrupted goes
on from what it has, whoever takes it up, without a lock:

========== ============================================ ==========================================
state      what is there                                a run that begins here
========== ============================================ ==========================================
keyed      ``private/key``, ``private/records.json``    draws, by that key
counted    an entry of the ledger                       draws: the entry stands, nothing is added
designed   ``private/plan.json``                        draws, by that design alone
verified   ``private/drawn.json``: a digest             draws again, and must come to that digest
published  ``public/``                                  verifies, removes the key
done       ``private/receipt.json``                     verifies
========== ============================================ ==========================================

Everything is made in a folder of its own and verified there, on the disk, before a rename puts it
into place, which fails where something was published before. So of a release there is one draw: by
one key the same, and without the key none.
"""

import errno
import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deniable.errors import DeniableError
from deniable.files import (
    PRIVATE_FILE,
    folder_written_whole,
    read_json,
    sha256,
    sync_folder,
    sync_tree,
    write_once,
)
from deniable.records import read_true_records
from deniable.release.contents import refuse_other_files, write_contents
from deniable.release.entries import canonical
from deniable.release.key_places import PLACE_FILE, KeyPlace
from deniable.release.keys import (
    DRAWN_FILE,
    WITH_THE_RELEASE,
    Records,
    ReleaseKey,
    held,
    hold_to_design,
    key_for,
    parts_of,
)
from deniable.release.lanes import LANES, PRIVATE, PUBLIC, Step
from deniable.release.ledger import Ledger
from deniable.release.made import epsilon_of, read_made, write_made
from deniable.release.receipts import RECEIPT, receipt_of, refuse_real
from deniable.release.reserving import hold_to_entry, reserve
from deniable.release.settings import AnyRelease
from deniable.sampling import framed

DRAFT = ".draft."


@dataclass(frozen=True)
class Source:
    """What a release is made from, besides its settings.

    Attributes
    ----------
    records : Microdata or NumericMicrodata
        The true ones.
    root_seed : int
        Of the run; looked at for rehearsals only.
    designing, checking : tuple
        What the lane's design takes besides: the manifest's bounds of numbers; and its check: the
        path of the network that records were drawn from.
    """

    records: Records
    root_seed: int
    designing: tuple[Any, ...] = ()
    checking: tuple[Any, ...] = ()


def rehearse(release: AnyRelease, source: Source, folder: Path | str) -> None:
    """Make a rehearsal: as a release is made, by a key that follows from the seed, and checked.

    Of the true records of a `source` by the settings `release`, into a `folder`. It may be
    repeated, and then replaces the one before.

    Raises
    ------
    DeniableError
        If it cannot be designed, or is unsound and not accepted.
    """
    place = Path(folder)
    refuse_real(release.name, place)
    key = key_for(release, source.root_seed, place, source.records)
    with (
        folder_written_whole(place / PUBLIC) as public,
        folder_written_whole(place / PRIVATE, private=True) as private,
    ):
        draft = _Draft(release, public, private)
        draft.carry_out(source, key, lambda design: None)
        check = LANES[release.lane].check
        draft.take(check, source.records, key, source.root_seed, *source.checking)


def make_release(
    release: AnyRelease,
    source: Source,
    folder: Path | str,
    ledger: Ledger,
    place: KeyPlace = WITH_THE_RELEASE,
) -> None:
    """Make a release that is no rehearsal, or what is missing of it: ``public`` and ``private``.

    Parameters
    ----------
    release : settings
    source : Source
        The true records, and what its lane takes besides.
    folder : path
        That of the release, on a file system that all who may take it up share.
    ledger : Ledger
        In which its epsilon is reserved before it is drawn.
    place : KeyPlace, optional
        Where its key lies until it is published.

    Raises
    ------
    DeniableError
        If it cannot be designed; is unsound and not accepted; has no consent; was begun with other
        records, another design or a key that is lost; or if what was published is not what was
        made, or has no entry in the ledger.
    """
    at = Path(folder)
    if (at / PUBLIC).exists():
        hold_to_entry(ledger, release, source.records, at / PUBLIC)
    elif (at / RECEIPT).exists():
        raise DeniableError(
            f"{at / PUBLIC}: release {release.name!r} was published there, and is gone; restore it "
            "from a copy: it is not drawn again"
        )
    else:
        try:
            _publish(release, source, at, ledger, place)
        except (DeniableError, OSError):
            # Another that was at work on it may have published it, and have removed drafts and key.
            if not (at / PUBLIC).exists():
                raise
    _finish(release, at, place)


def _publish(
    release: AnyRelease, source: Source, folder: Path, ledger: Ledger, place: KeyPlace
) -> None:
    key = key_for(release, source.root_seed, folder, source.records, place)

    def before_draw(design: Mapping[str, Any]) -> None:
        reserve(ledger, release, key, source.records, epsilon_of(design["release"]))
        hold_to_design(release, folder, key, design)

    with _draft(folder / PRIVATE) as (public, private):
        _Draft(release, public, private).carry_out(source, key, before_draw)
        drawn = {"drawn": output_digest(release, public)}
        if not held(folder / PRIVATE / DRAWN_FILE, drawn):
            raise DeniableError(
                f"release {release.name!r}: this would not be what was drawn before by the same "
                f"key ({folder / PRIVATE / DRAWN_FILE}): go on with the version of deniable that "
                "it was begun with, or give the release a new name"
            )
        for file in private.iterdir():
            file.replace(folder / PRIVATE / file.name)
        sync_tree(folder / PRIVATE)
        sync_tree(public)
        try:
            # A folder that is not empty is never replaced.
            public.rename(folder / PUBLIC)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
        sync_folder(folder)


def _finish(release: AnyRelease, folder: Path, place: KeyPlace) -> None:
    """Verify what was published, remove its key, and leave the receipt."""
    public, private = folder / PUBLIC, folder / PRIVATE
    refuse_other_files(public)
    drawn = {"drawn": output_digest(release, public)}
    if not (private / DRAWN_FILE).exists() or read_json(private / DRAWN_FILE) != drawn:
        raise DeniableError(
            f"{public}: not what was drawn for release {release.name!r} ({private / DRAWN_FILE}); "
            "restore both folders from a copy, or give the release a new name"
        )
    if read_json(public / "release.json")["parameters"] != release.stated():
        raise DeniableError(
            f"{public}: release {release.name!r} was published with other settings; give this one "
            "a new name"
        )
    if not (private / PLACE_FILE).exists():
        raise DeniableError(
            f"{private / PLACE_FILE}, which says where the key of release {release.name!r} lies, "
            "is not there, so that the key cannot be removed; restore the file from a copy"
        )
    sync_tree(public)
    for each in (folder, folder.parent):
        sync_folder(each)
    place.of_release(release.name, private).remove(private)
    for left in private.glob(".*"):
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink(missing_ok=True)
    for rehearsals in folder.glob("*.provenance.json"):
        rehearsals.unlink()
    (folder / RECEIPT).unlink(missing_ok=True)
    write_once(folder / RECEIPT, canonical(receipt_of(release.name, public)))


def output_digest(release: AnyRelease, public: Path) -> str:
    """Return a digest of what was drawn for a `release`, into its folder `public`.

    It is one of records, however they were written.
    """
    # The first file; others are copies of it as text.
    draw = LANES[release.lane].draw
    file = next(each for each in draw.left_by(release) if each.startswith(PUBLIC))
    place = public / Path(file).name
    if place.suffix != ".parquet" or release.lane == "planned":
        return sha256(place)
    found = hashlib.sha256()
    for part in framed(parts_of(read_true_records(place))):
        found.update(part)
    return found.hexdigest()


@contextmanager
def _draft(private: Path) -> Iterator[tuple[Path, Path]]:
    """Give folders for what is public and what is private, gone afterwards with what is left."""
    draft = Path(tempfile.mkdtemp(prefix=DRAFT, dir=private))
    try:
        folders = draft / PUBLIC, draft / PRIVATE
        for folder in folders:
            folder.mkdir()
        yield folders
    finally:
        shutil.rmtree(draft, ignore_errors=True)


@dataclass(frozen=True)
class _Draft:
    """A release that is being made, in folders of its own."""

    release: AnyRelease
    public: Path
    private: Path

    def files(self, names: Sequence[str]) -> list[Path]:
        own = {PUBLIC: self.public, PRIVATE: self.private}
        return [own[folder] / name for folder, name in (file.split("/") for file in names)]

    def put(self, step: Step, made: Mapping[str, Any]) -> None:
        """Write what a step leaves; what is private is its owner's alone."""
        leaves = step.left_by(self.release)
        write_made(self.files(leaves), made)
        for file in leaves:
            if file.startswith(PRIVATE):
                (self.private / Path(file).name).chmod(PRIVATE_FILE)

    def take(self, step: Step, *given: Any) -> None:
        """Take a step from what was left before."""
        self.put(step, step(self.release, read_made(self.files(step.reads)), *given))

    def carry_out(
        self, source: Source, key: ReleaseKey, before_draw: Callable[[Mapping[str, Any]], None]
    ) -> None:
        """Take all steps but the check, hold what was drawn to its claims, list what is public."""
        release, lane = self.release, LANES[self.release.lane]
        self.put(lane.design, lane.design(release, source.records, key, *source.designing))
        before_draw(read_made(self.files(lane.draw.reads)))
        self.take(lane.draw, source.records, key)
        audited = lane.audit(read_made(self.files(lane.audit.reads)))
        failing = audited[audited["holds"].astype(str) == "False"]
        if len(failing) and not release.accept:
            raise DeniableError(
                f"release {release.name!r}: the audit finds that {len(failing)} of its claims "
                f"fail, the first one of {failing['unit'].iloc[0]!r}: it is not published"
            )
        for step in lane.steps(release):
            if step in lane.estimates:
                self.take(step)
        write_contents(release, self.public)
        refuse_other_files(self.public)
