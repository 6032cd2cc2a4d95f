"""Versions of the library, Python and the packages that a result depends on."""

import platform
from collections.abc import Iterable
from importlib import metadata

import deniable

COMPUTING_PACKAGES = (
    *("clarabel", "cvxpy", "highspy", "matplotlib", "numba", "numpy", "pandas", "pyarrow"),
    *("rdata", "scikit-learn", "scipy"),
)
REPORTED_PACKAGES = ("numpy", "scipy", "pandas", "pyarrow", "matplotlib", "snakemake", "pydantic")
RECORDED_PACKAGES = (*COMPUTING_PACKAGES, "pydantic", "snakemake")


def installed(packages: Iterable[str]) -> dict[str, str]:
    """Return the version of each of the `packages`, or "not installed"."""
    found = {}
    for name in packages:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def versions() -> dict[str, str]:
    """Return the versions in the provenance metadata of a result."""
    own = {"deniable": deniable.__version__, "python": platform.python_version()}
    return own | installed(RECORDED_PACKAGES)
