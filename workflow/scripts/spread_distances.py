"""Tabulate the distances of single trials behind Tables 4 and 5: Figure 7 of [rrba]."""

from pathlib import Path

import pandas as pd

from deniable.files import write_table
from deniable.papers import STUDIES
from deniable.papers.rrba.table_results import figure_7_cells, figure_7_table
from deniable.records import read_parquet
from deniable.study import cells_of_grids, read_published

from job import job

with job(snakemake):
    settings, study = snakemake.params.study, STUDIES["rrba_tables"]
    files = {Path(file).stem: read_parquet(file) for file in snakemake.input.data}
    printed = [read_published(each, study.published_column) for each in snakemake.input.published]
    table = figure_7_table(
        study.simulator(files, settings),
        figure_7_cells(cells_of_grids(settings["grids"])),
        study="rrba_tables",
        root_seed=snakemake.params.seed,
        replicates=settings["replicates"],
        block=settings["block"],
        published=pd.concat(printed),
    )
    write_table(snakemake.output[0], table.assign(data_source="network"))
