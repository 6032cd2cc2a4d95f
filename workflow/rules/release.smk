# The release lane: design a protocol, protect the records, estimate from what is protected.


rule design_release:
    input:
        data=lambda wildcards: (ancient if plan.drawn_once(wildcards.release) else str)(
            f"results/data/{plan.config.release(wildcards.release).data}.parquet"
        ),
        matrices=lambda wildcards: [
            (ancient if plan.drawn_once(wildcards.release) else str)(file)
            for file in plan.matrix_files(wildcards.release)
        ],
    output:
        "results/releases/{release}/channels.json",
    log:
        "results/logs/design_release/{release}.log",
    benchmark:
        "results/benchmarks/design_release/{release}.tsv"
    wildcard_constraints:
        release=plan.to_draw(rehearsals=True),
    params:
        release=lambda wildcards: plan.settings("releases", wildcards.release),
        code=lambda wildcards: (
            "" if plan.drawn_once(wildcards.release) else plan.code("design_release.py")
        ),
    message:
        "Release {wildcards.release}: choosing clusters and channels"
    script:
        "../scripts/design_release.py"


# PRAM's matrices, from the file that the draw reads them from: all in one table, and one by one in
# the form that `deniable channel` takes.
rule write_matrices:
    input:
        channels=rules.design_release.output,
    output:
        table="results/releases/{release}/matrices.csv",
        folder=directory("results/releases/{release}/matrices"),
    log:
        "results/logs/write_matrices/{release}.log",
    benchmark:
        "results/benchmarks/write_matrices/{release}.tsv"
    params:
        code=lambda wildcards: plan.code("write_matrices.py"),
    message:
        "Release {wildcards.release}: writing the matrix of each stratum and block"
    script:
        "../scripts/write_matrices.py"


rule protect_release:
    input:
        data=lambda wildcards: f"results/data/{plan.config.release(wildcards.release).data}.parquet",
        channels=rules.design_release.output,
    output:
        parquet="results/releases/{release}/protected.parquet",
        csv="results/releases/{release}/protected.csv",
    log:
        "results/logs/protect_release/{release}.log",
    benchmark:
        "results/benchmarks/protect_release/{release}.tsv"
    wildcard_constraints:
        release=plan.names(rehearsal=True),
    params:
        release=lambda wildcards: plan.settings("releases", wildcards.release),
        seed=plan.config.seed,
        code=lambda wildcards: plan.code("protect_release.py"),
    message:
        "Release {wildcards.release}: randomizing every record"
    script:
        "../scripts/protect_release.py"


# A release from the operating system's generator is drawn once, for two draws from the same records
# tell more than one: newer inputs, code or seeds leave it alone, and its files are write-protected.
use rule protect_release as draw_release with:
    input:
        data=lambda wildcards: ancient(
            f"results/data/{plan.config.release(wildcards.release).data}.parquet"
        ),
        channels=[ancient("results/releases/{release}/channels.json")],
    output:
        parquet=protected("results/releases/{release}/protected.parquet"),
        csv=protected("results/releases/{release}/protected.csv"),
    wildcard_constraints:
        release=plan.to_draw(),
    params:
        release=lambda wildcards: plan.settings("releases", wildcards.release),
        seed=None,
        code=None,


rule estimate_release:
    input:
        protected=rules.protect_release.output.parquet,
        channels=rules.design_release.output,
    output:
        "results/releases/{release}/estimates.csv",
    log:
        "results/logs/estimate_release/{release}.log",
    benchmark:
        "results/benchmarks/estimate_release/{release}.tsv"
    wildcard_constraints:
        release=plan.names(),
    params:
        release=lambda wildcards: plan.settings("releases", wildcards.release),
        code=lambda wildcards: plan.code("estimate_release.py"),
    message:
        "Release {wildcards.release}: estimating from the protected file alone"
    script:
        "../scripts/estimate_release.py"


# What follows starts from the protected file, not from the true records: it costs no privacy.
rule adjust_release:
    input:
        protected=rules.protect_release.output.parquet,
        channels=rules.design_release.output,
        estimates=rules.estimate_release.output,
    output:
        weights="results/releases/{release}/adjusted_weights.csv",
        adjustment="results/releases/{release}/adjustment.json",
    log:
        "results/logs/adjust_release/{release}.log",
    benchmark:
        "results/benchmarks/adjust_release/{release}.tsv"
    params:
        code=lambda wildcards: plan.code("adjust_release.py"),
    message:
        "Release {wildcards.release}: weighting the protected records to the estimated margins"
    script:
        "../scripts/adjust_release.py"


# Unlike the protected file, this one may be drawn again, also when it comes from the operating
# system's generator: however many are made, all of them rest on that one draw.
rule synthesize_release:
    input:
        protected=rules.protect_release.output.parquet,
        channels=rules.design_release.output,
        estimates=rules.estimate_release.output,
        weights=rules.adjust_release.output.weights,
    output:
        parquet="results/releases/{release}/synthetic.parquet",
        csv="results/releases/{release}/synthetic.csv",
    log:
        "results/logs/synthesize_release/{release}.log",
    benchmark:
        "results/benchmarks/synthesize_release/{release}.tsv"
    params:
        release=lambda wildcards: plan.settings("releases", wildcards.release),
        synthetic=lambda wildcards: plan.config.release(wildcards.release).synthetic,
        seed=lambda wildcards: (None if plan.drawn_once(wildcards.release) else plan.config.seed),
        code=lambda wildcards: plan.code("synthesize_release.py"),
    message:
        "Release {wildcards.release}: repeating what is estimated as synthetic records"
    script:
        "../scripts/synthesize_release.py"


# A rehearsal knows the truth: how far from it are the estimates, and the files made from them?
rule check_rehearsal:
    input:
        data=lambda wildcards: f"results/data/{plan.config.release(wildcards.release).data}.parquet",
        protected=rules.protect_release.output.parquet,
        channels=rules.design_release.output,
        estimates=rules.estimate_release.output,
        weights=rules.adjust_release.output.weights,
        synthetic=rules.synthesize_release.output.parquet,
    output:
        estimates="results/releases/{release}/check.csv",
        synthetic="results/releases/{release}/synthetic_check.csv",
    log:
        "results/logs/check_rehearsal/{release}.log",
    benchmark:
        "results/benchmarks/check_rehearsal/{release}.tsv"
    wildcard_constraints:
        release=plan.names(rehearsal=True),
    params:
        seed=plan.config.seed,
        synthetic=lambda wildcards: plan.config.release(wildcards.release).synthetic,
        code=lambda wildcards: plan.code("check_rehearsal.py"),
    message:
        "Release {wildcards.release}: setting the estimates beside the truth"
    script:
        "../scripts/check_rehearsal.py"
