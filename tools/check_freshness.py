"""Which results a run would make again, with the reasons. Part of ``make check``."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from deniable.errors import DeniableError

from reproduction.pipeline import STALE_VARIABLE


def not_current(configfile: Path) -> dict[str, list[str]]:
    """Return the results that are not what a run with that config would make, with the reasons.

    They are those of `reproduction.pipeline.stale`: Snakemake, which knows what each job is asked,
    hands them over. Nothing is obtained, moved or made.

    Raises
    ------
    DeniableError
        With what Snakemake says, if it does not.
    """
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder) / "stale.json"
        command = [sys.executable, "-m", "snakemake", "-n", "--nolock", "--quiet", "all"]
        command += ["--configfile", str(configfile)]
        environment = os.environ | {STALE_VARIABLE: str(found)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode or not found.exists():
            raise DeniableError(f"Snakemake cannot plan a run:\n{done.stdout}{done.stderr}")
        stale: dict[str, list[str]] = json.loads(found.read_text(encoding="utf-8"))
        return stale
