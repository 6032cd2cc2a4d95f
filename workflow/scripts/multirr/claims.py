"""Decide the claims of [multirr] in words from the tables of this run."""

import pandas as pd

from deniable.files import read_table, write_table

from reproduction.papers.multirr.claims import TESTS, evidence_of
from reproduction.pipeline import job
from reproduction.study import by_sentence, decide_claims, read_claims

with job(snakemake):
    names = ("table1", "table2", "sensitivity", "gain_ratios", "methods", "attributes", "clusters")
    estimates = dict.fromkeys(("regenerated", "ratio", "compared"), "median")
    tables = {name: read_table(snakemake.input[name]).rename(columns=estimates) for name in names}
    tables |= {"thresholds": pd.concat(tables[each] for each in names[:3])}
    tables |= {"gains": tables["gain_ratios"]}
    claims = read_claims(snakemake.input.said, TESTS)
    readings = decide_claims(claims, evidence_of(tables), "mechanism", "projection")
    write_table(snakemake.output.claims, by_sentence(readings, claims))
    write_table(snakemake.output.claim_readings, readings)
