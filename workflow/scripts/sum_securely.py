"""Run the secure sum between simulated parties, with and without faults; show what counts link."""

from deniable.files import write_table
from deniable.papers.multirr import secure_sum as secure_sum_trials
from deniable.papers.multirr.secure_assessment import secure_assessments
from deniable.records import read_parquet

from job import job

with job(snakemake):
    data, seed = read_parquet(snakemake.input.data), snakemake.params.seed
    source = data.marks["data_source"]
    asked = snakemake.params.trials
    sizes = secure_sum_trials.Sizes(asked["parties"], asked["parties_of_all_pairs"])
    trials = secure_sum_trials.trials(data, seed, sizes, tuple(asked["pair"]))
    write_table(snakemake.output.sums, trials.assign(data_source=source))
    write_table(
        snakemake.output.faults, secure_sum_trials.fault_trials(seed, asked["fault_trials"])
    )
    assessed = secure_assessments(data, seed, asked["parties_of_all_pairs"])
    write_table(snakemake.output.assessed, assessed.assign(data_source=source))
    linked = secure_sum_trials.linkage_example(
        data, seed, asked["linkage_parties"], asked["linkage_samples"]
    )
    write_table(snakemake.output.linkage, linked.assign(data_source=source))
