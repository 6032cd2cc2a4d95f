# The analyses of [idp] (see docs/references.md). Each is a rule with its own script.


rule idp_audit:
    input:
        census="results/data/census.parquet",
        wine="results/data/wine.parquet",
    output:
        audit="results/tables/idp_audit.csv",
        clusters="results/tables/idp_audit_clusters.csv",
    log:
        "results/logs/idp_audit.log",
    benchmark:
        "results/benchmarks/idp_audit.tsv"
    group:
        "analyses"
    resources:
        **needs(MINUTES),
    params:
        settings=lambda wildcards: plan.settings("analyses", "idp_audit"),
        section="analyses.idp_audit",
        seed=plan.config.seed,
        code=lambda wildcards: plan.code("idp/audit.py"),
    message:
        "Auditing individual differential privacy"
    script:
        "../scripts/idp/audit.py"


rule idp_attacks:
    input:
        census="results/data/census.parquet",
        wine="results/data/wine.parquet",
    output:
        attacks="results/tables/idp_attacks.csv",
        protection="results/tables/idp_protection.csv",
    log:
        "results/logs/idp_attacks.log",
    benchmark:
        "results/benchmarks/idp_attacks.tsv"
    group:
        "analyses"
    resources:
        **needs(MINUTES),
    params:
        settings=lambda wildcards: plan.settings("analyses", "idp_attacks"),
        section="analyses.idp_attacks",
        seed=plan.config.seed,
        code=lambda wildcards: plan.code("idp/attacks.py"),
    message:
        "Attacking individual differential privacy"
    script:
        "../scripts/idp/attacks.py"


rule idp_noises:
    input:
        adult_age="results/data/adult_age.parquet",
    output:
        noises="results/tables/idp_noises.csv",
    log:
        "results/logs/idp_noises.log",
    benchmark:
        "results/benchmarks/idp_noises.tsv"
    group:
        "analyses"
    resources:
        **needs(MINUTES),
    params:
        settings=lambda wildcards: plan.settings("analyses", "idp_noises"),
        section="analyses.idp_noises",
        seed=plan.config.seed,
        code=lambda wildcards: plan.code("idp/noises.py"),
    message:
        "Comparing noises for numbers on a public grid"
    script:
        "../scripts/idp/noises.py"


rule idp_claims:
    input:
        said=plan.own("resources/claims/idp.csv"),
        census="results/data/census.parquet",
        wine="results/data/wine.parquet",
        fig3="results/tables/idp_fig3.csv",
        fig4="results/tables/idp_fig4.csv",
        fig5="results/tables/idp_fig5.csv",
        fig6="results/tables/idp_fig6.csv",
        audit="results/tables/idp_audit.csv",
    output:
        claims="results/tables/idp_claims.csv",
        expected_sse="results/tables/idp_expected_sse.csv",
    log:
        "results/logs/idp_claims.log",
    benchmark:
        "results/benchmarks/idp_claims.tsv"
    group:
        "analyses"
    resources:
        **needs(SECONDS),
    params:
        code=lambda wildcards: plan.code("idp/claims.py"),
    message:
        "Deciding the claims of [idp] in words"
    script:
        "../scripts/idp/claims.py"
