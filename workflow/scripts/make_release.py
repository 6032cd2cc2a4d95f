"""Make a release: design, draw, estimate from what was drawn, publish; or rehearse that."""

from pathlib import Path

from deniable.datasets import load_manifest
from deniable.records import read_true_records
from deniable.release import KeyPlace, Ledger, Source, make_release, rehearse, release_from
from deniable.release.planned import own_records

from reproduction.pipeline import job

with job(snakemake):
    given, asked = snakemake.input, snakemake.params
    release = release_from(asked.release)
    # Of numbers alone, whose bounds it states.
    bounds = [load_manifest(file)[release.data].bounds for file in given.manifest]
    ledger = None if release.rehearsal else Ledger(asked.ledger)
    own = release.lane == "planned"
    records = own_records(release, ledger) if own else read_true_records(given.data[0])
    source = Source(records, asked.seed, tuple(bounds), tuple(given.network))
    folder = Path(snakemake.output[0]).parent
    if release.rehearsal:
        rehearse(release, source, folder)
    else:
        make_release(release, source, folder.parent, ledger, KeyPlace(**asked.place))
