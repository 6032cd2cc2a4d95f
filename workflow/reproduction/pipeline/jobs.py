"""What every script of the workflow shares: checked inputs, a log, provenance, clear messages."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from reproduction.pipeline.job_log import logged
from reproduction.pipeline.provenance import Making, recorded


@contextmanager
def job(snakemake: Any) -> Iterator[None]:
    """Run a script between the check of its inputs and the record of its outputs.

    Warnings go to the job's log; errors that a user can mend become one message.
    """
    with logged(Path(snakemake.log[0]), snakemake.rule), recorded(_making(snakemake)):
        yield
    # All is written and recorded. To take libraries apart module by module is a quarter of the CPU
    # time of a job of half a second, of which a run has two hundred.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _making(snakemake: Any) -> Making:
    # Snakemake runs a copy: .snakemake/scripts/tmpXXXX.<script>.
    script = Path(sys.argv[0]).name.partition(".")[2]
    return Making(
        rule=snakemake.rule,
        inputs=tuple(map(str, snakemake.input)),
        outputs=tuple(map(str, snakemake.output)),
        params=dict(snakemake.params.items()),
        config=snakemake.config,
        script=Path(snakemake.scriptdir, script),
    )
