# PRAM and the theory of channels beside its simulations: results, variances, breaches, designs.


rule check_numbered_results:
    output:
        report(
            "results/tables/pram_results.csv",
            caption="../report/results.rst",
            category="Tables",
            labels={"table": "pram_results"},
        ),
    log:
        "results/logs/check_numbered_results.log",
    benchmark:
        "results/benchmarks/check_numbered_results.tsv"
    params:
        code=lambda wildcards: plan.code("check_numbered_results.py"),
    message:
        "Holding every numbered result of the census report against small cases"
    script:
        "../scripts/check_numbered_results.py"


rule compare_variances:
    input:
        data="results/data/adult.parquet",
    output:
        inflation="results/tables/pram_variance.csv",
        whole_file="results/tables/pram_whole_file.csv",
    log:
        "results/logs/compare_variances.log",
    benchmark:
        "results/benchmarks/compare_variances.tsv"
    params:
        epsilons=plan.config.analyses.pram_variance.epsilons,
        code=lambda wildcards: plan.code("compare_variances.py"),
    message:
        "Comparing the variances of randomized response, PRAM and invariant PRAM"
    script:
        "../scripts/compare_variances.py"


rule bound_breaches:
    input:
        data="results/data/adult.parquet",
    output:
        bounds="results/tables/pram_breach_bounds.csv",
        thresholds="results/tables/pram_breach_thresholds.csv",
        approach="results/tables/pram_approach.csv",
        intruder="results/tables/pram_intruder.csv",
        worst_sets="results/tables/pram_worst_sets.csv",
    log:
        "results/logs/bound_breaches.log",
    benchmark:
        "results/benchmarks/bound_breaches.tsv"
    params:
        code=lambda wildcards: plan.code("bound_breaches.py"),
    message:
        "Bounding what a report can tell an intruder"
    script:
        "../scripts/bound_breaches.py"


rule design_channels:
    input:
        data="results/data/adult.parquet",
    output:
        designs="results/tables/pram_design.csv",
        channels="results/tables/pram_channels.csv",
    log:
        "results/logs/design_channels.log",
    benchmark:
        "results/benchmarks/design_channels.tsv"
    params:
        epsilons=plan.config.analyses.pram_design.epsilons,
        code=lambda wildcards: plan.code("design_channels.py"),
    message:
        "Designing channels by convex optimization"
    script:
        "../scripts/design_channels.py"
