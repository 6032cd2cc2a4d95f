"""`tests` has the folders of the library, and three of its own."""

from pathlib import Path

TESTS = Path(__file__).parent
LIBRARY = TESTS.parent / "src" / "deniable"
OWN = {"baseline", "tools", "workflow"}


def test_folders_of_tests_are_those_of_the_library() -> None:
    folders = {
        file.parent.relative_to(TESTS)
        for file in TESTS.rglob("test_*.py")
        if not OWN & {*file.relative_to(TESTS).parts}
    }
    assert len(folders) > 20
    assert [folder for folder in sorted(folders) if not (LIBRARY / folder).is_dir()] == []
