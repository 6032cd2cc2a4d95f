# The study lane: simulate a chunk of cells, collect a table, draw it.


rule simulate:
    input:
        data="results/data/adult.parquet",
    output:
        "results/studies/{study}/chunk-{chunk}-of-{chunks}.csv",
    log:
        "results/logs/simulate/{study}-{chunk}-of-{chunks}.log",
    benchmark:
        "results/benchmarks/simulate/{study}-{chunk}-of-{chunks}.tsv"
    params:
        study=lambda wildcards: plan.settings("studies", wildcards.study),
        seed=plan.config.seed,
        code=plan.code("simulate.py"),
    message:
        "Study {wildcards.study}: simulating chunk {wildcards.chunk} of {wildcards.chunks}"
    script:
        "../scripts/simulate.py"


rule collect:
    input:
        chunks=lambda wildcards: plan.chunks(wildcards.table),
        published=lambda wildcards: expand(
            "resources/published/{name}.csv", name=TABLES[wildcards.table].published
        ),
    output:
        report(
            "results/tables/{table}.csv",
            caption="../report/table.rst",
            category="Tables",
            labels={"table": "{table}"},
        ),
    log:
        "results/logs/collect/{table}.log",
    wildcard_constraints:
        table="|".join(TABLES),
    params:
        study=lambda wildcards: plan.settings("studies", TABLES[wildcards.table].study),
        code=plan.code("collect.py"),
    message:
        "Table {wildcards.table}: setting results beside the printed numbers"
    script:
        "../scripts/collect.py"


rule draw:
    input:
        "results/tables/{figure}.csv",
    output:
        svg=report(
            "results/figures/{figure}.svg",
            caption="../report/figure.rst",
            category="Figures",
            labels={"figure": "{figure}"},
        ),
        png="results/figures/{figure}.png",
    log:
        "results/logs/draw/{figure}.log",
    wildcard_constraints:
        figure="|".join(FIGURES),
    # What a newcomer waits for comes first.
    priority: 10
    params:
        code=plan.code("draw.py"),
    message:
        "Figure {wildcards.figure}: printed against regenerated"
    script:
        "../scripts/draw.py"


rule measure_dependences:
    input:
        data="results/data/adult.parquet",
    output:
        dependences="results/tables/multirr_dependences.csv",
        clusters="results/tables/multirr_clusters.csv",
    log:
        "results/logs/measure_dependences.log",
    params:
        study=plan.settings("studies", "multirr_tables"),
        code=plan.code("measure_dependences.py"),
    message:
        "Measuring dependences of all pairs and forming clusters"
    script:
        "../scripts/measure_dependences.py"


rule summarize_agreement:
    input:
        expand("results/tables/{table}.csv", table=plan.tables()),
    output:
        report(
            "results/tables/multirr_agreement.csv",
            caption="../report/agreement.rst",
            category="Tables",
            labels={"table": "multirr_agreement"},
        ),
    log:
        "results/logs/summarize_agreement.log",
    params:
        code=plan.code("summarize_agreement.py"),
    message:
        "Counting which printed numbers hold"
    script:
        "../scripts/summarize_agreement.py"


rule assess_threshold_trend:
    input:
        tables=expand("results/tables/{table}.csv", table=plan.printed_tables()),
        clusters=rules.measure_dependences.output.clusters,
    output:
        report(
            "results/tables/multirr_threshold_trend.csv",
            caption="../report/threshold_trend.rst",
            category="Tables",
            labels={"table": "multirr_threshold_trend"},
        ),
    log:
        "results/logs/assess_threshold_trend.log",
    params:
        code=plan.code("assess_threshold_trend.py"),
    message:
        "Testing whether the printed trend over T_d is more than chance"
    script:
        "../scripts/assess_threshold_trend.py"
