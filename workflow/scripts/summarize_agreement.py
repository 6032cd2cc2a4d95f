"""Count, for each reading and mechanism, how many printed numbers hold."""

import pandas as pd

from deniable.files import write_table
from deniable.study import agreement

from job import job

with job(snakemake):
    results = pd.concat(map(pd.read_csv, snakemake.input))
    by = ["dataset", "matrix", "mechanism", "projection"]
    write_table(snakemake.output[0], agreement(results, by))
