"""Audit the epsilon of every mechanism and setting of Tables 1 and 2."""

import pandas as pd

from deniable.files import write_table
from deniable.grid import values_of
from deniable.microdata import read_parquet
from deniable.multirr_audit import audit_multirr

from job import job

with job(snakemake):
    grids = snakemake.params.study["grids"]
    audited = audit_multirr(
        read_parquet(snakemake.input.data).domain,
        pd.read_csv(snakemake.input.dependences),
        *(values_of(grids, column) for column in ("p", "t_v", "t_d")),
    )
    write_table(snakemake.output[0], audited)
