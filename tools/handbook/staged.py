"""The pages of the site: the guides of the repository, and a first page with the contents."""

import re
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COPIED = (
    *("docs", "config/README.md"),
    *("CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "SECURITY.md", "codecheck.yml"),
)
"""Folders and files that keep their places, because the guides link to them."""
CONTENTS = {
    "Tutorial": ("tutorial",),
    "How to protect a file": (
        "own-data",
        "production-releases",
        "estimating",
        "joint",
        "pram",
        "numbers-and-clusters",
        "rrba",
        "secure-sum",
    ),
    "How to run the pipeline": (
        "/config/README",
        "sweeps",
        "cluster",
        "elsewhere",
        "continuous-integration",
        "troubleshooting",
    ),
    "Reference": (
        "command-line",
        "options",
        "formats",
        "matrices",
        "optimized-matrices",
        "ledger",
        "results",
        "checklist",
        "timing",
        "glossary",
        "references",
    ),
    "Explanation": ("threats", "findings", "architecture"),
    "Development": ("adding-a-mechanism", "/CONTRIBUTING", "/SECURITY", "/CHANGELOG"),
}
"""The guides by heading. If one is missing here, Sphinx warns, and the build stops."""


def stage(folder: Path) -> None:
    """Copy all Markdown pages of the site into a new folder; the README is its first page."""
    for name in COPIED:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, folder / name)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (folder / "index.md").write_text(readme + "".join(_contents()), encoding="utf-8")
    for page in folder.rglob("*.md"):
        # A diagram of mermaid would need a script from another host; csv has no highlighting.
        text = re.sub("^```(mermaid|csv)$", "```text", page.read_text("utf-8"), flags=re.MULTILINE)
        page.write_text(text.replace("../README.md", "../index.md"), encoding="utf-8")


def _contents() -> list[str]:
    lists = {
        caption: [page if page.startswith("/") else f"/docs/{page}" for page in pages]
        for caption, pages in CONTENTS.items()
    }
    lists["Python"] = ["/api/index"]
    return [
        f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n" + "\n".join(pages) + "\n```\n"
        for caption, pages in lists.items()
    ]
