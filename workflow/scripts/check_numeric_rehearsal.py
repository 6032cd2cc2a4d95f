"""Set the estimates of a rehearsal beside the truth, and measure what the file keeps and shows."""

import pandas as pd

from deniable.files import read_json, write_table
from deniable.pipeline import release_from
from deniable.records import read_numeric_parquet
from deniable.release.numeric import Domains, check_numbers, measure_utility
from deniable.sampling import generator_for

from job import job

with job(snakemake):
    settings = release_from(snakemake.params.release)
    stated = Domains.from_json(read_json(snakemake.input.described)["domains"])
    data = read_numeric_parquet(snakemake.input.data)
    protected = read_numeric_parquet(snakemake.input.protected)
    estimates = pd.read_csv(snakemake.input.estimates, keep_default_na=False, na_values=[""])
    key = {"release": settings.name, "check": "redraws"}
    generator = generator_for(snakemake.params.seed, key)
    checked = check_numbers(settings, stated, data, estimates, generator)
    write_table(snakemake.output.estimates, checked)
    forests = int(generator_for(snakemake.params.seed, key | {"check": "forests"}).integers(2**31))
    measured = measure_utility(settings, data, protected, forests)
    measured["rehearsal"] = True
    measured["data_source"] = data.marks["data_source"]
    write_table(snakemake.output.utility, measured)
