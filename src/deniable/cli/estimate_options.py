"""The options of ``deniable estimate``."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

ArgumentType = Callable[[str], Any]
ESTIMATE_DESCRIPTION = """\
Estimate from a release that deniable protect made, by its public folder alone: distributions of
columns, tables, shares, tests of independence, weights, synthetic records. Intervals are for a
stated target and confidence. Without a question: margins, and means and quantiles of numbers, as
far as the release has them.
"""
ESTIMATE_EXAMPLES = """\
queries:
  conditions that all hold: column=value, =one|another, !=, and <, <=, >, >= of numeric and ordered
  columns; quotes around names and values with any of "=!<>,|; (missing) is a missing value

examples:
  deniable estimate release/public
  deniable estimate release/public --table sex income --test independence
  deniable estimate release/public --query "sex=F,age>=30" --target file --confidence 0.9
  deniable estimate release/public --table sex income --weight w --format html --out page.html
  deniable estimate release/public --synthetic 1000 --out synthetic.csv
"""


def add_estimate(commands: Any, share: ArgumentType, path: ArgumentType) -> None:
    """Add ``estimate`` to the `commands`; `share` and `path` parse a proportion and a path."""
    parser = commands.add_parser(
        "estimate",
        help="estimates from a release's public folder alone",
        description=ESTIMATE_DESCRIPTION,
        epilog=ESTIMATE_EXAMPLES,
    )
    parser.set_defaults(parser=parser)
    columns: dict[str, Any] = {"nargs": "+", "metavar": "COLUMN"}
    parser.add_argument("public", metavar="PUBLIC", type=Path, help="the public folder")
    parser.add_argument("--margins", action="store_true", help="the distribution of each column")
    parser.add_argument(
        "--numbers", action="store_true", help="mean, standard deviation, quantiles of numbers"
    )
    parser.add_argument(
        "--table", **columns, action="append", default=[], help="a table of columns; repeatable"
    )
    parser.add_argument("--pairs", action="store_true", help="the tables of all pairs of columns")
    parser.add_argument(
        "--query", metavar="TEXT", action="append", default=[], help="a share; repeatable"
    )
    parser.add_argument(
        "--test", choices=("independence",), help="of the columns of each --table from each other"
    )
    parser.add_argument("--weight", metavar="COLUMN", help="released weights that records count by")
    parser.add_argument(
        "--target",
        choices=("population", "file", "both"),
        help="what is estimated: the population that records were drawn from (the default, except "
        "of masked numbers), these records, or both",
    )
    parser.add_argument(
        "--inverse",
        choices=("least", "own"),
        default="least",
        help="of channels with more reports than categories: the left inverse of least variance, "
        "or the channel's own",
    )
    parser.add_argument("--by-stratum", action="store_true", help="estimates in each stratum, too")
    parser.add_argument(
        "--confidence", type=share, default=0.95, metavar="C", help="of each interval (0.95)"
    )
    made = parser.add_mutually_exclusive_group()
    made.add_argument("--synthetic", metavar="N", type=int, help="make N synthetic records")
    made.add_argument(
        "--adjusted-weights", action="store_true", help="make weights that meet the estimates"
    )
    parser.add_argument(
        "--basis",
        choices=("clusters", "weights"),
        default="clusters",
        help="of synthetic records: estimated clusters, or records repeated by their weights",
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="of synthetic records and Monte Carlo tests (0)"
    )
    parser.add_argument("--format", choices=("text", "csv", "json", "html"), default="text")
    parser.add_argument("--out", type=path, metavar="FILE", help="where to write; else it is shown")
