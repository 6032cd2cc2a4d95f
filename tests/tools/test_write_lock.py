"""How one resolution is shared out over the locks."""

import pytest

from write_lock import entries, parts, pins

NUMPY = "numpy==2.4.6 \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\n"
COLORAMA = "colorama==0.4.6 ; sys_platform == 'win32' \\\n    --hash=sha256:cc\n"
COLORAMA_ANYWHERE = "colorama==0.4.6 \\\n    --hash=sha256:cc\n"
HATCHLING = "hatchling==1.33.0 \\\n    --hash=sha256:dd\n"
PYTEST = "pytest==9.2.0 \\\n    --hash=sha256:ee\n"


def test_entries_are_requirements_with_their_hashes() -> None:
    assert entries("# words\n" + NUMPY + COLORAMA) == [NUMPY, COLORAMA]
    assert pins([NUMPY, COLORAMA]) == {"numpy==2.4.6", "colorama==0.4.6"}


def test_a_package_stands_where_it_is_first_needed() -> None:
    everything = COLORAMA + HATCHLING + NUMPY + PYTEST
    needed = {"run": COLORAMA + NUMPY, "build": HATCHLING + NUMPY, "dev": everything}
    assert parts(everything, needed) == {
        "run": [COLORAMA, NUMPY],
        "build": [HATCHLING],
        "dev": [PYTEST],
    }


def test_a_package_that_tools_need_on_more_systems_stands_in_their_lock_too() -> None:
    everything = COLORAMA_ANYWHERE + NUMPY
    found = parts(everything, {"run": COLORAMA + NUMPY, "dev": everything})
    assert found == {"run": [COLORAMA, NUMPY], "dev": [COLORAMA_ANYWHERE]}


def test_a_version_of_its_own_is_refused() -> None:
    with pytest.raises(SystemExit, match=r"run: versions not in the resolution: numpy==2\.4\.6"):
        parts(PYTEST, {"run": NUMPY})
