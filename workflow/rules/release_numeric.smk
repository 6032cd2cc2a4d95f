# Releases of numbers: design and audit, protect the records, estimate from what is protected.


rule design_numeric_release:
    input:
        data=lambda wildcards: (ancient if plan.drawn_once(wildcards.release) else str)(
            f"results/data/{plan.config.release(wildcards.release).data}.parquet"
        ),
        manifest=lambda wildcards: (ancient if plan.drawn_once(wildcards.release) else str)(
            "resources/datasets.yaml"
        ),
    output:
        described="results/releases/{release}/release.json",
        audit="results/releases/{release}/audit.csv",
    log:
        "results/logs/design_numeric_release/{release}.log",
    benchmark:
        "results/benchmarks/design_numeric_release/{release}.tsv"
    wildcard_constraints:
        release=plan.to_draw("numeric", rehearsals=True),
    params:
        release=lambda wildcards: plan.settings("releases", wildcards.release),
        code=lambda wildcards: (
            "" if plan.drawn_once(wildcards.release) else plan.code("design_numeric_release.py")
        ),
    message:
        "Release {wildcards.release}: choosing domains, and auditing what is promised"
    script:
        "../scripts/design_numeric_release.py"


rule protect_numeric_release:
    input:
        data=lambda wildcards: f"results/data/{plan.config.release(wildcards.release).data}.parquet",
        described=[rules.design_numeric_release.output.described],
    output:
        parquet="results/releases/{release}/protected.parquet",
        csv="results/releases/{release}/protected.csv",
    log:
        "results/logs/protect_numeric_release/{release}.log",
    benchmark:
        "results/benchmarks/protect_numeric_release/{release}.tsv"
    wildcard_constraints:
        release=plan.names(kind="numeric", rehearsal=True),
    params:
        release=lambda wildcards: plan.settings("releases", wildcards.release),
        seed=plan.config.seed,
        code=lambda wildcards: plan.code("protect_numeric_release.py"),
    message:
        "Release {wildcards.release}: protecting every record's numbers"
    script:
        "../scripts/protect_numeric_release.py"


# Drawn once, like every release that is no rehearsal; see draw_release.
use rule protect_numeric_release as draw_numeric_release with:
    input:
        data=lambda wildcards: ancient(
            f"results/data/{plan.config.release(wildcards.release).data}.parquet"
        ),
        described=[ancient("results/releases/{release}/release.json")],
    output:
        parquet=protected("results/releases/{release}/protected.parquet"),
        csv=protected("results/releases/{release}/protected.csv"),
    wildcard_constraints:
        release=plan.to_draw("numeric"),
    params:
        release=lambda wildcards: plan.settings("releases", wildcards.release),
        seed=None,
        code=None,


rule estimate_numeric_release:
    input:
        protected=rules.protect_numeric_release.output.parquet,
        described=rules.design_numeric_release.output.described,
    output:
        "results/releases/{release}/estimates.csv",
    log:
        "results/logs/estimate_numeric_release/{release}.log",
    benchmark:
        "results/benchmarks/estimate_numeric_release/{release}.tsv"
    wildcard_constraints:
        release=plan.names(kind="numeric"),
    params:
        release=lambda wildcards: plan.settings("releases", wildcards.release),
        code=lambda wildcards: plan.code("estimate_numeric_release.py"),
    message:
        "Release {wildcards.release}: estimating from the protected file alone"
    script:
        "../scripts/estimate_numeric_release.py"


# A rehearsal knows the truth: how far from it are the estimates, and what does the file show?
rule check_numeric_rehearsal:
    input:
        data=lambda wildcards: f"results/data/{plan.config.release(wildcards.release).data}.parquet",
        protected=rules.protect_numeric_release.output.parquet,
        described=rules.design_numeric_release.output.described,
        estimates=rules.estimate_numeric_release.output[0],
    output:
        estimates="results/releases/{release}/check.csv",
        utility="results/releases/{release}/utility.csv",
    log:
        "results/logs/check_numeric_rehearsal/{release}.log",
    benchmark:
        "results/benchmarks/check_numeric_rehearsal/{release}.tsv"
    wildcard_constraints:
        release=plan.names(kind="numeric", rehearsal=True),
    params:
        release=lambda wildcards: plan.settings("releases", wildcards.release),
        seed=plan.config.seed,
        code=lambda wildcards: plan.code("check_numeric_rehearsal.py"),
    message:
        "Release {wildcards.release}: setting the estimates beside the truth"
    script:
        "../scripts/check_numeric_rehearsal.py"
