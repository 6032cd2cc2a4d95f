"""Collect the errors of all test releases of a grid, and plot them against exact ε."""

from pathlib import Path

from deniable.display import save
from deniable.files import kept_private, write_table

from reproduction.pipeline import job
from reproduction.report import plot_errors, read_releases, sweep_table

with job(snakemake):
    given, made, settings = snakemake.input, snakemake.output, snakemake.params.settings
    releases = read_releases(given.releases, [*given.margins, *given.pairs], given.checks)
    table = sweep_table(settings, releases)
    if snakemake.params.private:
        kept_private(Path(made.table).parent)
    write_table(made.table, table)
    options = list(next(iter(settings.values())))
    save(plot_errors(table, options, snakemake.wildcards.sweep), made.svg, made.png)
