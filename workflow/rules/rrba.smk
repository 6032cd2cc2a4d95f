# The analyses of [rrba] (see docs/references.md). Each is a rule with its own script.


rule rrba_examples:
    input:
        survey="results/data/networks/survey.parquet",
    output:
        examples="results/tables/rrba_examples.csv",
        consistency="results/tables/rrba_consistency.csv",
    log:
        "results/logs/rrba_examples.log",
    benchmark:
        "results/benchmarks/rrba_examples.tsv"
    group:
        "analyses"
    resources:
        **needs(MINUTES),
    params:
        seed=plan.config.seed,
        code=lambda wildcards: plan.code("rrba/examples.py"),
    message:
        "Computing the examples of [rrba], and making tables consistent"
    script:
        "../scripts/rrba/examples.py"


rule rrba_epsilon:
    input:
        survey="results/data/networks/survey.parquet",
        alarm="results/data/networks/alarm.parquet",
        child="results/data/networks/child.parquet",
    output:
        epsilon="results/tables/rrba_epsilon.csv",
        fig4="results/tables/rrba_fig4.csv",
    log:
        "results/logs/rrba_epsilon.log",
    benchmark:
        "results/benchmarks/rrba_epsilon.tsv"
    group:
        "analyses"
    resources:
        **needs(MINUTES),
    params:
        settings=lambda wildcards: plan.settings("analyses", "rrba_epsilon"),
        section="analyses.rrba_epsilon",
        code=lambda wildcards: plan.code("rrba/epsilon.py"),
    message:
        "Comparing Theorem 4.1 with the exact epsilons of answers"
    script:
        "../scripts/rrba/epsilon.py"


rule rrba_fig7:
    input:
        data=expand(
            "results/data/networks/{file}.parquet",
            file=["survey_8000", "survey_8000_resampled", "alarm_8000", "child_8000"],
        ),
        published=[
            plan.own("resources/published/rrba_table4.csv"),
            plan.own("resources/published/rrba_table5.csv"),
        ],
    output:
        fig7="results/tables/rrba_fig7.csv",
    log:
        "results/logs/rrba_fig7.log",
    benchmark:
        "results/benchmarks/rrba_fig7.tsv"
    group:
        "analyses"
    resources:
        **needs(MINUTES),
    params:
        settings=lambda wildcards: plan.settings("studies", "rrba_tables"),
        section="studies.rrba_tables",
        seed=plan.config.seed,
        code=lambda wildcards: plan.code("rrba/fig7.py"),
    message:
        "Figure 7: computing histograms of the trials of Tables 4 and 5"
    script:
        "../scripts/rrba/fig7.py"


rule rrba_claims:
    input:
        said=plan.own("resources/claims/rrba.csv"),
        table3="results/tables/rrba_table3.csv",
        table4="results/tables/rrba_table4.csv",
        table5="results/tables/rrba_table5.csv",
        equal="results/tables/rrba_equal.csv",
        fig5="results/tables/rrba_fig5.csv",
        fig6="results/tables/rrba_fig6.csv",
        power="results/tables/rrba_power.csv",
    output:
        claims="results/tables/rrba_claims.csv",
        claim_readings="results/tables/rrba_claim_readings.csv",
    log:
        "results/logs/rrba_claims.log",
    benchmark:
        "results/benchmarks/rrba_claims.tsv"
    group:
        "analyses"
    resources:
        **needs(SECONDS),
    params:
        code=lambda wildcards: plan.code("rrba/claims.py"),
    message:
        "Deciding the claims of [rrba] in words"
    script:
        "../scripts/rrba/claims.py"
