"""Ask for known vulnerabilities of every package that the locks pin. Called by make.

Exit 1 if there are any, or if pip-audit fails. Without a network nothing can be told: then it says
SKIPPED, and exits 0. Arguments are pip-audit's (``--ignore-vuln ID``).
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ["requirements.lock", "requirements-build.lock", "requirements-dev.lock"]
# What pip-audit says where it reached nobody: its own message, or an exception of requests.
UNREACHED = [
    "Could not connect to",
    "requests.exceptions.ConnectionError",
    "requests.exceptions.ConnectTimeout",
    "requests.exceptions.ProxyError",
    "requests.exceptions.ReadTimeout",
]


def ask(lock: str, options: list[str]) -> tuple[list[dict[str, Any]] | None, str]:
    """What pip-audit found of each package of a lock, None if it came to no end; its words."""
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder, "found.json")
        command = [sys.executable, "-m", "pip_audit", "--disable-pip", "--require-hashes"]
        command += ["--progress-spinner=off", "--format=json", f"--output={found}"]
        command += [f"--requirement={ROOT / lock}", *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if not found.exists():
            return None, done.stderr
        return json.loads(found.read_text(encoding="utf-8"))["dependencies"], done.stderr


def told(lock: str, packages: list[dict[str, Any]]) -> tuple[list[str], int]:
    """A line for each vulnerability, and how many packages the service knew nothing of."""
    lines = []
    for package in packages:
        for fault in package.get("vulns", []):
            names = ", ".join([fault["id"], *fault.get("aliases", [])])
            fixed = ", ".join(fault["fix_versions"]) or "no version yet"
            what = f"{package['name']} {package['version']}"
            lines.append(f"{lock}: {what}: {names}; fixed in {fixed}")
    return lines, sum("skip_reason" in package for package in packages)


def main(options: list[str]) -> int:
    """Ask for each lock, print what there is."""
    lines: list[str] = []
    asked = unknown = 0
    for lock in LOCKS:
        packages, said = ask(lock, options)
        if packages is None:
            if any(text in said for text in UNREACHED):
                print("audit-dependencies: SKIPPED, the service of vulnerabilities is out of reach")
                return 0
            print(f"{said}audit-dependencies: pip-audit failed on {lock}", file=sys.stderr)
            return 1
        found, missing = told(lock, packages)
        lines += found
        asked += len(packages)
        unknown += missing
    if unknown == asked:
        print(f"audit-dependencies: SKIPPED, the service knows none of the {asked} packages")
        return 0
    for line in lines:
        print(line)
    few = f", {unknown} of which the service does not know" if unknown else ""
    print(f"audit-dependencies: {len(lines)} known vulnerabilities in {asked} packages{few}")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
