# Results that were made of other settings, code, inputs or data than a run has now are made again. The
# records beside them say so, not Snakemake's own, which need not be there, and not times of files.
import json
import os
import sys
from itertools import chain
from pathlib import Path

from snakemake.io import Mtime

from reproduction.pipeline import STALE_VARIABLE, Asked, set_aside, stale, summary

not_current = {}
build_dag = workflow._build_dag
NO_TIME = Mtime(local=0)


# Between the building of the graph, which knows all jobs with what they are asked, and the choice of
# those that run: there Snakemake looks for what was left incomplete, and lets no workflow in.
def build_dag_of_what_is_current():
    check_incomplete = workflow.dag.check_incomplete

    async def check_current():
        await check_incomplete()
        # What lies in a bucket has no records beside it: there Snakemake decides.
        # Nor have results of another workflow's own rules, whose module this one is.
        own = [job for job in workflow.dag.jobs if Path(job.rule.snakefile).is_relative_to(SOURCE)]
        here = [job for job in own if not any(file.is_storage for file in job.output)]
        jobs = [job for job in here if job.output]
        not_current.update(stale(asked(job) for job in jobs))
        workflow.dag.forcefiles.update(not_current)
        # Snakemake 9.27 compares times whatever its `rerun-triggers` are.
        files = chain.from_iterable(chain(job.input, job.output) for job in jobs)
        workflow.iocache.mtime.update((file, NO_TIME) for file in files)
        if not_current:
            print(summary(not_current), file=sys.stderr)
        if STALE_VARIABLE in os.environ:
            Path(os.environ[STALE_VARIABLE]).write_text(json.dumps(not_current), encoding="utf-8")

    workflow.dag.check_incomplete = check_current
    build_dag()
    workflow.iocache.mtime.clear()


def asked(job):
    return Asked(tuple(map(str, job.output)), tuple(map(str, job.input)), dict(job.params.items()))


if workflow.is_main_process:
    workflow._build_dag = build_dag_of_what_is_current


# Under the lock, and not in a dry run. Where a job before them fails, nothing stale is left in place.
onstart:
    if not_current and not workflow.touch:
        replaced = [file for job in workflow.dag.needrun_jobs() for file in job.output]
        set_aside(file for file in replaced if file in not_current)
