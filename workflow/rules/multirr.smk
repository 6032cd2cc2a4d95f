# The analyses of [multirr] (see docs/references.md). Each is a rule with its own script.


rule multirr_agreement:
    input:
        tables=lambda wildcards: plan.made_tables(
            "multirr_table1", "multirr_table2", "multirr_sensitivity", "multirr_exploration"
        ),
    output:
        agreement=report(
            "results/tables/multirr_agreement.csv",
            caption="../report/agreement.rst",
            category="Tables",
            labels={"table": "multirr_agreement"},
        ),
        misfit="results/tables/multirr_misfit.csv",
    log:
        "results/logs/multirr_agreement.log",
    benchmark:
        "results/benchmarks/multirr_agreement.tsv"
    group:
        "analyses"
    resources:
        **needs(SECONDS),
    params:
        code=lambda wildcards: plan.code("multirr/agreement.py"),
    message:
        "Counting the published numbers that agree"
    script:
        "../scripts/multirr/agreement.py"


rule multirr_dependences:
    input:
        adult="results/data/adult.parquet",
    output:
        dependences="results/tables/multirr_dependences.csv",
        clusters="results/tables/multirr_clusters.csv",
    log:
        "results/logs/multirr_dependences.log",
    benchmark:
        "results/benchmarks/multirr_dependences.tsv"
    group:
        "analyses"
    resources:
        **needs(SECONDS),
    params:
        settings=lambda wildcards: plan.settings("studies", "multirr_tables"),
        section="studies.multirr_tables",
        code=lambda wildcards: plan.code("multirr/dependences.py"),
    message:
        "Measuring the dependences of all pairs and forming clusters"
    script:
        "../scripts/multirr/dependences.py"


rule multirr_threshold_trend:
    input:
        clusters="results/tables/multirr_clusters.csv",
        tables=lambda wildcards: plan.made_tables("multirr_table1", "multirr_table2"),
    output:
        threshold_trend=report(
            "results/tables/multirr_threshold_trend.csv",
            caption="../report/threshold_trend.rst",
            category="Tables",
            labels={"table": "multirr_threshold_trend"},
        ),
    log:
        "results/logs/multirr_threshold_trend.log",
    benchmark:
        "results/benchmarks/multirr_threshold_trend.tsv"
    group:
        "analyses"
    resources:
        **needs(SECONDS),
    params:
        code=lambda wildcards: plan.code("multirr/threshold_trend.py"),
    message:
        "Testing whether the published trend over T_d exceeds chance"
    script:
        "../scripts/multirr/threshold_trend.py"


rule multirr_error_bounds:
    input:
        adult="results/data/adult.parquet",
    output:
        fig1="results/tables/multirr_fig1.csv",
        accuracy="results/tables/multirr_accuracy.csv",
        propagation="results/tables/multirr_propagation.csv",
        order="results/tables/multirr_order.csv",
    log:
        "results/logs/multirr_error_bounds.log",
    benchmark:
        "results/benchmarks/multirr_error_bounds.tsv"
    group:
        "analyses"
    resources:
        **needs(SECONDS),
    params:
        settings=lambda wildcards: plan.settings("studies", "multirr_tables"),
        section="studies.multirr_tables",
        code=lambda wildcards: plan.code("multirr/error_bounds.py"),
    message:
        "Bounding the errors of estimates from n responses"
    script:
        "../scripts/multirr/error_bounds.py"


rule multirr_example1:
    output:
        example1="results/tables/multirr_example1.csv",
    log:
        "results/logs/multirr_example1.log",
    benchmark:
        "results/benchmarks/multirr_example1.tsv"
    group:
        "analyses"
    resources:
        **needs(SECONDS),
    params:
        code=lambda wildcards: plan.code("multirr/example1.py"),
    message:
        "Computing Example 1 of RR-Adjustment in fractions"
    script:
        "../scripts/multirr/example1.py"


rule multirr_secure_sum:
    input:
        adult="results/data/adult.parquet",
    output:
        secure_sum="results/tables/multirr_secure_sum.csv",
        secure_sum_faults="results/tables/multirr_secure_sum_faults.csv",
        secure_assessment="results/tables/multirr_secure_assessment.csv",
        linkage="results/tables/multirr_linkage.csv",
    log:
        "results/logs/multirr_secure_sum.log",
    benchmark:
        "results/benchmarks/multirr_secure_sum.tsv"
    group:
        "analyses"
    resources:
        **needs(MINUTES),
    params:
        settings=lambda wildcards: plan.settings("analyses", "multirr_secure_sum"),
        section="analyses.multirr_secure_sum",
        seed=plan.config.seed,
        code=lambda wildcards: plan.code("multirr/secure_sum.py"),
    message:
        "Running the secure sum between thousands of parties"
    script:
        "../scripts/multirr/secure_sum.py"


rule multirr_risk:
    input:
        adult="results/data/adult.parquet",
        dependences="results/tables/multirr_dependences.csv",
    output:
        audit="results/tables/multirr_audit.csv",
        risk="results/tables/multirr_risk.csv",
        waiver="results/tables/multirr_waiver.csv",
    log:
        "results/logs/multirr_risk.log",
    benchmark:
        "results/benchmarks/multirr_risk.tsv"
    group:
        "analyses"
    resources:
        **needs(MINUTES),
    params:
        settings=lambda wildcards: plan.settings("studies", "multirr_tables"),
        section="studies.multirr_tables",
        code=lambda wildcards: plan.code("multirr/risk.py"),
    message:
        "Comparing equal risk with all epsilons of the record"
    script:
        "../scripts/multirr/risk.py"


rule multirr_claims:
    input:
        said=plan.own("resources/claims/multirr.csv"),
        table1="results/tables/multirr_table1.csv",
        table2="results/tables/multirr_table2.csv",
        sensitivity="results/tables/multirr_sensitivity.csv",
        gain_ratios="results/tables/multirr_gain_ratios.csv",
        methods="results/tables/multirr_methods.csv",
        attributes="results/tables/multirr_attributes.csv",
        clusters="results/tables/multirr_clusters.csv",
    output:
        claims=report(
            "results/tables/multirr_claims.csv",
            caption="../report/claims.rst",
            category="Tables",
            labels={"table": "multirr_claims"},
        ),
        claim_readings="results/tables/multirr_claim_readings.csv",
    log:
        "results/logs/multirr_claims.log",
    benchmark:
        "results/benchmarks/multirr_claims.tsv"
    group:
        "analyses"
    resources:
        **needs(SECONDS),
    params:
        code=lambda wildcards: plan.code("multirr/claims.py"),
    message:
        "Deciding the claims of [multirr] in words"
    script:
        "../scripts/multirr/claims.py"
