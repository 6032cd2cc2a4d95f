# The page that people read.


rule report:
    input:
        tables=expand("results/tables/{table}.csv", table=plan.tables()),
        figures=expand("results/figures/{figure}.svg", figure=plan.figures()),
        agreement=rules.summarize_agreement.output,
        clusters=rules.measure_dependences.output.clusters,
        trend=rules.assess_threshold_trend.output,
        dependences=rules.measure_dependences.output.dependences,
        privacy=rules.audit_privacy.output,
        samplers=rules.audit_samplers.output,
        channels=expand("results/releases/{release}/channels.json", release=plan.releases()),
        estimates=expand("results/releases/{release}/estimates.csv", release=plan.releases()),
        checks=expand("results/releases/{release}/check.csv", release=plan.rehearsals()),
        sources=expand("results/data/raw/{dataset}.source.json", dataset=plan.datasets),
        findings="docs/findings.md",
        template="src/deniable/templates/report.html.j2",
    output:
        "results/report.html",
    log:
        "results/logs/report.log",
    params:
        config=plan.config.model_dump(exclude={"data"}),
        code=plan.code("report.py"),
    message:
        "Writing the report"
    script:
        "../scripts/report.py"
