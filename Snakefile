# Deniable: the whole pipeline. Each include is a stage; docs/architecture.md has the map.
from snakemake.utils import min_version

min_version("9.14")


configfile: "config/config.yaml"


include: "workflow/rules/common.smk"


rule all:
    default_target: True
    input:
        plan.targets(),


include: "workflow/rules/data.smk"
include: "workflow/rules/release.smk"
include: "workflow/rules/estimates.smk"
include: "workflow/rules/studies.smk"
include: "workflow/rules/multirr.smk"
include: "workflow/rules/pram.smk"
include: "workflow/rules/idp.smk"
include: "workflow/rules/rrba.smk"
include: "workflow/rules/audit.smk"
include: "workflow/rules/report.smk"
