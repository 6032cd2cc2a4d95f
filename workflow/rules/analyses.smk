# What is worked out once: a rule for each analysis of the catalogs (papers/*/catalog).

for analysis in plan.analyses():

    rule:
        name:
            analysis.name
        input:
            data=expand("results/data/{name}.parquet", name=analysis.data),
            tables=plan.read_by(analysis),
            published=expand(plan.own("resources/published/{name}.csv"), name=analysis.published),
        output:
            *[
                (
                    report(
                        table.path,
                        caption=f"../report/{analysis.caption}.rst",
                        category="Tables",
                        labels={"table": table.id},
                    )
                    if analysis.caption
                    else table.path
                )
                for table in analysis.tables
            ],
        log:
            f"results/logs/{analysis.name}.log",
        benchmark:
            f"results/benchmarks/{analysis.name}.tsv"
        group:
            "analyses"
        resources:
            **needs(analysis),
        params:
            settings=plan.asked_of(analysis),
            seed=plan.config.seed,
            code=lambda wildcards, entry=analysis: plan.code("analyse.py", entry),
        message:
            analysis.says
        script:
            "../scripts/analyse.py"
