"""Measure the dependence of every pair of attributes and form the clusters of each setting."""

from deniable.files import write_table
from deniable.randomized_response import clusters_table, dependences
from deniable.records import read_parquet
from deniable.study import values_of

from job import job

with job(snakemake):
    data, study = read_parquet(snakemake.input.data), snakemake.params.study
    measured = dependences(data, study["ordinal"])
    clusters = clusters_table(
        data.domain, measured, values_of(study["grids"], "t_v"), values_of(study["grids"], "t_d")
    )
    source = data.marks["data_source"]
    write_table(snakemake.output.dependences, measured.assign(data_source=source))
    write_table(snakemake.output.clusters, clusters.assign(data_source=source))
