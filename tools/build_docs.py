"""Build the documentation as a site into a folder. Called by ``make docs``.

Warnings, broken links and requests to other hosts are errors. The site is built in a temporary
folder and replaces the former one only without errors.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from sphinx.cmd.build import build_main

from handbook import figures
from handbook.links import faults
from handbook.reference import write_reference
from handbook.staged import ROOT, stage


def build(site: Path) -> int:
    """Build the site, with the figures of the guides; return an exit code."""
    figures.save(ROOT / "docs" / "figures")
    site.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=site.parent) as temporary:
        source, made = Path(temporary, "source"), Path(temporary, "site")
        stage(source)
        write_reference(source / "api")
        settings = str(ROOT / "tools" / "handbook")
        options = ["-q", "-W", "--keep-going", "-c", settings, "-d", str(Path(temporary, "trees"))]
        code = build_main([*options, str(source), str(made)])
        if code == 0 and (wrong := faults(made)):
            print("\n".join(wrong), file=sys.stderr)
            code = 1
        if code == 0:
            shutil.rmtree(site, ignore_errors=True)
            made.replace(site)
    return code


if __name__ == "__main__":
    sys.exit(build(Path(sys.argv[1])))
