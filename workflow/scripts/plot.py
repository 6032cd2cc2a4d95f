"""Plot a figure from its tables."""

import pandas as pd

from deniable.display import save

from reproduction.papers import FIGURES
from reproduction.pipeline import job
from reproduction.study import resolve

with job(snakemake):
    figure = FIGURES[snakemake.wildcards.figure]
    plotted = resolve(figure.draw)(*map(pd.read_csv, snakemake.input), **figure.options)
    save(plotted, snakemake.output.svg, snakemake.output.png)
