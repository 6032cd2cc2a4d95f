"""Decide the claims of [rrba] in words from exact values and the tables of this run."""

from deniable.files import read_table, write_table

from reproduction.papers.rrba.claims.decided import CLAIMS, evidence_of
from reproduction.pipeline import job
from reproduction.study import by_sentence, decide_claims

with job(snakemake):
    tables = {f"rrba_{name}": read_table(file) for name, file in snakemake.input.items()}
    readings = decide_claims(CLAIMS, evidence_of(tables), "reading")
    write_table(snakemake.output.claims, by_sentence(readings))
    write_table(snakemake.output.claim_readings, readings)
