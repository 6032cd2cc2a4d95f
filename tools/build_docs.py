"""Build the documentation as a site into a folder. Called by ``make docs``; a warning is an error.

The site is made beside its place and put there whole.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

from sphinx.cmd.build import build_main

from handbook.reference import write_reference
from handbook.staged import ROOT, stage


def build(site: Path) -> int:
    """Make the site anew; return Sphinx's exit code, of which 0 alone leaves a site."""
    site.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=site.parent) as temporary:
        source, made = Path(temporary, "source"), Path(temporary, "site")
        stage(source)
        write_reference(source / "api")
        settings = str(ROOT / "tools" / "handbook")
        options = ["-q", "-W", "--keep-going", "-c", settings, "-d", str(Path(temporary, "trees"))]
        code = build_main([*options, str(source), str(made)])
        if code == 0:
            shutil.rmtree(site, ignore_errors=True)
            os.replace(made, site)
    return code


if __name__ == "__main__":
    sys.exit(build(Path(sys.argv[1])))
