"""Draw a figure from its tables."""

import pandas as pd

from deniable.display import save
from deniable.papers import FIGURES
from deniable.study import resolve

from job import job

with job(snakemake):
    figure = FIGURES[snakemake.wildcards.figure]
    drawn = resolve(figure.draw)(*map(pd.read_csv, snakemake.input), **figure.options)
    save(drawn, snakemake.output.svg, snakemake.output.png)
