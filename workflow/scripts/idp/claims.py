"""Decide the claims of [idp] in words; compare simulated with expected errors."""

from deniable.files import read_table, write_table
from deniable.records import read_true_records

from reproduction.papers.idp.claims.decided import TESTS, claims, decided_on
from reproduction.pipeline import job
from reproduction.study import read_claims

with job(snakemake):
    given = snakemake.input
    data = {name: read_true_records(given[name]) for name in ("census", "wine")}
    tables = {f"idp_{name}": read_table(given[name]) for name in ("fig3", "fig4", "fig5", "fig6")}
    evidence, expected = decided_on(data, tables)
    said = read_claims(given.said, *TESTS)
    write_table(snakemake.output.claims, claims(said, evidence, read_table(given.audit)))
    write_table(snakemake.output.expected_sse, expected)
