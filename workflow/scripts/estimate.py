"""Estimate marginal distributions, pairs and numbers of a release from its public folder alone."""

from deniable.analysis import Released, as_result
from deniable.files import write_table

from reproduction.pipeline import job

with job(snakemake):
    public, found = snakemake.params.public, snakemake.output
    released = Released(public)
    weighted = {"target": "both", "weight": released.plan.weight}
    how = weighted | {"by_stratum": True}
    write_table(found.margins, as_result(public, released.margins, **how))
    write_table(found.pairs, as_result(public, released.pairs, snakemake.params.tables, **how))
    write_table(found.numbers, as_result(public, released.numbers, **weighted))
