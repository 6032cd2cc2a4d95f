"""Weight the records of a protected file so that they meet the estimated distributions."""

import numpy as np
import pandas as pd

from deniable.files import read_json, write_json, write_table
from deniable.pram import StratifiedProtocol
from deniable.records import read_parquet
from deniable.release.categorical import adjust_reports, describe_adjustment, read_estimates

from job import job

with job(snakemake):
    described = read_json(snakemake.input.channels[0])
    protocol = StratifiedProtocol.from_json(described)
    protected = read_parquet(snakemake.input.protected)
    estimates = read_estimates(snakemake.input.estimates[0])
    adjustment = adjust_reports(protocol, protected, estimates)
    # A row a record, in the order of protected.csv and protected.parquet.
    table = pd.DataFrame({"record": np.arange(1, len(protected) + 1), "weight": adjustment.weights})
    table["rehearsal"] = described["rehearsal"]
    table["data_source"] = protected.marks["data_source"]
    write_table(snakemake.output.weights, table)
    write_json(snakemake.output.adjustment, describe_adjustment(described, protocol, adjustment))
