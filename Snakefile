# Deniable: the whole pipeline. Each include is a stage; docs/architecture.md has the map.
from snakemake.utils import min_version

min_version("9.14")


configfile: "config/config.yaml"


include: "workflow/rules/plan.smk"


rule all:
    default_target: True
    input:
        "results/report.html",
        expand("results/tables/{table}.csv", table=plan.tables()),
        expand(
            "results/figures/{figure}.{format}",
            figure=plan.figures(),
            format=["svg", "png"],
        ),
        expand("results/tables/{table}.csv", table=plan.analyses()),
        "results/audit/privacy.csv",
        "results/audit/samplers.csv",
        expand("results/releases/{release}/protected.parquet", release=plan.releases()),
        expand("results/releases/{release}/protected.csv", release=plan.releases()),
        expand("results/releases/{release}/channels.json", release=plan.releases()),
        expand("results/releases/{release}/estimates.csv", release=plan.releases()),
        expand("results/releases/{release}/adjusted_weights.csv", release=plan.releases()),
        expand("results/releases/{release}/adjustment.json", release=plan.releases()),
        expand("results/releases/{release}/synthetic.parquet", release=plan.releases()),
        expand("results/releases/{release}/synthetic.csv", release=plan.releases()),
        expand("results/releases/{release}/matrices.csv", release=plan.pram_releases()),
        expand("results/releases/{release}/check.csv", release=plan.rehearsals()),
        expand("results/releases/{release}/synthetic_check.csv", release=plan.rehearsals()),


include: "workflow/rules/data.smk"
include: "workflow/rules/release.smk"
include: "workflow/rules/studies.smk"
include: "workflow/rules/multirr.smk"
include: "workflow/rules/pram.smk"
include: "workflow/rules/audit.smk"
include: "workflow/rules/report.smk"
