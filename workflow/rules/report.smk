# The page that people read.
from pathlib import Path

TEMPLATES = Path("src/deniable")


rule report:
    input:
        tables=expand("results/tables/{table}.csv", table=plan.tables() + plan.computed_tables()),
        audits=[*rules.audit_privacy.output, *rules.audit_samplers.output],
        figures=expand("results/figures/{figure}.svg", figure=plan.figures()),
        channels=expand("results/releases/{release}/channels.json", release=plan.releases()),
        estimates=expand("results/releases/{release}/estimates.csv", release=plan.releases()),
        adjustments=expand("results/releases/{release}/adjustment.json", release=plan.releases()),
        checks=expand("results/releases/{release}/check.csv", release=plan.releases(rehearsal=True)),
        synthetic_checks=expand(
            "results/releases/{release}/synthetic_check.csv", release=plan.releases(rehearsal=True)
        ),
        numeric_releases=expand(
            "results/releases/{release}/{file}",
            release=plan.releases("numeric"),
            file=["release.json", "audit.csv", "estimates.csv"],
        ),
        numeric_checks=expand(
            "results/releases/{release}/{file}",
            release=plan.releases("numeric", rehearsal=True),
            file=["check.csv", "utility.csv"],
        ),
        collections=expand(
            "results/releases/{release}/{file}",
            release=plan.releases("collection"),
            file=["release.json", "margins.csv", "independence.csv"],
        ),
        collection_checks=expand(
            "results/releases/{release}/check.csv",
            release=plan.releases("collection", rehearsal=True),
        ),
        sources=expand("results/data/raw/{dataset}.source.json", dataset=plan.needed()),
        findings="docs/findings.md",
        templates=sorted(map(str, TEMPLATES.rglob("templates/**/*.*"))),
    output:
        "results/report.html",
    log:
        "results/logs/report.log",
    benchmark:
        "results/benchmarks/report.tsv"
    params:
        config=plan.config.model_dump(exclude={"data"}),
        code=lambda wildcards: plan.code("report.py", PARTS),
    message:
        "Writing the report"
    script:
        "../scripts/report.py"
