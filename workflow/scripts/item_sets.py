"""Search for frequent item sets of a release, and estimate its association rules."""

from deniable.analysis import Released, as_result
from deniable.files import write_table
from deniable.release import ItemSets

from reproduction.pipeline import job

with job(snakemake):
    public, found = snakemake.params.public, snakemake.output
    settings = ItemSets.model_validate(snakemake.params.item_sets)
    released, rules = Released(public), [(each.given, each.then) for each in settings.rules]
    search = settings.model_dump(exclude={"rules"})
    write_table(found.sets, as_result(public, released.item_sets, **search))
    write_table(found.rules, as_result(public, released.rules, rules))
