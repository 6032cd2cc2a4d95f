"""Draw a figure from its tables."""

import pandas as pd

from deniable.papers import drawing as figures

from job import job

with job(snakemake):
    figure = figures.draw(
        snakemake.wildcards.figure, [pd.read_csv(file) for file in snakemake.input]
    )
    figures.save(figure, snakemake.output.svg, snakemake.output.png)
