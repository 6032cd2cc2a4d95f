"""Carry out an analysis of the catalogs: read, call, write."""

from pathlib import Path

from deniable.files import read_table, write_table
from deniable.records import read_true_records

from reproduction.papers import ANALYSES
from reproduction.pipeline import job
from reproduction.study import Given, resolve

with job(snakemake):
    # Not by the rule's name, which a workflow that has this one as its module may change.
    (analysis,) = (a for a in ANALYSES.values() if a.tables[0].path == snakemake.output[0])
    found = snakemake.input
    given = Given(
        data={Path(file).stem: read_true_records(file) for file in found.data},
        tables={Path(file).stem: read_table(file) for file in found.tables},
        published={Path(file).stem: file for file in found.published},
        settings=snakemake.params.settings,
        seed=snakemake.params.seed,
    )
    made = resolve(analysis.run)(given)
    for table, file in zip(analysis.tables, snakemake.output, strict=True):
        write_table(file, made[table.id])
