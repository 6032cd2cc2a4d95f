"""Decide the claims of [rrba] in words from exact values and the tables of this run."""

from deniable.files import read_table, write_table

from reproduction.papers.rrba.claims.decided import TESTS, evidence_of
from reproduction.pipeline import job
from reproduction.study import by_sentence, decide_claims, read_claims

with job(snakemake):
    names = ("table3", "table4", "table5", "equal", "fig5", "fig6", "power")
    tables = {f"rrba_{name}": read_table(snakemake.input[name]) for name in names}
    claims = read_claims(snakemake.input.said, TESTS)
    readings = decide_claims(claims, evidence_of(claims, tables), "reading")
    write_table(snakemake.output.claims, by_sentence(readings, claims))
    write_table(snakemake.output.claim_readings, readings)
