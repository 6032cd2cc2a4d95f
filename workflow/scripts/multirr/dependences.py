"""Measure the dependences of all pairs of attributes and form the clusters of each setting."""

from deniable.files import write_table
from deniable.randomized_response import clusters_table, dependences
from deniable.records import read_true_records

from reproduction.pipeline import job
from reproduction.study import values_of

with job(snakemake):
    adult = read_true_records(snakemake.input.adult)
    source, settings = adult.marks["data_source"], snakemake.params.settings
    found = dependences(adult, settings["ordinal"])
    t_v, t_d = (values_of(settings["grids"], name) for name in ("t_v", "t_d"))
    clusters = clusters_table(adult.domain, found, t_v, t_d)
    write_table(snakemake.output.dependences, found.assign(data_source=source))
    write_table(snakemake.output.clusters, clusters.assign(data_source=source))
