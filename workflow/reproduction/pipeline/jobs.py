"""Run a script of the workflow: check its inputs, keep a log, record provenance and CPU time."""

import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from deniable.files import write_json

from reproduction.pipeline.job_log import logged
from reproduction.pipeline.provenance import JobProvenance, recorded

LOGS, BENCHMARKS, CPU_SUFFIX = Path("results/logs"), Path("results/benchmarks"), ".cpu.json"


@contextmanager
def job(snakemake: Any) -> Iterator[Callable[[str], None]]:
    """Check the inputs of a script, run it, and record its outputs.

    `snakemake` is the object that Snakemake passes to scripts. Yields a function that writes a line
    to the job's log and to the screen. See `logged` for warnings and errors.
    """
    log = Path(snakemake.log[0])
    # Snakemake runs a copy: .snakemake/scripts/tmpXXXX.<script>.
    script = Path(sys.argv[0]).name.partition(".")[2]
    making = JobProvenance(
        rule=snakemake.rule,
        inputs=tuple(map(str, snakemake.input)),
        outputs=tuple(map(str, snakemake.output)),
        params=dict(snakemake.params.items()),
        config=snakemake.config,
        script=Path(snakemake.scriptdir, script),
    )
    with logged(log, snakemake.rule) as say, recorded(making):
        yield say
    if snakemake.bench_iteration is not None:
        record_cpu_seconds(BENCHMARKS / log.relative_to(LOGS).with_suffix(CPU_SUFFIX))


def record_cpu_seconds(file: Path) -> None:
    """Write the CPU seconds of this process and its ended children to a `file`.

    Snakemake's benchmark samples a job every half minute and loses the time after the last sample.
    """
    own, children = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    seconds = sum(each.ru_utime + each.ru_stime for each in (own, children))
    write_json(file, {"cpu_seconds": round(seconds, 3)})
