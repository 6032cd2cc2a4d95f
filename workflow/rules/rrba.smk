# Randomized response block aggregation beside its simulations: files, epsilons, claims in words.


rule draw_network:
    input:
        networks=expand("resources/networks/{network}.json", network=["survey", "alarm", "child"]),
    output:
        "results/data/networks/{file}.parquet",
    log:
        "results/logs/draw_network/{file}.log",
    benchmark:
        "results/benchmarks/draw_network/{file}.tsv"
    wildcard_constraints:
        file="[a-z0-9_]+",
    params:
        code=lambda wildcards: plan.code("draw_network.py"),
    message:
        "Drawing {wildcards.file} from its network"
    script:
        "../scripts/draw_network.py"


rule price_answers:
    input:
        data=expand("results/data/networks/{file}.parquet", file=["survey", "alarm", "child"]),
    output:
        epsilon="results/tables/rrba_epsilon.csv",
        figure_4="results/tables/rrba_fig4.csv",
    log:
        "results/logs/price_answers.log",
    benchmark:
        "results/benchmarks/price_answers.tsv"
    params:
        settings=plan.config.analyses.rrba_epsilon.model_dump(),
        code=lambda wildcards: plan.code("price_answers.py"),
    message:
        "Holding Theorem 4.1 against the exact epsilons of answers"
    script:
        "../scripts/price_answers.py"


rule work_cases:
    input:
        data="results/data/networks/survey.parquet",
    output:
        examples="results/tables/rrba_examples.csv",
        consistency="results/tables/rrba_consistency.csv",
    log:
        "results/logs/work_cases.log",
    benchmark:
        "results/benchmarks/work_cases.tsv"
    params:
        seed=plan.config.seed,
        code=lambda wildcards: plan.code("work_cases.py"),
    message:
        "Working the examples of [rrba], and making tables agree"
    script:
        "../scripts/work_cases.py"


rule spread_distances:
    input:
        data=expand("results/data/{name}.parquet", name=STUDIES["rrba_tables"].datasets),
        published=["resources/published/rrba_table4.csv", "resources/published/rrba_table5.csv"],
    output:
        "results/tables/rrba_fig7.csv",
    log:
        "results/logs/spread_distances.log",
    benchmark:
        "results/benchmarks/spread_distances.tsv"
    params:
        study=plan.settings("studies", "rrba_tables"),
        seed=plan.config.seed,
        code=lambda wildcards: plan.code("spread_distances.py"),
    message:
        "Figure 7: the trials behind Tables 4 and 5"
    script:
        "../scripts/spread_distances.py"


rule decide_block_claims:
    input:
        distances=["results/tables/rrba_table4.csv", "results/tables/rrba_table5.csv"],
        equal="results/tables/rrba_equal.csv",
        figure_5="results/tables/rrba_fig5.csv",
        figure_6="results/tables/rrba_fig6.csv",
        table_3="results/tables/rrba_table3.csv",
        power="results/tables/rrba_power.csv",
    output:
        "results/tables/rrba_claims.csv",
    log:
        "results/logs/decide_block_claims.log",
    benchmark:
        "results/benchmarks/decide_block_claims.tsv"
    params:
        code=lambda wildcards: plan.code("decide_block_claims.py"),
    message:
        "Deciding what [rrba] claims in words"
    script:
        "../scripts/decide_block_claims.py"
