# Releases. Every lane has the steps design, draw, estimate and check: one rule a lane, of its files
# (`deniable.release.LANES`) and scripts. What is made of the estimates differs, and follows below.
from deniable.release import LANES

for lane, steps in LANES.items():

    rule:
        name:
            f"design_{lane}"
        input:
            data=files_left(plan.true_records),
            matrices=files_left(plan.matrix_files),
            manifest=files_left(plan.bounds_files),
        output:
            in_folder(steps.design.leaves),
        log:
            f"results/logs/design_{lane}/{{release}}.log",
        benchmark:
            f"results/benchmarks/design_{lane}/{{release}}.tsv"
        wildcard_constraints:
            release=plan.to_design(lane),
        params:
            release=settings,
            step=steps.design.run,
            seed=left(seed),
            code=left(code_of("design_release.py", steps.design)),
        message:
            "Release {wildcards.release}: choosing what its records go through"
        script:
            "../scripts/design_release.py"

    # A release from the operating system's generator is drawn once, for two draws from the same
    # records tell more than one: by a rule of its own, and into files that are write-protected.
    for name, flag, names in (
        ("protect", str, plan.names(lane, rehearsal=True)),
        ("draw", protected, plan.to_draw(lane)),
    ):

        rule:
            name:
                f"{name}_{lane}"
            input:
                data=files_left(plan.true_records),
                design=files_left(plan.design_of),
            output:
                list(map(flag, in_folder(steps.draw.leaves))),
            log:
                f"results/logs/{name}_{lane}/{{release}}.log",
            benchmark:
                f"results/benchmarks/{name}_{lane}/{{release}}.tsv"
            wildcard_constraints:
                release=names,
            params:
                release=settings,
                step=steps.draw.run,
                seed=left(seed),
                code=left(code_of("protect_release.py", steps.draw)),
            message:
                "Release {wildcards.release}: randomizing every record"
            script:
                "../scripts/protect_release.py"

    # From here on the true records are read by checks of rehearsals alone: it costs no privacy.
    rule:
        name:
            f"estimate_{lane}"
        input:
            in_folder(steps.estimate.reads),
        output:
            in_folder(steps.estimate.leaves),
        log:
            f"results/logs/estimate_{lane}/{{release}}.log",
        benchmark:
            f"results/benchmarks/estimate_{lane}/{{release}}.tsv"
        wildcard_constraints:
            release=plan.names(lane),
        params:
            release=settings,
            code=code_of("estimate_release.py", steps.estimate),
        message:
            "Release {wildcards.release}: estimating from what is protected alone"
        script:
            "../scripts/estimate_release.py"

    # A rehearsal knows the truth: how far from it is what was estimated, and what is made of that?
    rule:
        name:
            f"check_{lane}"
        input:
            data=lambda wildcards: plan.true_records(wildcards.release),
            made=in_folder(steps.check.reads),
            network=lambda wildcards: plan.network_of(wildcards.release),
        output:
            in_folder(steps.check.leaves),
        log:
            f"results/logs/check_{lane}/{{release}}.log",
        benchmark:
            f"results/benchmarks/check_{lane}/{{release}}.tsv"
        wildcard_constraints:
            release=plan.names(lane, rehearsal=True),
        params:
            release=settings,
            seed=plan.config.seed,
            code=code_of("check_rehearsal.py", steps.check),
        message:
            "Release {wildcards.release}: setting what was estimated beside the truth"
        script:
            "../scripts/check_rehearsal.py"


# PRAM's matrices, from the file that the draw reads them from: all in one table, and one by one in
# the form that `deniable channel` takes.
rule write_matrices:
    input:
        in_folder(["channels.json"]),
    output:
        table=f"{FOLDER}/matrices.csv",
        folder=directory(f"{FOLDER}/matrices"),
    log:
        "results/logs/write_matrices/{release}.log",
    benchmark:
        "results/benchmarks/write_matrices/{release}.tsv"
    params:
        code=code_of("write_matrices.py"),
    message:
        "Release {wildcards.release}: writing the matrix of each stratum and block"
    script:
        "../scripts/write_matrices.py"


rule adjust_release:
    input:
        in_folder(["channels.json", "protected.parquet", "estimates.csv"]),
    output:
        weights=f"{FOLDER}/adjusted_weights.csv",
        adjustment=f"{FOLDER}/adjustment.json",
    log:
        "results/logs/adjust_release/{release}.log",
    benchmark:
        "results/benchmarks/adjust_release/{release}.tsv"
    params:
        code=code_of("adjust_release.py"),
    message:
        "Release {wildcards.release}: weighting the protected records to the estimated margins"
    script:
        "../scripts/adjust_release.py"


# Unlike the protected file, this one may be drawn again, also when it comes from the operating
# system's generator: however many are made, all of them rest on that one draw.
rule synthesize_release:
    input:
        in_folder(["channels.json", "protected.parquet", "estimates.csv", "adjusted_weights.csv"]),
    output:
        parquet=f"{FOLDER}/synthetic.parquet",
        csv=f"{FOLDER}/synthetic.csv",
    log:
        "results/logs/synthesize_release/{release}.log",
    benchmark:
        "results/benchmarks/synthesize_release/{release}.tsv"
    params:
        release=settings,
        synthetic=lambda wildcards: plan.config.release(wildcards.release).synthetic,
        seed=left(seed),
        code=code_of("synthesize_release.py"),
    message:
        "Release {wildcards.release}: repeating what is estimated as synthetic records"
    script:
        "../scripts/synthesize_release.py"


rule reconcile_collection:
    input:
        in_folder(["views.json", "tables.csv"]),
    output:
        consistent=f"{FOLDER}/consistent.csv",
        margins=f"{FOLDER}/margins.csv",
    log:
        "results/logs/reconcile_collection/{release}.log",
    benchmark:
        "results/benchmarks/reconcile_collection/{release}.tsv"
    params:
        code=code_of("reconcile_collection.py"),
    message:
        "Release {wildcards.release}: making tables agree on shared margins"
    script:
        "../scripts/reconcile_collection.py"


rule fit_collection:
    input:
        in_folder(["views.json", "tables.csv"]),
    output:
        f"{FOLDER}/two_step.csv",
    log:
        "results/logs/fit_collection/{release}.log",
    benchmark:
        "results/benchmarks/fit_collection/{release}.tsv"
    params:
        code=code_of("fit_collection.py"),
    message:
        "Release {wildcards.release}: fitting independence in two steps"
    script:
        "../scripts/fit_collection.py"


# Seeded in every release: Monte Carlo tables are drawn from what is estimated, and protect nobody.
rule examine_collection:
    input:
        in_folder(["views.json", "collection.csv"]),
    output:
        f"{FOLDER}/independence.csv",
    log:
        "results/logs/examine_collection/{release}.log",
    benchmark:
        "results/benchmarks/examine_collection/{release}.tsv"
    params:
        seed=plan.config.seed,
        code=code_of("examine_collection.py"),
    message:
        "Release {wildcards.release}: testing each table for independence"
    script:
        "../scripts/examine_collection.py"
