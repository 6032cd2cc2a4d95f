# Settles everything before the graph is built: config, data sources, one thread a job.
import os

from snakemake.exceptions import WorkflowError

from deniable.config import refuse_repeated_keys
from deniable.errors import DeniableError
from deniable.plan import Plan
from deniable.studies.registry import FIGURES, STUDIES, TABLES

# Jobs run side by side, and more threads inside one would change the order of floating sums.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

try:
    for file in workflow.configfiles:
        refuse_repeated_keys(file)
    settle = Plan.prepare if workflow.is_main_process else Plan.recall
    plan = settle(config, workflow.basedir)
except DeniableError as error:
    raise WorkflowError(str(error)) from None


wildcard_constraints:
    dataset="|".join(plan.datasets),
    study="|".join(STUDIES),
    release="[A-Za-z0-9][A-Za-z0-9_-]*",
    chunk=r"\d+",
    chunks=r"\d+",
