"""Make a release: key, ledger entry, draw, verification, publication, removal of the key.

Each state is a file or folder that is written once. So an interrupted release continues from the
state that it reached, in any process and without a lock:

========== ============================================ ==========================================
state      file or folder                               the next process
========== ============================================ ==========================================
keyed      ``private/key``, or another place            counts the release with that key
counted    an entry of the ledger, with digests of      draws; the entry is not added again, and
           records, plan and key                        other records, plans and keys are refused
drawn      ``private/journal.json``                     draws again, and compares the digest
published  ``public/``                                  verifies, removes the key
done       ``private/receipt.json``                     verifies
========== ============================================ ==========================================

``private/entry.json`` repeats number and MAC of the entry, so that another ledger is detected.
A release is made and verified on the disk, in a temporary folder. A rename then publishes it, which
fails if anything was published before. So there is one draw of a release: the same key leads to the
same draw, and without the key nothing is drawn.
"""

import errno
import hashlib
import platform
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deniable.errors import DeniableError, named_types
from deniable.files import (
    folder_written_whole,
    remove_abandoned,
    sha256,
    sync_to_disk,
    sync_tree,
    write_json,
    write_once,
)
from deniable.plans import Plan, refuse_no_plan
from deniable.release.contents import PLAN, SEED_NOTICE, TEST_NOTICE
from deniable.release.counted import (
    ENTRY_FILE,
    Journal,
    append_event,
    current_versions,
    entry_of,
    facts_of,
    journal_of,
    refusals_logged,
    refuse_another_plan,
    refuse_uncounted,
    store_entry,
    store_journal,
    warn_of_overlaps,
)
from deniable.release.counting import (
    Entry,
    Ledger,
    RecordDigests,
    canonical,
    digest_of_file,
    named_ledger,
)
from deniable.release.drawing import MAX_OUTSIDE, Release, opened_release
from deniable.release.keys import PRIVATE, PUBLIC, TEST, PlaceOfKey, key_for, key_from_seed
from deniable.release.receipts import (
    RECEIPT,
    STATES_FILE,
    SUMS,
    faults_of_receipt,
    receipt_of,
    refuse_other_files,
    refuse_production,
    refuse_test,
    state_of,
    store_states,
)
from deniable.release.records import Progress, silent

if TYPE_CHECKING:
    from deniable.release.settings import DataSource

DRAFT = ".draft."


@named_types
def protect(
    source: Any,
    plan: Plan,
    folder: Path | str,
    *,
    name: str | None = None,
    ledger: Path | str | None = None,
    population: str | None = None,
    consent: str | None = None,
    quasi_identifiers: Sequence[str] = (),
    key_folder: Path | str | None = None,
    data_source: "DataSource" = "own",
    settings: Mapping[str, Any] | None = None,
    outside_bounds: float = MAX_OUTSIDE,
    matched: Sequence[str] = (),
    approval: Path | str | None = None,
    progress: Progress = silent,
) -> None:
    """Make the production release of a file by a plan: folders ``public`` and ``private``.

    It is drawn once. An interrupted release continues with the same randomized values, and a
    finished one is verified. Incomplete files never appear in ``public``.

    Raises `DeniableError` if no ledger or no population is named, the file does not match the
    schema, the plan fails its audit, too many values lie outside their bounds, or the release has
    no consent. The same error is raised if it was begun with other records, another plan or a lost
    key, or if the published files are not the drawn ones. It is also raised if the ledger lacks the
    entry of this release or of one next to its folder.

    The `source` is the file that the schema of the `plan` describes, or the same as a pandas,
    Polars or Arrow table. The `folder` of the release is on a file system that all processes
    share. The `name` of the release is by default the one of the folder. The `ledger` is the folder
    in which epsilon is counted before the draw; by default the environment variable DENIABLE_LEDGER
    names it. State the `population` if the schema does not. A further release needs a `consent`.

    The `quasi_identifiers` are columns that an intruder may know; ``private/risk.csv`` measures
    their risk. The key is in the `key_folder` until publication, and by default in the private
    folder. The `data_source` is the origin of the records: "own", "published", "network" or
    "surrogate". The `settings`, plain JSON values, are stored for a comparison with later runs.
    `outside_bounds` is the largest proportion, from 0 to 1, of a column's values that may lie
    outside its public bounds. A `BoundsWarning` counts such values, and so does
    ``private/outside_bounds.csv``. Rows can be `matched` with those of earlier releases by name,
    for example in a panel. The `approval` is a file of `deniable.approve_plan`, which some ledgers
    require. `progress` receives a step, the number of records done, and the number of all (0:
    unknown yet).
    """
    counting = named_ledger(ledger)
    refuse_no_plan(plan)
    with refusals_logged(Path(folder), counting, plan, name or Path(folder).resolve().name):
        own = plan.for_population(population)
        if own.schema.population is None:
            raise DeniableError(
                "no population is stated. Epsilons of all releases of the same people are added, "
                "so name them: population in the schema, --population NAME, or population of the "
                "release in a config"
            )
        release = opened_release(
            source, own, folder, name, quasi_identifiers, outside_bounds, progress
        )
        matched = tuple(dict.fromkeys(matched))
        release = replace(release, data_source=data_source, matched=matched)
        label = counting.label(release.population, release.name)
        keys = None if key_folder is None else str(key_folder)
        key_at = PlaceOfKey(release.name, keys, label, platform.node())
        _refuse_taken(release, counting)
        published = release.folder / PUBLIC
        state = state_of(Path(source)) if isinstance(source, str | Path) else None
        digests = release.records.read(counting.key)
        assert digests is not None
        drawn = None
        if published.exists():
            if _counted(release, counting).records.whole != digests.whole:
                raise DeniableError(
                    f"release {release.name!r} was published from other records; give a new "
                    "release of these records another name (its epsilon adds to the total)"
                )
        elif (release.folder / RECEIPT).exists():
            raise DeniableError(
                f"{published}: release {release.name!r} was published there, and is missing; "
                "restore it from a copy: a release is drawn only once"
            )
        else:  # before anything is stored
            approved = None
            if approval is not None or counting.two_persons:
                from deniable.release.process import approval_of  # noqa: PLC0415 - rarely needed

                approved = approval_of(own, approval)
            release.refuse_records()
            try:
                drawn = _publish(release, digests, counting, consent, key_at, settings, approved)
            except (DeniableError, OSError):
                # Another process may have published it meanwhile, and removed drafts and key.
                if not published.exists():
                    raise
        _finish(release, counting, key_at, drawn, state)


def protect_test(
    source: Any,
    plan: Plan,
    folder: Path | str,
    seed: int,
    *,
    name: str | None = None,
    quasi_identifiers: Sequence[str] = (),
    data_source: "DataSource" = "own",
    outside_bounds: float = MAX_OUTSIDE,
    progress: Progress = silent,
    to: str = PUBLIC,
) -> None:
    """Make a test release: like a production release, but by a key that follows from a `seed`.

    It protects nobody and is not counted. A repetition replaces the earlier one. Raises
    `DeniableError` if the file does not match the schema, the plan fails its audit, too many values
    lie outside their bounds, or the folder has a production release.

    The `seed` is a number that everybody may know. The protected file goes to the folder `to` of
    the release: "public" as in a workflow, or "test", with a readme that begins with a warning. A
    folder with ``public`` takes no test release to ``test``. For `source`, `plan`, `folder`,
    `name`, `quasi_identifiers`, `data_source`, `outside_bounds` and `progress` see `protect`.
    """
    refuse_no_plan(plan)
    release = opened_release(
        source, plan, folder, name, quasi_identifiers, outside_bounds, progress
    )
    notice = SEED_NOTICE if to == TEST else TEST_NOTICE
    release = replace(release, mode="test", notice=notice, data_source=data_source)
    refuse_production(release.name, release.folder)
    if to == TEST and (release.folder / PUBLIC).exists():
        raise DeniableError(
            f"{release.folder / PUBLIC}: another release is stored there; name another folder for "
            "the test release"
        )
    release.refuse_failing_claims()
    release.records.read()
    release.refuse_records()
    key = key_from_seed(seed, "test", release.name)
    with (
        folder_written_whole(release.folder / to) as public,
        folder_written_whole(release.folder / PRIVATE, private=True) as private,
    ):
        release.draw(key, public, private, None)
        write_json(private / PLAN, release.document, private=True)


def _refuse_taken(release: Release, ledger: Ledger) -> None:
    """Refuse a folder of another release, a file in place of it, or a ledger without its entry."""
    folder, public = release.folder, release.folder / PUBLIC
    if public.is_symlink() or (public.exists() and not public.is_dir()):
        problem = f"{public}: a file or a link is there; remove it, or name another folder"
        raise DeniableError(problem)
    if (folder / TEST).exists():
        raise DeniableError(
            f"{folder / TEST}: a test release is stored there; name another folder for the "
            "production release, or delete this one"
        )
    refuse_test(release.name, folder)
    refuse_uncounted(ledger, folder)
    if (folder / PRIVATE / ENTRY_FILE).exists():
        _counted(release, ledger)


def _publish(
    release: Release,
    digests: RecordDigests,
    ledger: Ledger,
    consent: str | None,
    place: PlaceOfKey,
    settings: Mapping[str, Any] | None,
    approved: Mapping[str, Any] | None,
) -> str | None:
    """Publish a release and return the SHA-256 of its list; None if another process did."""
    folder = release.folder
    release.refuse_failing_claims()
    entry = release.entry(digests)
    entries = ledger.entries(release.population)
    ledger.refuse_without_consent(entry, entries, consent)
    warn_of_overlaps(ledger, entry)
    counted = release.name in [each.release for each in entries]
    key = key_for(folder, place, counted)
    # The entry binds the release to its plan and, by a digest that reveals nothing, to its key. So
    # another key under the same name is refused, even if the whole folder is lost.
    bound = canonical([release.name, release.document, key.digest("ledger", [])])
    entry = replace(entry, plan=hashlib.sha256(bound).hexdigest(), row_order=release.row_order(key))
    facts = store_entry(folder, ledger, ledger.reserve(entry, consent), settings)
    about = facts_of(release.name, release.plan)
    if approved is not None:
        write_once(folder / PRIVATE / "approval.json", canonical(approved))
        about["approved_by"] = approved["approved_by"]
    append_event(folder / PRIVATE, "counted", **about, entry=facts["entry"])
    with tempfile.TemporaryDirectory(
        prefix=DRAFT, dir=folder / PRIVATE, ignore_cleanup_errors=True
    ) as draft:
        public, private = Path(draft, PUBLIC), Path(draft, PRIVATE)
        public.mkdir()
        private.mkdir()
        release.draw(key, public, private, facts)
        drawn = _digest(release, ledger, public)
        versions = current_versions()
        store_journal(folder, Journal(place, digests.whole, release.document, drawn, versions))
        for made in (private, public):
            sync_tree(made)
        for file in private.iterdir():
            file.replace(folder / PRIVATE / file.name)
        sync_to_disk(folder / PRIVATE)
        listed = sha256(public / SUMS)
        try:
            # A folder that is not empty is never replaced.
            public.rename(folder / PUBLIC)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            return None
        finally:
            sync_to_disk(folder)
    return listed


def _digest(release: Release, ledger: Ledger, public: Path) -> str:
    key = ledger.record_key(release.population, release.name)
    return digest_of_file(public / release.file_name, release.plan.schema.file, key)


def _finish(
    release: Release, ledger: Ledger, place: PlaceOfKey, drawn: str | None, records: Any
) -> None:
    """Verify the published files, remove the key, and write the receipt.

    `drawn` is the SHA-256 of the list of files if this process published them. `records` is the
    state of the file of original records.
    """
    folder, private, public = release.folder, release.folder / PRIVATE, release.folder / PUBLIC
    refuse_other_files(public)
    journal = journal_of(folder)
    done = (folder / RECEIPT).exists()
    if done and (faults := faults_of_receipt(folder / RECEIPT)):
        raise DeniableError("\n".join(faults))
    if not (
        done or sha256(public / SUMS) == drawn or _digest(release, ledger, public) == journal.drawn
    ):
        raise DeniableError(
            f"{public}: not the records that were drawn for release {release.name!r}; restore the "
            "folder from a copy, or give the release a new name"
        )
    refuse_another_plan(release.name, folder, release.published, release.document)
    sync_tree(public)
    for each in (folder, folder.parent):
        sync_to_disk(each)
    for known in {place.folder: place, journal.place.folder: journal.place}.values():
        known.remove(private)
    remove_abandoned(private)  # but not files that another process writes now
    for left in private.glob(".*"):
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
        elif not left.name.startswith((f".{STATES_FILE}.", f".{Path(RECEIPT).name}.")):
            left.unlink(missing_ok=True)
    for metadata in folder.glob("*.provenance.json"):  # left by a test release
        metadata.unlink(missing_ok=True)
    store_states(folder, records)
    about = facts_of(release.name, release.plan) | {"entry": entry_of(folder)["entry"]}
    append_event(private, "verified" if done else "published", **about)
    write_once(folder / RECEIPT, canonical(receipt_of(release.name, public)))


def _counted(release: Release, ledger: Ledger) -> Entry:
    """Return the entry of a `release` in a `ledger`; refuse another release in its folder."""
    stored = entry_of(release.folder)
    name, population = stored["release"], str(stored["population"])
    own = release.population
    if (name, population.lower()) != (release.name, own.lower()):
        raise DeniableError(
            f"{release.folder}: release {name!r} of population {population!r} is made there; give "
            f"{release.name!r} of population {own!r} another folder"
        )
    entry: Entry = ledger.entries(population)[stored["entry"] - 1]
    return entry
