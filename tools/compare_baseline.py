"""Compare the last quick run with the committed baseline, or make it the baseline.

``make compare`` writes results/comparison.md and exits with code 1 if the run does not reproduce
tests/baseline. ``make baseline`` (with ``--write``) writes tests/baseline.
"""

import argparse
import sys
from pathlib import Path

from baseline import kept as baseline
from baseline.comparison import compare
from baseline.told import markdown, summary
from deniable.errors import DeniableError
from deniable.files import write_text
from workflow_config import read_config

RESULTS = Path("results")
BASELINE = Path("tests/baseline")
REPORT = RESULTS / "comparison.md"
QUICK = Path("config/quick.yaml")


def main() -> int:
    """Write the baseline or compare with it; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="make the last run the baseline")
    wanted = parser.parse_args()
    try:
        run = baseline.of_run(RESULTS, read_config(QUICK))
        if wanted.write:
            files = baseline.write(run, BASELINE)
            size = sum(file.stat().st_size for file in files)
            print(f"{BASELINE}: {len(files)} files, {size / 1000:,.0f} kB")
            return 0
        found = compare(baseline.read(BASELINE, run), run)
    except DeniableError as error:
        print(error, file=sys.stderr)
        return 2
    write_text(REPORT, markdown(found))
    print(f"{REPORT}: {summary(found)}")
    return int(found.fails)


if __name__ == "__main__":
    sys.exit(main())
