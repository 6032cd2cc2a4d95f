"""Compute Figure 7: histograms of the distances in single trials of Tables 4 and 5."""

from pathlib import Path

import pandas as pd

from deniable.files import write_table
from deniable.records import read_true_records

from reproduction.papers.rrba.released_tables import PrintedTables, figure_7_table
from reproduction.pipeline import job
from reproduction.study import cells_of_grids, read_published

with job(snakemake):
    settings = snakemake.params.settings
    data = {Path(file).stem: read_true_records(file) for file in snakemake.input.data}
    subsets = (settings[name] for name in ("subsets", "subset_seed", "block_size"))
    fig7 = figure_7_table(
        PrintedTables(data, *subsets),
        cells_of_grids(settings["grids"]),
        pd.concat(read_published(file, "value") for file in snakemake.input.published),
        study="rrba_tables",
        root_seed=snakemake.params.seed,
        replicates=settings["replicates"],
        block=settings["block"],
    )
    write_table(snakemake.output.fig7, fig7.assign(data_source="network"))
