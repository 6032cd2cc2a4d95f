# Estimates of each release from its public folder alone. For test releases, a comparison of the estimates
# with the original records. On a cluster, all jobs of a release are one submission.

ESTIMATES = "results/estimates/{release}"


rule estimate:
    input:
        released_by,
    output:
        margins=f"{ESTIMATES}/margins.csv",
        pairs=f"{ESTIMATES}/pairs.csv",
        numbers=f"{ESTIMATES}/numbers.csv",
    log:
        "results/logs/estimate/{release}.log",
    benchmark:
        "results/benchmarks/estimate/{release}.tsv"
    group:
        "release-{release}"
    resources:
        **needs(SECONDS),
    params:
        public=f"{FOLDER}/public",
        tables=tables_of,
        code=lambda wildcards: plan.code("estimate.py"),
    message:
        "Release {wildcards.release}: estimating marginal distributions, pairs and numbers"
    script:
        "../scripts/estimate.py"


rule consistency:
    input:
        released_by,
    output:
        consistent=f"{ESTIMATES}/consistent.csv",
        disagreement=f"{ESTIMATES}/disagreement.csv",
    log:
        "results/logs/consistency/{release}.log",
    benchmark:
        "results/benchmarks/consistency/{release}.tsv"
    group:
        "release-{release}"
    resources:
        **needs(MINUTES),
    params:
        public=f"{FOLDER}/public",
        tables=tables_of,
        code=lambda wildcards: plan.code("consistency.py"),
    message:
        "Release {wildcards.release}: making its tables consistent"
    script:
        "../scripts/consistency.py"


rule two_step:
    input:
        released_by,
    output:
        f"{ESTIMATES}/two_step.csv",
    log:
        "results/logs/two_step/{release}.log",
    benchmark:
        "results/benchmarks/two_step/{release}.tsv"
    group:
        "release-{release}"
    resources:
        **needs(SECONDS),
    params:
        public=f"{FOLDER}/public",
        tables=tables_of,
        code=lambda wildcards: plan.code("two_step.py"),
    message:
        "Release {wildcards.release}: estimating tables by two-step maximum likelihood"
    script:
        "../scripts/two_step.py"


rule independence:
    input:
        released_by,
    output:
        f"{ESTIMATES}/independence.csv",
    log:
        "results/logs/independence/{release}.log",
    benchmark:
        "results/benchmarks/independence/{release}.tsv"
    group:
        "release-{release}"
    resources:
        **needs(MINUTES),
    params:
        public=f"{FOLDER}/public",
        tables=tables_of,
        code=lambda wildcards: plan.code("independence.py"),
    message:
        "Release {wildcards.release}: testing the independence of its columns"
    script:
        "../scripts/independence.py"


rule item_sets:
    input:
        released_by,
    output:
        sets=f"{ESTIMATES}/item_sets.csv",
        rules=f"{ESTIMATES}/item_rules.csv",
    log:
        "results/logs/item_sets/{release}.log",
    benchmark:
        "results/benchmarks/item_sets/{release}.tsv"
    group:
        "release-{release}"
    resources:
        **needs(MINUTES),
    params:
        public=f"{FOLDER}/public",
        item_sets=item_sets_of,
        code=lambda wildcards: plan.code("item_sets.py"),
    message:
        "Release {wildcards.release}: searching for frequent item sets"
    script:
        "../scripts/item_sets.py"


rule joint:
    input:
        released_by,
    output:
        f"{ESTIMATES}/joint.json",
    log:
        "results/logs/joint/{release}.log",
    benchmark:
        "results/benchmarks/joint/{release}.tsv"
    group:
        "release-{release}"
    resources:
        **needs(MINUTES),
    params:
        public=f"{FOLDER}/public",
        code=lambda wildcards: plan.code("joint.py"),
    message:
        "Release {wildcards.release}: estimating the joint distribution of all columns"
    script:
        "../scripts/joint.py"


rule synthesize:
    input:
        released_by,
        joint=f"{ESTIMATES}/joint.json",
    output:
        weights=f"{ESTIMATES}/weights.csv",
        synthetic=f"{ESTIMATES}/synthetic.parquet",
    log:
        "results/logs/synthesize/{release}.log",
    benchmark:
        "results/benchmarks/synthesize/{release}.tsv"
    group:
        "release-{release}"
    resources:
        **needs(SECONDS),
    params:
        public=f"{FOLDER}/public",
        code=lambda wildcards: plan.code("synthesize.py"),
    message:
        "Release {wildcards.release}: weighting its records and drawing synthetic records"
    script:
        "../scripts/synthesize.py"


rule check:
    input:
        released_by,
        records=records_of,
        margins=f"{ESTIMATES}/margins.csv",
        pairs=f"{ESTIMATES}/pairs.csv",
        consistent=f"{ESTIMATES}/consistent.csv",
        two_step=f"{ESTIMATES}/two_step.csv",
        independence=f"{ESTIMATES}/independence.csv",
        weights=f"{ESTIMATES}/weights.csv",
        synthetic=f"{ESTIMATES}/synthetic.parquet",
    output:
        "results/checks/{release}.csv",
    log:
        "results/logs/check/{release}.log",
    benchmark:
        "results/benchmarks/check/{release}.tsv"
    wildcard_constraints:
        release=plan.releases.pattern(test=True, own=False),
    group:
        "release-{release}"
    resources:
        **needs(MINUTES),
    params:
        public=f"{FOLDER}/public",
        private=False,
        seed=plan.config.seed,
        code=lambda wildcards: plan.code("check.py"),
    message:
        "Release {wildcards.release}: comparing its estimates with the original records"
    script:
        "../scripts/check.py"


# In a folder that other users cannot open, because the comparison reveals records of your own file.
use rule check as check_own_file with:
    output:
        "results/checks/private/{release}.csv",
    log:
        "results/logs/check_own_file/{release}.log",
    wildcard_constraints:
        release=plan.releases.pattern(test=True, own=True),
    params:
        public=f"{FOLDER}/public",
        private=True,
        seed=plan.config.seed,
        code=lambda wildcards: plan.code("check.py"),


# One table and figure for the test releases of each entry with a `grid`.
rule release_sweep:
    input:
        unpack(lambda wildcards: plan.sweep_inputs(wildcards.sweep)),
    output:
        table=report(
            "results/sweeps/{sweep}.csv",
            caption="../report/sweep.rst",
            category="Sweeps",
            labels={"sweep": "{sweep}"},
        ),
        svg="results/sweeps/{sweep}.svg",
        png="results/sweeps/{sweep}.png",
    log:
        "results/logs/release_sweep/{sweep}.log",
    benchmark:
        "results/benchmarks/release_sweep/{sweep}.tsv"
    wildcard_constraints:
        sweep=plan.pattern_of_sweeps(own=False),
    resources:
        **needs(SECONDS),
    params:
        settings=lambda wildcards: plan.config.sweeps[wildcards.sweep].settings,
        private=False,
        code=lambda wildcards: plan.code("release_sweep.py"),
    message:
        "Sweep {wildcards.sweep}: collecting the errors of its releases"
    script:
        "../scripts/release_sweep.py"


# In a folder that other users cannot open, like the checks of these releases.
use rule release_sweep as sweep_own_file with:
    output:
        table="results/sweeps/private/{sweep}.csv",
        svg="results/sweeps/private/{sweep}.svg",
        png="results/sweeps/private/{sweep}.png",
    wildcard_constraints:
        sweep=plan.pattern_of_sweeps(own=True),
    params:
        settings=lambda wildcards: plan.config.sweeps[wildcards.sweep].settings,
        private=True,
        code=lambda wildcards: plan.code("release_sweep.py"),
