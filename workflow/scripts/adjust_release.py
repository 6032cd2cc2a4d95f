"""Weight the records of a protected file so that they meet the estimated distributions."""

from deniable.pram import StratifiedProtocol
from deniable.release import marked_as, read_made, write_made
from deniable.release.categorical import adjust_reports, describe_adjustment

from job import job

with job(snakemake):
    made = read_made(snakemake.input)
    described, estimates = made["channels"], made["estimates"]
    protocol = StratifiedProtocol.from_json(described)
    adjusted = adjust_reports(protocol, made["protected"], estimates)
    left = {
        "adjusted_weights": marked_as(adjusted.table(), estimates),
        "adjustment": describe_adjustment(described, protocol, adjusted),
    }
    write_made(snakemake.output, left)
