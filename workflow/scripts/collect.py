"""Collect a table from the results of its chunks, with published values or for a figure."""

import pandas as pd

from deniable.files import write_table

from reproduction.papers import STUDIES, TABLES
from reproduction.pipeline import job
from reproduction.study import cells_of_grids, compare, in_order, plotted, read_published, resolve

with job(snakemake):
    table = TABLES[snakemake.wildcards.table]
    study = STUDIES[table.study]
    cells = [c for c in cells_of_grids(snakemake.params.study["grids"]) if table.holds(c)]
    found = pd.concat(map(pd.read_csv, snakemake.input.chunks))
    results = in_order(found[[table.holds(row) for row in found.to_dict("records")]], cells)
    printed = None
    if table.published:
        column, files = study.published_column, snakemake.input.published
        printed = pd.concat(read_published(file, column) for file in files)
    if table.reshape:
        results = resolve(table.reshape)(results)
    if table.finish:
        results = resolve(table.finish)(results, printed)
    elif table.published:
        results = compare(results, printed, table.keys, study.published_replicates)
    else:
        results = plotted(results, table.keys, table.value or study.summary)
    write_table(snakemake.output[0], results)
