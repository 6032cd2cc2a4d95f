# Studies: simulate a chunk of settings, collect a table, plot a figure.


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
    resources:
        **needs(SIMULATION),
    params:
        study=lambda wildcards: plan.settings("studies", wildcards.study),
        section="studies.{study}",
        seed=plan.config.seed,
        code=lambda wildcards: plan.code("simulate.py", STUDIES[wildcards.study]),
    message:
        "Study {wildcards.study}: simulating chunk {wildcards.chunk} of {wildcards.chunks}"
    script:
        "../scripts/simulate.py"


rule collect:
    input:
        chunks=lambda wildcards: plan.chunks(wildcards.table),
        published=lambda wildcards: expand(
            plan.own("resources/published/{name}.csv"), name=TABLES[wildcards.table].published
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
    resources:
        **needs(SECONDS),
    params:
        study=lambda wildcards: plan.settings("studies", TABLES[wildcards.table].study),
        section=lambda wildcards: f"studies.{TABLES[wildcards.table].study}",
        code=lambda wildcards: plan.code(
            "collect.py",
            TABLES[wildcards.table],
            STUDIES[TABLES[wildcards.table].study].comparison,
        ),
    message:
        "Table {wildcards.table}: comparing results with published numbers"
    script:
        "../scripts/collect.py"


rule plot:
    input:
        lambda wildcards: expand(
            "results/tables/{table}.csv", table=FIGURES[wildcards.figure].tables
        ),
    output:
        svg=report(
            "results/figures/{figure}.svg",
            caption="../report/figure.rst",
            category="Figures",
            labels={"figure": "{figure}"},
        ),
        png="results/figures/{figure}.png",
    log:
        "results/logs/plot/{figure}.log",
    benchmark:
        "results/benchmarks/plot/{figure}.tsv"
    wildcard_constraints:
        figure="|".join(FIGURES),
    # Figures come first, because users wait for them.
    priority: 10
    resources:
        **needs(SECONDS),
    params:
        code=lambda wildcards: plan.code("plot.py", FIGURES[wildcards.figure]),
    message:
        "Figure {wildcards.figure}: plotting its tables"
    script:
        "../scripts/plot.py"
