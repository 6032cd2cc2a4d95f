# Individual differential privacy beside its simulations: the audit, attacks, claims in words.


rule audit_individual:
    input:
        data="results/data/{dataset}.parquet",
    output:
        audit="results/audit/idp/{dataset}.csv",
        clusters="results/audit/idp/{dataset}_clusters.csv",
    log:
        "results/logs/audit_individual/{dataset}.log",
    benchmark:
        "results/benchmarks/audit_individual/{dataset}.tsv"
    wildcard_constraints:
        dataset="census|wine",
    params:
        settings=lambda wildcards: plan.config.analyses.idp_audit.of(wildcards.dataset),
        seed=plan.config.seed,
        code=lambda wildcards: plan.code("audit_individual.py"),
    message:
        "Auditing individual differential privacy on {wildcards.dataset}"
    script:
        "../scripts/audit_individual.py"


rule attack_individual:
    input:
        data="results/data/{dataset}.parquet",
    output:
        attacks="results/audit/idp/{dataset}_attacks.csv",
        protection="results/audit/idp/{dataset}_protection.csv",
    log:
        "results/logs/attack_individual/{dataset}.log",
    benchmark:
        "results/benchmarks/attack_individual/{dataset}.tsv"
    wildcard_constraints:
        dataset="census|wine",
    params:
        settings=plan.config.analyses.idp_attacks.model_dump(),
        seed=plan.config.seed,
        code=lambda wildcards: plan.code("attack_individual.py"),
    message:
        "Attacking individual differential privacy on {wildcards.dataset}"
    script:
        "../scripts/attack_individual.py"


rule join_individual:
    input:
        **{
            f"{dataset}{part}": f"results/audit/idp/{dataset}{part}.csv"
            for dataset in ("census", "wine")
            for part in ("", "_clusters", "_attacks", "_protection")
        },
        census_data="results/data/census.parquet",
        wine_data="results/data/wine.parquet",
    output:
        audit="results/tables/idp_audit.csv",
        clusters="results/tables/idp_audit_clusters.csv",
        attacks="results/tables/idp_attacks.csv",
        protection="results/tables/idp_protection.csv",
    log:
        "results/logs/join_individual.log",
    benchmark:
        "results/benchmarks/join_individual.tsv"
    params:
        code=lambda wildcards: plan.code("join_individual.py"),
    message:
        "Joining the audits of individual differential privacy"
    script:
        "../scripts/join_individual.py"


rule decide_individual_claims:
    input:
        census="results/data/census.parquet",
        wine="results/data/wine.parquet",
        census_sse="results/tables/idp_fig3.csv",
        wine_sse="results/tables/idp_fig4.csv",
        census_forests="results/tables/idp_fig5.csv",
        wine_forests="results/tables/idp_fig6.csv",
    output:
        "results/tables/idp_claims.csv",
    log:
        "results/logs/decide_individual_claims.log",
    benchmark:
        "results/benchmarks/decide_individual_claims.tsv"
    params:
        code=lambda wildcards: plan.code("decide_individual_claims.py"),
    message:
        "Deciding what [idp] claims in words"
    script:
        "../scripts/decide_individual_claims.py"
