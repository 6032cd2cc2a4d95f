"""Collect the errors of all test releases of a grid, and plot them against exact ε."""

from pathlib import Path

from deniable.display import save
from deniable.files import kept_private, read_json, read_table, write_table

from reproduction.pipeline import job
from reproduction.report import plot_errors, sweep_table

with job(snakemake):
    given, made, settings = snakemake.input, snakemake.output, snakemake.params.settings
    kinds = ("check", "margins", "pairs")
    documents, tables = {}, {}
    for name, public, *files in zip(
        settings, given.releases, given.checks, given.margins, given.pairs, strict=True
    ):
        documents[name] = read_json(Path(public, "plan.json"))
        tables[name] = dict(zip(kinds, map(read_table, files), strict=True))
    table = sweep_table(settings, documents, tables)
    if snakemake.params.private:
        kept_private(Path(made.table).parent)
    write_table(made.table, table)
    options = list(next(iter(settings.values())))
    save(plot_errors(table, options, snakemake.wildcards.sweep), made.svg, made.png)
