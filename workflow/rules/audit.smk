# The audit: claimed against exact epsilon, and the shipped samplers against their matrices.


rule audit_privacy:
    input:
        dependences="results/tables/multirr_dependences.csv",
        data="results/data/adult.parquet",
        channels=expand("results/releases/{release}/channels.json", release=plan.releases()),
        collections=expand(
            "results/releases/{release}/{file}",
            release=plan.releases("collection"),
            file=["release.json", "views.json", "collection.csv"],
        ),
    output:
        report(
            "results/audit/privacy.csv",
            caption="../report/privacy.rst",
            category="Audit",
            labels={"table": "privacy"},
        ),
    log:
        "results/logs/audit_privacy.log",
    benchmark:
        "results/benchmarks/audit_privacy.tsv"
    params:
        study=plan.settings("studies", "multirr_tables"),
        code=lambda wildcards: plan.code("audit_privacy.py"),
    message:
        "Auditing every claim of privacy in exact arithmetic"
    script:
        "../scripts/audit_privacy.py"


rule audit_samplers:
    input:
        channels=expand("results/releases/{release}/channels.json", release=plan.releases()),
    output:
        report(
            "results/audit/samplers.csv",
            caption="../report/samplers.rst",
            category="Audit",
            labels={"table": "samplers"},
        ),
    log:
        "results/logs/audit_samplers.log",
    benchmark:
        "results/benchmarks/audit_samplers.tsv"
    params:
        seed=plan.config.seed,
        code=lambda wildcards: plan.code("audit_samplers.py"),
    message:
        "Holding the samplers that ship against the matrices they claim"
    script:
        "../scripts/audit_samplers.py"
