# Settles everything before the graph is built: config, data sources, the arithmetic of jobs.
import os
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.settings.types import SharedFSUsage

# Of this workflow, which may be another one's module: `workflow.basedir` would be that one's.
SOURCE = Path(workflow.current_basedir.get_path_or_uri(secret_free=True)).parents[1]
# Here lies the package `reproduction`. Snakemake passes its sys.path on to scripts.
sys.path.append(str(SOURCE / "workflow"))

from deniable.errors import DeniableError
from deniable.release import LANES
from reproduction.papers import AUDITED, FIGURES, PAGES, PAPERS, STUDIES, TABLES
from reproduction.pipeline import (
    RAW,
    SOURCE_VARIABLE,
    STALE_VARIABLE,
    Plan,
    environment,
    needs,
    refuse_repeated_keys,
)
from reproduction.study import MINUTES, SECONDS

# Jobs run side by side; more threads inside one, or other kernels, change the order of floating sums.
environment.settle()
os.environ[SOURCE_VARIABLE] = str(SOURCE)
if workflow.is_main_process:
    environment.end_on_hangup()

try:
    for file in workflow.configfiles:
        refuse_repeated_keys(file)
    # A job that shares no files with the process that submits it finds nothing to recall.
    recorded = any(RAW.glob("*.source.json"))
    looking = STALE_VARIABLE in os.environ or not workflow.is_main_process
    settle = Plan.recall if recorded and looking else Plan.prepare
    plan = settle(config, SOURCE)
    # What jobs pass on through a storage would be seen there, and a folder of each job's own forgets.
    places = workflow.storage_settings
    shared = SharedFSUsage.INPUT_OUTPUT in places.shared_fs_usage
    if workflow.is_main_process and (places.default_storage_provider or not shared):
        plan.refuse_releases()
except DeniableError as error:
    raise WorkflowError(str(error)) from None


wildcard_constraints:
    dataset="|".join(plan.datasets),
    study="|".join(STUDIES),
    release="[A-Za-z0-9][A-Za-z0-9_-]*",
    chunk=r"\d+",
    chunks=r"\d+",
