# Shared by all rules: the checked config, and functions of wildcards.
import os
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.settings.types import SharedFSUsage

# The folder of this workflow. `workflow.basedir` would be that of a workflow whose module this one is.
SOURCE = Path(workflow.current_basedir.get_path_or_uri(secret_free=True)).parents[1]
# It holds the package `reproduction`. Snakemake passes its sys.path on to scripts.
sys.path.append(str(SOURCE / "workflow"))

from deniable.errors import DeniableError
from deniable.release import LANES, RECEIPT
from reproduction.papers import AUDITED, FIGURES, PAGES, PAPERS, STUDIES, TABLES
from reproduction.pipeline import (
    MIRROR_VARIABLE,
    SOURCE_SUFFIX,
    SOURCE_VARIABLE,
    Plan,
    environment,
    needs,
    refuse_repeated_keys,
)
from reproduction.study import MINUTES, SECONDS

FOLDER = "results/releases/{release}"

# One thread and the same kernels in every job: the order of floating-point sums changes their last bits.
environment.settle()
os.environ[SOURCE_VARIABLE] = str(SOURCE)

try:
    if workflow.is_main_process:
        environment.end_on_hangup()
        for file in workflow.configfiles:
            refuse_repeated_keys(file)
        plan = Plan.prepare(config, SOURCE)
        # Jobs that share no folder would pass releases on through a storage.
        places = workflow.storage_settings
        shared = SharedFSUsage.INPUT_OUTPUT in places.shared_fs_usage
        if places.default_storage_provider or not shared:
            plan.refuse_releases()
    else:
        plan = Plan.recall(config, SOURCE)
except DeniableError as error:
    raise WorkflowError(str(error)) from None

# For `download`. No parameter holds the address of the mirror, so that a changed one starts no job.
if plan.mirror:
    os.environ[MIRROR_VARIABLE] = str(plan.mirror)


wildcard_constraints:
    dataset="|".join(plan.datasets),
    study="|".join(STUDIES),
    release="[A-Za-z0-9][A-Za-z0-9_-]*",
    chunk=r"\d+",
    chunks=r"\d+",


def made_from(wildcards):
    return plan.made_from(wildcards.release)


# A release that is made once is not made again for newer files. A missing one has its files as they
# are: Snakemake 9.27 omits a job if all files that a run makes for it are `ancient`.
def made_from_once(wildcards):
    made = made_from(wildcards)
    if not Path(FOLDER.format(release=wildcards.release), RECEIPT).exists():
        return made
    return {name: [ancient(file) for file in files] for name, files in made.items()}


def lane(wildcards):
    return plan.lane(wildcards.release)


def steps_of(wildcards):
    return [step.run for step in plan.steps(wildcards.release)]


def code_of_release(wildcards):
    return plan.code("make_release.py", plan.steps(wildcards.release))


def settings(wildcards):
    return plan.settings("releases", wildcards.release)


# Of a test release Snakemake sees the public folder, of a production release a receipt alone.
def released_by(wildcards):
    folder = Path(FOLDER.format(release=wildcards.release))
    test = plan.config.release(wildcards.release).rehearsal
    return folder / "public" if test else folder / RECEIPT


def tables_of(wildcards):
    return getattr(plan.config.release(wildcards.release), "tables", None)


def records_of(wildcards):
    made = plan.made_from(wildcards.release)
    return (made["data"] or made["own"])[0]
