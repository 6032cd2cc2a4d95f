# Releases, each in one job: its lane's steps one after the other (`deniable.release.LANES`), put into
# place when all are whole. From the draw on true records are read for the owner's eyes alone.


rule rehearse:
    input:
        unpack(made_from),
    output:
        public=directory(f"{FOLDER}/public"),
        private=directory(f"{FOLDER}/private"),
    log:
        "results/logs/rehearse/{release}.log",
    benchmark:
        "results/benchmarks/rehearse/{release}.tsv"
    wildcard_constraints:
        release=plan.names(rehearsal=True),
    resources:
        **needs(lane),
    params:
        release=settings,
        seed=plan.config.seed,
        code=code_of_release,
    message:
        "Release {wildcards.release}: a rehearsal, seeded, beside the truth"
    script:
        "../scripts/make_release.py"


# What is drawn by a key from the operating system is drawn once, and made again for no newer code,
# records or seed. Snakemake deletes outputs before a retry and carries them around: so what is released,
# and the key, are none, and it sees a receipt.
rule release:
    input:
        unpack(made_from_once),
    output:
        f"{FOLDER}/{RECEIPT}",
    log:
        "results/logs/release/{release}.log",
    benchmark:
        "results/benchmarks/release/{release}.tsv"
    wildcard_constraints:
        release=plan.names(rehearsal=False),
    resources:
        **needs(lane),
    params:
        release=settings,
        seed=None,
        code=None,
        steps=steps_of,
        place=plan.config.keys.model_dump(),
        ledger=plan.config.ledger,
    message:
        "Release {wildcards.release}: drawing, verifying and publishing it, once"
    script:
        "../scripts/make_release.py"


rule releases:
    input:
        plan.released(),
