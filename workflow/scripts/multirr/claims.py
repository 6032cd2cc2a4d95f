"""Decide the claims of [multirr] in words from the tables of this run."""

from deniable.files import read_table, write_table

from reproduction.papers.multirr.claims import TESTS, claims, evidence_tables
from reproduction.pipeline import job
from reproduction.study import by_sentence, read_claims

with job(snakemake):
    names = ("table1", "table2", "sensitivity", "gain_ratios", "methods", "attributes", "clusters")
    tables = {name: read_table(snakemake.input[name]) for name in names}
    readings = claims(read_claims(snakemake.input.said, *TESTS), evidence_tables(tables))
    write_table(snakemake.output.claims, by_sentence(readings))
    write_table(snakemake.output.claim_readings, readings)
