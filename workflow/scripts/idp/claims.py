"""Decide the claims of [idp] in words; compare simulated with expected errors."""

from deniable.files import read_table, write_table
from deniable.records import read_true_records

from reproduction.papers.idp.claims.decided import FIGURES, claims, decided_on
from reproduction.pipeline import job

with job(snakemake):
    data = {name: read_true_records(snakemake.input[name]) for name in FIGURES}
    names = ("fig3", "fig4", "fig5", "fig6")
    tables = {f"idp_{name}": read_table(snakemake.input[name]) for name in names}
    evidence, expected = decided_on(data, tables)
    write_table(snakemake.output.claims, claims(evidence, read_table(snakemake.input.audit)))
    write_table(snakemake.output.expected_sse, expected)
