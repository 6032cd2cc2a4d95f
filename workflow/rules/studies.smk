# The study lane: simulate a chunk of cells, collect a table, draw it.


rule simulate:
    input:
        data=lambda wildcards: expand(
            "results/data/{name}.parquet", name=STUDIES[wildcards.study].datasets
        ),
    output:
        "results/studies/{study}/chunk-{chunk}-of-{chunks}.csv",
    log:
        "results/logs/simulate/{study}-{chunk}-of-{chunks}.log",
    benchmark:
        "results/benchmarks/simulate/{study}-{chunk}-of-{chunks}.tsv"
    params:
        study=lambda wildcards: plan.settings("studies", wildcards.study),
        seed=plan.config.seed,
        code=lambda wildcards: plan.code("simulate.py"),
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
    benchmark:
        "results/benchmarks/collect/{table}.tsv"
    wildcard_constraints:
        table="|".join(TABLES),
    params:
        study=lambda wildcards: plan.settings("studies", TABLES[wildcards.table].study),
        code=lambda wildcards: plan.code("collect.py"),
    message:
        "Table {wildcards.table}: setting results beside the printed numbers"
    script:
        "../scripts/collect.py"


rule draw:
    input:
        lambda wildcards: expand("results/tables/{table}.csv", table=FIGURES[wildcards.figure]),
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
    benchmark:
        "results/benchmarks/draw/{figure}.tsv"
    wildcard_constraints:
        figure="|".join(FIGURES),
    # What a newcomer waits for comes first.
    priority: 10
    params:
        code=lambda wildcards: plan.code("draw.py"),
    message:
        "Figure {wildcards.figure}: printed against regenerated"
    script:
        "../scripts/draw.py"


rule summarize_agreement:
    input:
        expand("results/tables/{table}.csv", table=plan.compared_tables()),
    output:
        report(
            "results/tables/multirr_agreement.csv",
            caption="../report/agreement.rst",
            category="Tables",
            labels={"table": "multirr_agreement"},
        ),
    log:
        "results/logs/summarize_agreement.log",
    benchmark:
        "results/benchmarks/summarize_agreement.tsv"
    params:
        code=lambda wildcards: plan.code("summarize_agreement.py"),
    message:
        "Counting which printed numbers hold"
    script:
        "../scripts/summarize_agreement.py"
