"""Run ``snakemake --lint`` and accept one kind of its messages, openly.

Snakemake requires a conda environment or a container per rule. Here all rules share one locked
environment, which make builds before Snakemake starts. Any other message, and any failure to read
the workflow, is printed and is an error.
"""

import re
import subprocess
import sys

FORGIVEN = "Specify a conda environment or container for each rule."
# A message starts with its title on a line of its own, and ends before the next message or item.
FINDING = re.compile(r"^    \* (?P<title>.*):\n(?:(?!    \* |Lints for ).*\n?)*", re.MULTILINE)


def sort_findings(output: str) -> tuple[list[str], int]:
    """Return the messages to resolve, each with its heading, and the number of accepted ones."""
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
    print(f"workflow: no errors; accepted {forgiven} times: {FORGIVEN}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
