# The analyses of [pram] (see docs/references.md). Each is a rule with its own script.


rule pram_results:
    input:
        said=plan.own("resources/claims/pram.csv"),
    output:
        results=report(
            "results/tables/pram_results.csv",
            caption="../report/results.rst",
            category="Tables",
            labels={"table": "pram_results"},
        ),
    log:
        "results/logs/pram_results.log",
    benchmark:
        "results/benchmarks/pram_results.tsv"
    group:
        "analyses"
    resources:
        **needs(SECONDS),
    params:
        code=lambda wildcards: plan.code("pram/results.py"),
    message:
        "Checking every numbered result of [pram] on small cases"
    script:
        "../scripts/pram/results.py"


rule pram_variance:
    input:
        adult="results/data/adult.parquet",
    output:
        variance="results/tables/pram_variance.csv",
        whole_file="results/tables/pram_whole_file.csv",
    log:
        "results/logs/pram_variance.log",
    benchmark:
        "results/benchmarks/pram_variance.tsv"
    group:
        "analyses"
    resources:
        **needs(MINUTES),
    params:
        settings=lambda wildcards: plan.settings("analyses", "pram_variance"),
        section="analyses.pram_variance",
        code=lambda wildcards: plan.code("pram/variance.py"),
    message:
        "Comparing the variances of randomized response, PRAM and invariant PRAM"
    script:
        "../scripts/pram/variance.py"


rule pram_breaches:
    input:
        adult="results/data/adult.parquet",
    output:
        breach_bounds="results/tables/pram_breach_bounds.csv",
        breach_thresholds="results/tables/pram_breach_thresholds.csv",
        approach="results/tables/pram_approach.csv",
        intruder="results/tables/pram_intruder.csv",
        worst_sets="results/tables/pram_worst_sets.csv",
    log:
        "results/logs/pram_breaches.log",
    benchmark:
        "results/benchmarks/pram_breaches.tsv"
    group:
        "analyses"
    resources:
        **needs(MINUTES),
    params:
        code=lambda wildcards: plan.code("pram/breaches.py"),
    message:
        "Bounding the information that a randomized value gives an intruder"
    script:
        "../scripts/pram/breaches.py"


rule pram_design:
    input:
        adult="results/data/adult.parquet",
    output:
        design="results/tables/pram_design.csv",
        channels="results/tables/pram_channels.csv",
    log:
        "results/logs/pram_design.log",
    benchmark:
        "results/benchmarks/pram_design.tsv"
    group:
        "analyses"
    resources:
        **needs(MINUTES),
    params:
        settings=lambda wildcards: plan.settings("analyses", "pram_design"),
        section="analyses.pram_design",
        code=lambda wildcards: plan.code("pram/design.py"),
    message:
        "Optimizing transition matrices by convex programs"
    script:
        "../scripts/pram/design.py"
