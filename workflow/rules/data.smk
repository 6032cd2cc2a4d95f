# Data: published files, or records drawn from surrogates, as categorical or numeric microdata.
import re

RAW = "results/data/raw"


# The file itself is stored next to the output, which states whether it exists.
localrules:
    download,


rule download:
    input:
        manifest=plan.own("resources/datasets.yaml"),
    output:
        f"{RAW}/{{file}}{SOURCE_SUFFIX}",
    log:
        "results/logs/download/{file}.log",
    benchmark:
        "results/benchmarks/download/{file}.tsv"
    wildcard_constraints:
        file="|".join(re.escape(dataset.file) for dataset in plan.datasets.values()),
    resources:
        **needs(MINUTES),
    params:
        source=lambda wildcards: plan.download_settings(wildcards.file)["source"],
        mirror=lambda wildcards: plan.download_settings(wildcards.file)["mirror"],
        code=lambda wildcards: plan.code("download.py"),
    message:
        "Obtaining {wildcards.file}"
    script:
        "../scripts/download.py"


rule prepare:
    input:
        source=lambda wildcards: plan.source(wildcards.dataset),
        manifest=plan.own("resources/datasets.yaml"),
        surrogate=lambda wildcards: plan.own(
            f"resources/{plan.datasets[wildcards.dataset].surrogate}"
        ),
    output:
        records="results/data/{dataset}.parquet",
        schema="results/data/{dataset}.schema.yaml",
    log:
        "results/logs/prepare/{dataset}.log",
    benchmark:
        "results/benchmarks/prepare/{dataset}.tsv"
    resources:
        **needs(SECONDS),
    params:
        seed=plan.config.seed,
        code=lambda wildcards: plan.code("prepare.py"),
    message:
        "Preparing {wildcards.dataset}"
    script:
        "../scripts/prepare.py"


rule draw_network:
    input:
        networks=expand(
            plan.own("resources/networks/{network}.json"), network=["survey", "alarm", "child"]
        ),
    output:
        records="results/data/networks/{file}.parquet",
        schema="results/data/networks/{file}.schema.yaml",
    log:
        "results/logs/draw_network/{file}.log",
    benchmark:
        "results/benchmarks/draw_network/{file}.tsv"
    wildcard_constraints:
        file="[a-z0-9_]+",
    resources:
        **needs(SECONDS),
    params:
        code=lambda wildcards: plan.code("draw_network.py"),
    message:
        "Drawing {wildcards.file} from its network"
    script:
        "../scripts/draw_network.py"


# Not part of `all`: `make surrogates` fits surrogates again and copies them to resources/surrogates.
rule fit_surrogate:
    input:
        source=lambda wildcards: plan.source(wildcards.dataset),
        manifest=plan.own("resources/datasets.yaml"),
    output:
        model="results/surrogates/{dataset}.json",
    log:
        "results/logs/fit_surrogate/{dataset}.log",
    benchmark:
        "results/benchmarks/fit_surrogate/{dataset}.tsv"
    resources:
        **needs(MINUTES),
    params:
        code=lambda wildcards: plan.code("fit_surrogate.py"),
    message:
        "Fitting the surrogate of {wildcards.dataset}"
    script:
        "../scripts/fit_surrogate.py"


rule fit_surrogates:
    input:
        expand("results/surrogates/{dataset}.json", dataset=plan.datasets),
