"""Draw a table: printed against regenerated."""

import pandas as pd

from deniable import figures
from deniable.studies.registry import TABLES

from job import job

with job(snakemake):
    table = pd.read_csv(snakemake.input[0])
    figure = figures.printed_against_regenerated(table, TABLES[snakemake.wildcards.figure].title)
    figures.save(figure, snakemake.output.svg, snakemake.output.png)
