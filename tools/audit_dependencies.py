"""Report the known vulnerabilities of all packages in the locks. Called by make.

The exit code is 1 if there are any, or if pip-audit fails. Without a network the check is SKIPPED,
with exit code 0. Arguments are options of pip-audit (``--ignore-vuln ID``).
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ["requirements.lock", "requirements-build.lock", "requirements-dev.lock"]
# Messages without a connection: of pip-audit itself, or exceptions of requests.
UNREACHED = [
    "Could not connect to",
    "requests.exceptions.ConnectionError",
    "requests.exceptions.ConnectTimeout",
    "requests.exceptions.ProxyError",
    "requests.exceptions.ReadTimeout",
]


def ask(lock: str, options: list[str]) -> tuple[list[dict[str, Any]] | None, str]:
    """Return pip-audit's findings for each package of a lock (None if it failed), its messages."""
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
    """Return one line per vulnerability, and the number of packages unknown to the service."""
    lines = []
    for package in packages:
        for fault in package.get("vulns", []):
            names = ", ".join([fault["id"], *fault.get("aliases", [])])
            fixed = ", ".join(fault["fix_versions"]) or "no version yet"
            what = f"{package['name']} {package['version']}"
            lines.append(f"{lock}: {what}: {names}; fixed in {fixed}")
    return lines, sum("skip_reason" in package for package in packages)


def main(options: list[str]) -> int:
    """Check each lock and print the vulnerabilities."""
    lines: list[str] = []
    asked = unknown = 0
    for lock in LOCKS:
        packages, said = ask(lock, options)
        if packages is None:
            if any(text in said for text in UNREACHED):
                print("audit-dependencies: SKIPPED, the vulnerability service cannot be reached")
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
    few = f", {unknown} of them unknown to the service" if unknown else ""
    print(f"audit-dependencies: {len(lines)} known vulnerabilities in {asked} packages{few}")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
