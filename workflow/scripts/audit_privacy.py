"""Bring what every mechanism, paper, protocol and release claims of privacy into one audit."""

from pathlib import Path

import pandas as pd

from deniable.files import write_table
from deniable.release import audited_releases

from reproduction.papers import audited_protocols, one_audit
from reproduction.pipeline import job

with job(snakemake):
    tables = {Path(file).stem: pd.read_csv(file) for file in snakemake.input.tables}
    releases = audited_releases(snakemake.input.releases)
    write_table(snakemake.output[0], one_audit(tables, releases, audited_protocols()))
