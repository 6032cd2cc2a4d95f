"""Collect a table from its chunks and set it beside the printed numbers."""

import pandas as pd

from deniable.files import write_table
from deniable.grid import cells_of_grids
from deniable.published import read_published
from deniable.studies.registry import STUDIES, TABLES
from deniable.study import compare, in_order

from job import job

with job(snakemake):
    table = TABLES[snakemake.wildcards.table]
    study = STUDIES[table.study]
    cells = [c for c in cells_of_grids(snakemake.params.study["grids"]) if table.holds(c)]
    results = in_order(pd.concat(map(pd.read_csv, snakemake.input.chunks)), cells)
    printed = pd.concat(
        read_published(file, study.published_column) for file in snakemake.input.published
    )
    write_table(
        snakemake.output[0],
        compare(results, printed, study.keys, study.published_replicates),
    )
