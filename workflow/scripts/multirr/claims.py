"""Decide the claims of [multirr] in words from the tables of this run."""

from deniable.files import read_table, write_table

from reproduction.papers.multirr.claims import TESTS, evidence_of, evidence_tables
from reproduction.pipeline import job
from reproduction.study import by_sentence, decide_claims, read_claims

with job(snakemake):
    names = ("table1", "table2", "sensitivity", "gain_ratios", "methods", "attributes", "clusters")
    tables = {name: read_table(snakemake.input[name]) for name in names}
    claims = read_claims(snakemake.input.said, TESTS)
    evidence = evidence_of(evidence_tables(tables))
    readings = decide_claims(claims, evidence, "mechanism", "projection")
    write_table(snakemake.output.claims, by_sentence(readings))
    write_table(snakemake.output.claim_readings, readings)
