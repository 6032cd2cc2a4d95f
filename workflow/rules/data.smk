# Data: the published file, or records drawn from its surrogate, as categorical or numeric microdata.


rule prepare_data:
    input:
        origin=lambda wildcards: plan.origin(wildcards.dataset),
        manifest=plan.own("resources/datasets.yaml"),
    output:
        "results/data/{dataset}.parquet",
    log:
        "results/logs/prepare_data/{dataset}.log",
    benchmark:
        "results/benchmarks/prepare_data/{dataset}.tsv"
    resources:
        **needs(SECONDS),
    params:
        kind=lambda wildcards: plan.source(wildcards.dataset).kind,
        sha256=lambda wildcards: plan.source(wildcards.dataset).sha256,
        seed=plan.config.seed,
        code=lambda wildcards: plan.code("prepare_data.py"),
    message:
        "Preparing {wildcards.dataset} ({params.kind} data)"
    script:
        "../scripts/prepare_data.py"


# Not part of `all`: `make surrogates` fits anew and copies to resources/surrogates.
rule fit_surrogate:
    input:
        origin=lambda wildcards: plan.origin(wildcards.dataset),
        manifest=plan.own("resources/datasets.yaml"),
    output:
        model="results/surrogates/{dataset}.json",
        fidelity="results/surrogates/{dataset}_fidelity.csv",
    log:
        "results/logs/fit_surrogate/{dataset}.log",
    benchmark:
        "results/benchmarks/fit_surrogate/{dataset}.tsv"
    resources:
        **needs(MINUTES),
    params:
        kind=lambda wildcards: plan.source(wildcards.dataset).kind,
        sha256=lambda wildcards: plan.source(wildcards.dataset).sha256,
        seed=plan.config.seed,
        code=lambda wildcards: plan.code("fit_surrogate.py"),
    message:
        "Fitting the surrogate of {wildcards.dataset}"
    script:
        "../scripts/fit_surrogate.py"


rule fit_surrogates:
    input:
        expand("results/surrogates/{dataset}.json", dataset=plan.datasets),


rule draw_network:
    input:
        networks=expand(
            plan.own("resources/networks/{network}.json"), network=["survey", "alarm", "child"]
        ),
    output:
        "results/data/networks/{file}.parquet",
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
