# The audit: claimed and exact epsilon, and tests of the samplers against their matrices.


# Code that the script imports from the package of all papers.
AUDITING = (
    "reproduction.papers.audit:one_audit",
    "reproduction.papers.protocols:audited_protocols",
)


rule audit_privacy:
    input:
        tables=plan.made_tables(*(name for of in AUDITED.values() for name in of)),
        releases=all_made,
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
    resources:
        **needs(MINUTES),
    params:
        code=lambda wildcards: plan.code("audit_privacy.py", AUDITED, AUDITING),
    message:
        "Collecting all claims of privacy in one audit"
    script:
        "../scripts/audit_privacy.py"


rule audit_samplers:
    input:
        releases=all_made,
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
    resources:
        **needs(MINUTES),
    params:
        seed=plan.config.seed,
        code=lambda wildcards: plan.code("audit_samplers.py"),
    message:
        "Comparing the samplers of all releases with their matrices"
    script:
        "../scripts/audit_samplers.py"
