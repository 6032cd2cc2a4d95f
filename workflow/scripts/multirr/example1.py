"""Compute Example 1 of RR-Adjustment with 100 sweeps, in fractions."""

from deniable.files import write_table

from reproduction.papers.multirr.example_1 import example_1
from reproduction.pipeline import job

with job(snakemake):
    write_table(snakemake.output.example1, example_1(sweeps=100))
