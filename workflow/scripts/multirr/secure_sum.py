"""Run the secure sum of section 4.2 between simulated parties, also with deviating parties."""

from deniable.files import write_table
from deniable.records import read_true_records

from reproduction.papers.multirr.dependence_assessment import secure_assessments
from reproduction.papers.multirr.secure_sum import fault_trials, linkage_example, trials
from reproduction.pipeline import job

with job(snakemake):
    adult = read_true_records(snakemake.input.adult)
    settings, seed = snakemake.params.settings, snakemake.params.seed
    source, few = adult.marks["data_source"], settings["parties_of_all_pairs"]
    summed = trials(adult, seed, tuple(settings["pair"]), settings["parties"], few)
    assessed = secure_assessments(adult, seed, few)
    linked = linkage_example(adult, seed, settings["linkage_parties"], settings["linkage_samples"])
    write_table(snakemake.output.secure_sum, summed.assign(data_source=source))
    write_table(snakemake.output.secure_sum_faults, fault_trials(seed, settings["fault_trials"]))
    write_table(snakemake.output.secure_assessment, assessed.assign(data_source=source))
    write_table(snakemake.output.linkage, linked.assign(data_source=source))
