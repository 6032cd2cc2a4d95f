# Releases: the plan of each release, then one draw by the plan. Later, only comparisons read records.


rule plan:
    input:
        unpack(lambda wildcards: plan.releases.plan_inputs(wildcards.release)),
    output:
        plan="results/plans/{release}/plan.json",
        verified="results/plans/{release}/verified.csv",
    log:
        "results/logs/plan/{release}.log",
    benchmark:
        "results/benchmarks/plan/{release}.tsv"
    group:
        "release-{release}"
    resources:
        **needs(MINUTES),
    params:
        release=settings,
        code=lambda wildcards: plan.code("plan.py"),
    message:
        "Release {wildcards.release}: making its plan, and verifying the epsilon of the plan"
    script:
        "../scripts/plan.py"


# A test release is drawn with the seed of the config. It can be repeated, so it does not protect anybody.
rule protect:
    input:
        unpack(lambda wildcards: plan.releases.draw_inputs(wildcards.release)),
    output:
        public=directory(f"{FOLDER}/public"),
        private=directory(f"{FOLDER}/private"),
    log:
        "results/logs/protect/{release}.log",
    benchmark:
        "results/benchmarks/protect/{release}.tsv"
    wildcard_constraints:
        release=plan.releases.pattern(test=True),
    group:
        "release-{release}"
    resources:
        **needs(MINUTES),
    params:
        release=settings,
        seed=plan.config.seed,
        code=lambda wildcards: plan.code("protect.py"),
    message:
        "Release {wildcards.release}: drawing a test release"
    script:
        "../scripts/protect.py"


# A production release is drawn once, with a secret key. Snakemake deletes outputs before a retry and copies
# them to other machines. So the only output is a receipt. If the receipt exists, no rule makes the release.
rule publish:
    input:
        unpack(lambda wildcards: plan.releases.draw_inputs(wildcards.release)),
    output:
        f"{FOLDER}/{RECEIPT}",
    log:
        "results/logs/publish/{release}.log",
    wildcard_constraints:
        release=plan.releases.pattern(test=False, done=False),
    resources:
        **needs(MINUTES),
    params:
        release=settings,
        key_folder=plan.config.keys.folder,
        ledger=plan.ledger,
    message:
        "Release {wildcards.release}: drawing, verifying and publishing it, once"
    script:
        "../scripts/publish.py"


rule releases:
    input:
        all_made,
