"""What a catalog's entries say of themselves."""

import pandas as pd

from reproduction.study.catalog import Figure, Paper, Section, StudyTable


def test_a_section_needs_its_tables_and_something_in_them() -> None:
    section = Section("a", "A", "a", needs=("t", "u"))
    full = pd.DataFrame({"x": [1]})
    assert section.possible({"t": full, "u": full})
    assert not section.possible({"t": full})
    assert not section.possible({"t": full, "u": full.iloc[:0]})


def test_what_an_entry_does_not_say_it_has_from_its_name() -> None:
    study = StudyTable("t", "T", ("p",))
    figure, section = Figure("t", ".figures:drawn", "T"), Section("t", "T", "T", ".page:shown")
    paper = Paper("key", "K", "S", {}, (study,), (), (figure,), (section,))
    assert study.study == "t"
    assert (paper.figures[0].draw, paper.figures[0].tables) == (
        "reproduction.papers.key.figures:drawn",
        ("t",),
    )
    assert paper.sections[0].prepare == "reproduction.papers.key.page:shown"
    assert (paper.sections[0].template, paper.sections[0].needs) == ("key/shown", ("t",))
