"""Set the estimates of a rehearsal beside the true proportions."""

import pandas as pd

from deniable import release
from deniable.files import write_table
from deniable.microdata import read_parquet

from job import job

with job(snakemake):
    estimates = pd.read_csv(snakemake.input.estimates[0], keep_default_na=False)
    checked = release.check_against_truth(estimates, read_parquet(snakemake.input.data))
    write_table(snakemake.output[0], checked)
