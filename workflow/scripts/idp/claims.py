"""Decide the claims of [idp] in words; compare simulated with expected errors."""

from deniable.files import read_table, write_table
from deniable.records import read_true_records

from reproduction.papers.idp.claims.decided import TESTS
from reproduction.papers.idp.claims.evidence import decided_on, evidence_of
from reproduction.pipeline import job
from reproduction.study import by_sentence, decide_claims, read_claims

with job(snakemake):
    given = snakemake.input
    data = {name: read_true_records(given[name]) for name in ("census", "wine")}
    tables = {f"idp_{name}": read_table(given[name]) for name in ("fig3", "fig4", "fig5", "fig6")}
    of_data, expected = decided_on(data, tables)
    evidence = evidence_of(of_data, read_table(given.audit))
    claims = read_claims(given.said, TESTS)
    readings = decide_claims(claims, evidence, "reading")
    write_table(snakemake.output.claims, by_sentence(readings, claims))
    write_table(snakemake.output.expected_sse, expected)
