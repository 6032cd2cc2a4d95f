"""Collect the privacy claims of papers, protocols and releases in one audit."""

from pathlib import Path

import pandas as pd

from deniable.files import write_table

from reproduction.papers import AUDITED, audited_protocols, audited_release, one_audit
from reproduction.pipeline import job
from reproduction.report import public_folders

with job(snakemake):
    tables = {Path(file).stem: pd.read_csv(file) for file in snakemake.input.tables}
    releases = map(audited_release, public_folders(snakemake.input.releases))
    audit = one_audit(AUDITED, tables, releases, audited_protocols())
    write_table(snakemake.output[0], audit)
