"""Obtain a published file, or record that its data sets use surrogates."""

import os
from dataclasses import asdict
from pathlib import Path

from deniable.datasets import load_manifest, obtain
from deniable.files import write_json

from reproduction.pipeline import MIRROR_VARIABLE, job

with job(snakemake) as say:
    datasets = load_manifest(snakemake.input.manifest).values()
    mirror = os.environ.get(MIRROR_VARIABLE)
    source = obtain(
        next(each for each in datasets if each.file == snakemake.wildcards.file),
        source=snakemake.params.source,
        mirror=Path(mirror) if mirror else None,
        folder=Path(snakemake.output[0]).parent,
        say=say,
    )
    write_json(snakemake.output[0], asdict(source), private=True)
