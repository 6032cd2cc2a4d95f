"""Decide the claims of [multirr] in words from the tables of this run."""

from deniable.files import read_table, write_table

from reproduction.papers.multirr.claims.decided import claims, evidence_tables
from reproduction.pipeline import job
from reproduction.study import by_sentence

with job(snakemake):
    tables = {name: read_table(file) for name, file in snakemake.input.items()}
    readings = claims(evidence_tables(tables))
    write_table(snakemake.output.claims, by_sentence(readings))
    write_table(snakemake.output.claim_readings, readings)
