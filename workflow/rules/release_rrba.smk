# Collections by RRBA: what is asked of whom, the answers, and what is estimated from them.


rule design_collection:
    input:
        data=lambda wildcards: (ancient if plan.drawn_once(wildcards.release) else str)(
            f"results/data/{plan.config.release(wildcards.release).data}.parquet"
        ),
    output:
        described="results/releases/{release}/release.json",
        views="results/releases/{release}/views.json",
    log:
        "results/logs/design_collection/{release}.log",
    benchmark:
        "results/benchmarks/design_collection/{release}.tsv"
    wildcard_constraints:
        release=plan.to_draw("collection", rehearsals=True),
    params:
        release=lambda wildcards: plan.settings("releases", wildcards.release),
        code=lambda wildcards: (
            "" if plan.drawn_once(wildcards.release) else plan.code("design_collection.py")
        ),
    message:
        "Release {wildcards.release}: choosing what is asked of whom"
    script:
        "../scripts/design_collection.py"


rule run_collection:
    input:
        data=lambda wildcards: f"results/data/{plan.config.release(wildcards.release).data}.parquet",
        views=[rules.design_collection.output.views],
    output:
        collection="results/releases/{release}/collection.csv",
        clients="results/releases/{release}/clients.csv",
    log:
        "results/logs/run_collection/{release}.log",
    benchmark:
        "results/benchmarks/run_collection/{release}.tsv"
    wildcard_constraints:
        release=plan.names(kind="collection", rehearsal=True),
    params:
        release=lambda wildcards: plan.settings("releases", wildcards.release),
        seed=plan.config.seed,
        code=lambda wildcards: plan.code("run_collection.py"),
    message:
        "Release {wildcards.release}: asking every client, block by block"
    script:
        "../scripts/run_collection.py"


# Drawn once, like every release that is no rehearsal; see draw_release.
use rule run_collection as draw_collection with:
    input:
        data=lambda wildcards: ancient(
            f"results/data/{plan.config.release(wildcards.release).data}.parquet"
        ),
        views=[ancient("results/releases/{release}/views.json")],
    output:
        collection=protected("results/releases/{release}/collection.csv"),
        clients=protected("results/releases/{release}/clients.csv"),
    wildcard_constraints:
        release=plan.to_draw("collection"),
    params:
        release=lambda wildcards: plan.settings("releases", wildcards.release),
        seed=None,
        code=None,


# What follows starts from the answers, not from the true records: it costs no privacy.
rule estimate_collection:
    input:
        collection=rules.run_collection.output.collection,
        views=rules.design_collection.output.views,
        described=rules.design_collection.output.described,
    output:
        "results/releases/{release}/tables.csv",
    log:
        "results/logs/estimate_collection/{release}.log",
    benchmark:
        "results/benchmarks/estimate_collection/{release}.tsv"
    wildcard_constraints:
        release=plan.names(kind="collection"),
    params:
        code=lambda wildcards: plan.code("estimate_collection.py"),
    message:
        "Release {wildcards.release}: estimating each table from all blocks"
    script:
        "../scripts/estimate_collection.py"


rule reconcile_collection:
    input:
        tables=rules.estimate_collection.output[0],
        views=rules.design_collection.output.views,
    output:
        consistent="results/releases/{release}/consistent.csv",
        margins="results/releases/{release}/margins.csv",
    log:
        "results/logs/reconcile_collection/{release}.log",
    benchmark:
        "results/benchmarks/reconcile_collection/{release}.tsv"
    wildcard_constraints:
        release=plan.names(kind="collection"),
    params:
        code=lambda wildcards: plan.code("reconcile_collection.py"),
    message:
        "Release {wildcards.release}: making tables agree on shared margins"
    script:
        "../scripts/reconcile_collection.py"


rule fit_collection:
    input:
        tables=rules.estimate_collection.output[0],
        views=rules.design_collection.output.views,
    output:
        "results/releases/{release}/two_step.csv",
    log:
        "results/logs/fit_collection/{release}.log",
    benchmark:
        "results/benchmarks/fit_collection/{release}.tsv"
    wildcard_constraints:
        release=plan.names(kind="collection"),
    params:
        code=lambda wildcards: plan.code("fit_collection.py"),
    message:
        "Release {wildcards.release}: fitting independence in two steps"
    script:
        "../scripts/fit_collection.py"


# Seeded in every release: Monte Carlo tables are drawn from what is estimated, and protect nobody.
rule examine_collection:
    input:
        collection=rules.run_collection.output.collection,
        views=rules.design_collection.output.views,
    output:
        "results/releases/{release}/independence.csv",
    log:
        "results/logs/examine_collection/{release}.log",
    benchmark:
        "results/benchmarks/examine_collection/{release}.tsv"
    wildcard_constraints:
        release=plan.names(kind="collection"),
    params:
        seed=plan.config.seed,
        code=lambda wildcards: plan.code("examine_collection.py"),
    message:
        "Release {wildcards.release}: testing each table for independence"
    script:
        "../scripts/examine_collection.py"


# A rehearsal knows the truth: how far from it are the tables, and was it decided rightly?
rule check_collection:
    input:
        data=lambda wildcards: f"results/data/{plan.config.release(wildcards.release).data}.parquet",
        network=lambda wildcards: plan.network_of(wildcards.release),
        views=rules.design_collection.output.views,
        tables=rules.estimate_collection.output[0],
        consistent=rules.reconcile_collection.output.consistent,
        fitted=rules.fit_collection.output[0],
        tests=rules.examine_collection.output[0],
    output:
        "results/releases/{release}/check.csv",
    log:
        "results/logs/check_collection/{release}.log",
    benchmark:
        "results/benchmarks/check_collection/{release}.tsv"
    wildcard_constraints:
        release=plan.names(kind="collection", rehearsal=True),
    params:
        code=lambda wildcards: plan.code("check_collection.py"),
    message:
        "Release {wildcards.release}: setting tables and tests beside the truth"
    script:
        "../scripts/check_collection.py"
