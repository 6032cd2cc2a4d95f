"""What a catalog's entries say of themselves."""

import pandas as pd

from deniable.study.catalog import Section


def test_a_section_needs_its_tables_and_something_in_them() -> None:
    section = Section("a", "A", "a", "a", ("t", "u"))
    full = pd.DataFrame({"x": [1]})
    assert section.possible({"t": full, "u": full})
    assert not section.possible({"t": full})
    assert not section.possible({"t": full, "u": full.iloc[:0]})
