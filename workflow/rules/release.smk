# Releases. Every lane designs, draws, estimates and checks: one rule a lane, of its files and steps
# (`deniable.release.LANES`).
from deniable.release import LANES, left_by, read_by

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
        resources:
            **needs(steps.design),
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
            resources:
                **needs(steps.draw),
            params:
                release=settings,
                step=steps.draw.run,
                seed=left(seed),
                code=left(code_of("protect_release.py", steps.draw)),
            message:
                "Release {wildcards.release}: randomizing every record"
            script:
                "../scripts/protect_release.py"

    # From here on the true records are read by checks of rehearsals alone: it costs no privacy. What
    # is made of a protected file is made in one job; each stage of a collection's is a rule.
    for stage, taken in steps.estimates.items():

        rule:
            name:
                f"{stage}_{lane}"
            input:
                in_folder(read_by(taken)),
            output:
                in_folder(left_by(taken)),
            log:
                f"results/logs/{stage}_{lane}/{{release}}.log",
            benchmark:
                f"results/benchmarks/{stage}_{lane}/{{release}}.tsv"
            wildcard_constraints:
                release=plan.names(lane),
            resources:
                **needs(*taken),
            params:
                release=settings_of_estimates,
                stage=stage,
                seed=plan.config.seed,
                code=code_of("estimate_release.py", *taken),
            message:
                f"Release {{wildcards.release}}: from what is protected alone, {stage}"
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
        resources:
            **needs(steps.check),
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
    resources:
        **needs(SECONDS),
    params:
        code=code_of("write_matrices.py"),
    message:
        "Release {wildcards.release}: writing the matrix of each stratum and block"
    script:
        "../scripts/write_matrices.py"
