"""Make the estimated tables of a release consistent with each other."""

from functools import cache, partial

from deniable.analysis import Released, as_result
from deniable.files import write_table

from reproduction.pipeline import job

with job(snakemake):
    public, tables = snakemake.params.public, snakemake.params.tables
    consistent = cache(partial(Released(public).consistent, tables))
    for part, file in zip(("tables", "disagreement"), snakemake.output, strict=True):
        table = as_result(public, consistent, part=part)
        if "consistent" in table:  # tables agree to 1e-9, and nine digits would not preserve this
            table["consistent"] = table["consistent"].map(repr, na_action="ignore")
        write_table(file, table)
