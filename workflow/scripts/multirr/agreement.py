"""Count the published numbers that agree under each interpretation."""

import pandas as pd

from deniable.files import read_table, write_table

from reproduction.papers.multirr.verdicts import agreement_by_reading, misfit, with_variations
from reproduction.pipeline import job

with job(snakemake):
    results = with_variations(pd.concat(map(read_table, snakemake.input.tables)))
    write_table(snakemake.output.agreement, agreement_by_reading(results))
    write_table(snakemake.output.misfit, misfit(results))
