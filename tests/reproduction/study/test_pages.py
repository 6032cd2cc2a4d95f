"""Where a number comes from: a line of the library."""

import pytest

from reproduction.study.pages import Origin


@pytest.mark.parametrize(
    ("function", "starts"),
    [
        ("deniable.display.page:short", "def short("),
        ("reproduction.study.pages:Origin.line", "    def line("),
        (
            "reproduction.papers.multirr.queries.clusters:ClusterQueries.__call__",
            "    def __call__(",
        ),
    ],
)
def test_the_line_of_a_function(function: str, starts: str, pytestconfig: pytest.Config) -> None:
    origin = Origin(function, "rule")
    lines = (pytestconfig.rootpath / origin.file).read_text(encoding="utf-8").splitlines()
    assert lines[origin.line - 1].startswith(starts)


def test_a_function_that_is_gone_is_an_error() -> None:
    with pytest.raises(KeyError):
        _ = Origin("deniable.display.page:gone", "rule").line
