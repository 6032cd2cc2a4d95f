# The report: pages in a folder, and the same pages in one file for mailing.
from pathlib import Path

TEMPLATES = SOURCE / "workflow" / "reproduction"
if TEMPLATES.is_relative_to(Path.cwd()):
    TEMPLATES = TEMPLATES.relative_to(Path.cwd())


rule report:
    input:
        tables=expand("results/tables/{table}.csv", table=plan.tables() + plan.computed_tables()),
        audits=[*rules.audit_privacy.output, *rules.audit_samplers.output],
        figures=expand("results/figures/{figure}.svg", figure=plan.figures()),
        releases=all_made,
        estimates=plan.estimates(),
        checks=plan.comparisons(),
        sources=plan.sources(),
        findings=plan.own("docs/findings.md"),
        templates=sorted(map(str, TEMPLATES.rglob("templates/**/*.*"))),
    output:
        directory("results/report"),
    log:
        "results/logs/report.log",
    benchmark:
        "results/benchmarks/report.tsv"
    resources:
        **needs(SECONDS),
    params:
        config=plan.config.model_dump(exclude={"data", "keys", "ledger"}),
        code=lambda wildcards: plan.code("report.py", PAGES, {p.key: p.source for p in PAPERS}),
    message:
        "Writing the report"
    script:
        "../scripts/report.py"


use rule report as report_in_one_file with:
    output:
        "results/report.html",
    log:
        "results/logs/report_in_one_file.log",
    benchmark:
        "results/benchmarks/report_in_one_file.tsv"
    message:
        "Writing the report in one file"
