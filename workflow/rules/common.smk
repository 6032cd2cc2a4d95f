# Common parts of all rules: the checked config, and functions of wildcards.
import os
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.settings.types import SharedFSUsage

# The folder of this workflow. If another workflow uses it as a module, `workflow.basedir` is the other one's.
SOURCE = Path(workflow.current_basedir.get_path_or_uri(secret_free=True)).parents[1]
# The package `reproduction` is there. Snakemake passes its sys.path to scripts.
sys.path.append(str(SOURCE / "workflow"))

from deniable.errors import DeniableError
from deniable.release import RECEIPT
from reproduction.papers import AUDITED, FIGURES, PAGES, PAPERS, STUDIES, TABLES
from reproduction.pipeline import (
    MINUTES,
    MIRROR_VARIABLE,
    SECONDS,
    SIMULATION,
    SOURCE_SUFFIX,
    SOURCE_VARIABLE,
    RunPlan,
    environment,
    needs,
    refuse_repeated_keys,
)

FOLDER = "results/releases/{release}"

# Every job has one thread and the same kernels, because the order of sums changes their last bits.
os.environ.update(environment.settings())
os.environ[SOURCE_VARIABLE] = str(SOURCE)

try:
    if workflow.is_main_process:
        environment.end_on_hangup()
        for file in workflow.configfiles:
            refuse_repeated_keys(file)
        plan = RunPlan.prepare(config, SOURCE)
        # Without a shared folder, jobs would copy releases to a storage.
        places = workflow.storage_settings
        shared = SharedFSUsage.INPUT_OUTPUT in places.shared_fs_usage
        if places.default_storage_provider or not shared:
            plan.releases.refuse_production()
    else:
        plan = RunPlan.recall(config, SOURCE)
except DeniableError as error:
    raise WorkflowError(str(error)) from None

# For `download`. The address of the mirror is not a parameter, so a changed address starts no job.
if plan.mirror:
    os.environ[MIRROR_VARIABLE] = str(plan.mirror)


wildcard_constraints:
    dataset="|".join(plan.datasets),
    study="|".join(STUDIES),
    release="[A-Za-z0-9][A-Za-z0-9_-]*",
    chunk=r"\d+",
    chunks=r"\d+",


def released_by(wildcards):
    return plan.releases.made(wildcards.release)


def all_made(wildcards):
    return plan.releases.all_made()


def settings(wildcards):
    return plan.settings("releases", wildcards.release)


def tables_of(wildcards):
    return plan.releases[wildcards.release].tables


def item_sets_of(wildcards):
    return plan.settings("releases", wildcards.release)["item_sets"]


def records_of(wildcards):
    return plan.releases.records(wildcards.release)
