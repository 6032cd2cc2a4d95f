# Multi-Dimensional Randomized Response beside its simulations: clusters, bounds, examples, claims.


rule measure_dependences:
    input:
        data="results/data/adult.parquet",
    output:
        dependences="results/tables/multirr_dependences.csv",
        clusters="results/tables/multirr_clusters.csv",
    log:
        "results/logs/measure_dependences.log",
    benchmark:
        "results/benchmarks/measure_dependences.tsv"
    params:
        study=plan.settings("studies", "multirr_tables"),
        code=lambda wildcards: plan.code("measure_dependences.py"),
    message:
        "Measuring dependences of all pairs and forming clusters"
    script:
        "../scripts/measure_dependences.py"


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
    benchmark:
        "results/benchmarks/assess_threshold_trend.tsv"
    params:
        code=lambda wildcards: plan.code("assess_threshold_trend.py"),
    message:
        "Testing whether the printed trend over T_d is more than chance"
    script:
        "../scripts/assess_threshold_trend.py"


rule bound_errors:
    input:
        data="results/data/adult.parquet",
    output:
        figure_1="results/tables/multirr_fig1.csv",
        accuracy="results/tables/multirr_accuracy.csv",
        propagation="results/tables/multirr_propagation.csv",
        order="results/tables/multirr_order.csv",
    log:
        "results/logs/bound_errors.log",
    benchmark:
        "results/benchmarks/bound_errors.tsv"
    params:
        study=plan.settings("studies", "multirr_tables"),
        code=lambda wildcards: plan.code("bound_errors.py"),
    message:
        "Bounding the errors of estimates from n reports"
    script:
        "../scripts/bound_errors.py"


rule work_example:
    output:
        "results/tables/multirr_example1.csv",
    log:
        "results/logs/work_example.log",
    benchmark:
        "results/benchmarks/work_example.tsv"
    params:
        code=lambda wildcards: plan.code("work_example.py"),
    message:
        "Working Example 1 of RR-Adjustment in fractions"
    script:
        "../scripts/work_example.py"


rule sum_securely:
    input:
        data="results/data/adult.parquet",
    output:
        sums="results/tables/multirr_secure_sum.csv",
        faults="results/tables/multirr_secure_sum_faults.csv",
        assessed="results/tables/multirr_secure_assessment.csv",
        linkage="results/tables/multirr_linkage.csv",
    log:
        "results/logs/sum_securely.log",
    benchmark:
        "results/benchmarks/sum_securely.tsv"
    params:
        seed=plan.config.seed,
        trials=plan.config.analyses.multirr_secure_sum.model_dump(),
        code=lambda wildcards: plan.code("sum_securely.py"),
    message:
        "Running the secure sum between thousands of parties"
    script:
        "../scripts/sum_securely.py"


rule compare_risks:
    input:
        data="results/data/adult.parquet",
        dependences=rules.measure_dependences.output.dependences,
    output:
        risk="results/tables/multirr_risk.csv",
        waiver="results/tables/multirr_waiver.csv",
    log:
        "results/logs/compare_risks.log",
    benchmark:
        "results/benchmarks/compare_risks.tsv"
    params:
        study=plan.settings("studies", "multirr_tables"),
        code=lambda wildcards: plan.code("compare_risks.py"),
    message:
        "Confronting equal risk with every epsilon that is spent"
    script:
        "../scripts/compare_risks.py"


rule decide_claims:
    input:
        **{
            table: f"results/tables/{table}.csv"
            for table in (
                "multirr_gains",
                "multirr_projections",
                "multirr_table1",
                "multirr_table2",
                "multirr_sensitivity",
                "multirr_attributes",
            )
        },
        clusters=rules.measure_dependences.output.clusters,
    output:
        report(
            "results/tables/multirr_claims.csv",
            caption="../report/claims.rst",
            category="Tables",
            labels={"table": "multirr_claims"},
        ),
    log:
        "results/logs/decide_claims.log",
    benchmark:
        "results/benchmarks/decide_claims.tsv"
    params:
        code=lambda wildcards: plan.code("decide_claims.py"),
    message:
        "Deciding what the paper claims in words"
    script:
        "../scripts/decide_claims.py"
