"""Run ``snakemake --lint`` and forgive one of its findings, openly.

Snakemake wants a conda environment or a container for each rule. Here all rules share one locked
environment, which make builds before Snakemake starts. Any other finding, and any failure to read
the workflow, is printed and fails.
"""

import re
import subprocess
import sys

FORGIVEN = "Specify a conda environment or container for each rule."
# A finding starts with its title on a line of its own and ends before the next, or the next item.
FINDING = re.compile(r"^    \* (?P<title>.*):\n(?:(?!    \* |Lints for ).*\n?)*", re.MULTILINE)


def sort_findings(output: str) -> tuple[list[str], int]:
    """Return the findings to mend, each under what it is about, and how many were forgiven."""
    kept, forgiven = [], 0
    for item in re.split(r"^(?=Lints for )", output, flags=re.MULTILINE)[1:]:
        heading = item.splitlines()[0]
        for finding in FINDING.finditer(item):
            if finding["title"] == FORGIVEN:
                forgiven += 1
            else:
                kept.append(f"{heading}\n{finding[0].rstrip()}")
    return kept, forgiven


def main() -> int:
    """Lint the workflow of the current directory."""
    command = [sys.executable, "-m", "snakemake", "--lint"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    output = done.stdout + done.stderr
    kept, forgiven = sort_findings(output)
    if done.returncode and not kept and not forgiven:
        print(output, file=sys.stderr)
        return 1
    if kept:
        print("\n\n".join(kept), file=sys.stderr)
        return 1
    print(f"workflow: no findings; forgiven {forgiven} times: {FORGIVEN}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
