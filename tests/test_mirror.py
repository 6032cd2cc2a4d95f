"""`tests` has the folders of the library and of the reproduction, and three of its own."""

from pathlib import Path

TESTS = Path(__file__).parent
LIBRARY, WORKFLOW = TESTS.parent / "src" / "deniable", TESTS.parent / "workflow"
OWN = {"baseline", "tools"}


def test_folders_of_tests_are_those_of_the_library_and_of_the_reproduction() -> None:
    folders = {
        file.parent.relative_to(TESTS)
        for file in TESTS.rglob("test_*.py")
        if not OWN & {*file.relative_to(TESTS).parts} and file.parent != TESTS / "workflow"
    }
    assert len(folders) > 20
    places = {
        each: WORKFLOW if each.parts[:1] == ("reproduction",) else LIBRARY for each in folders
    }
    assert [folder for folder in sorted(folders) if not (places[folder] / folder).is_dir()] == []
