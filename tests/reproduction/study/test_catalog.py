"""What a catalog's entries say of themselves."""

from fractions import Fraction

import pandas as pd

from reproduction.study.catalog import Figure, Paper, Section, Study, StudyTable
from reproduction.study.pages import section_of


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


def test_a_section_is_linked_by_its_title_up_to_a_colon() -> None:
    assert Section("a", "Figure 1: the price", template="a/b").link == "Figure 1"
    assert section_of("key", "b", "B", "more", "t", "u") == Section(
        "key_b", "B", "more", ".sections:b", needs=("key_t", "key_u")
    )
    assert section_of("key", "b", "B: c", "").link == "B"
    assert section_of("key", "b", "B", "").needs == ("key_b",)


def test_a_simulator_takes_the_settings_that_its_parameters_name() -> None:
    study = Study("fractions:Fraction", datasets=())
    assert study.on(None, {"numerator": 2, "denominator": 6, "replicates": 9}) == Fraction(1, 3)
