"""What the commands take: options, and the words of their help."""

import argparse
from pathlib import Path
from typing import Any

from deniable import __version__
from deniable.cli.estimate_options import add_estimate
from deniable.errors import shown

DESCRIPTION = """\
Protect a file of one's own, and estimate from what was released: schema, compare, plan, protect,
estimate. Answer questions about a channel (a randomization matrix), or design one: channel, design.

A matrix file is a CSV file with the categories as its header and as its first column, and a row for
each true category: row u, column v holds the probability of reporting v when u is true.
"""
EXAMPLES = """\
examples:
  deniable schema survey.csv > survey.yaml
  deniable plan survey.yaml --epsilon 2 --out plan.json
  deniable protect survey.csv plan.json --out release/
  deniable estimate release/public
  deniable channel matrix.csv --counts counts.csv --json
  deniable design specification.yaml --output designed
"""
CHANNEL_DESCRIPTION = """\
Print epsilon, parity, guaranteed factor (beta) and breach bounds of a channel; what a report tells
under a prior; and the unbiased estimate from counts of reports, with its covariance, its standard
errors and intervals, and the maximum-likelihood distribution.
"""
CHANNEL_EXAMPLES = """\
files:
  MATRIX.csv   categories as header and as first column, a row for each true category; with the
               word "report" in the first cell, the header names reports of their own
  PRIOR.csv    columns category,probability
  COUNTS.csv   columns category,count (or report,count): how often each was reported

examples:
  deniable channel matrix.csv
  deniable channel matrix.csv --prior prior.csv
  deniable channel matrix.csv --counts counts.csv --target file --confidence 0.9
  deniable channel matrix.csv --json | jq .epsilon
"""
DESIGN_DESCRIPTION = """\
Design the channel of least loss for given proportions that meets given requirements. The matrix and
its properties are written to NAME-matrix.csv and NAME-properties.json, with NAME from SPEC.yaml.
"""
DESIGN_EXAMPLES = """\
examples:
  deniable design specification.yaml
  deniable design specification.yaml --output designed
  deniable design specification.yaml --matrix matrix.csv --json
"""
SCHEMA_DESCRIPTION = """\
Draft a schema of a file of records: what each column seems to be, as YAML with comments, to be
edited. It goes to standard output; what was found, and what to look at, to standard error.
"""
SCHEMA_EXAMPLES = """\
examples:
  deniable schema survey.csv > survey.yaml
  deniable schema survey.txt --delimiter ';' --encoding cp1252 --population panel > survey.yaml
"""
PROTECT_DESCRIPTION = """\
Protect a file of records by a plan: what may be given away goes to OUT/public, what knows the truth
to OUT/private. It is drawn once: a command that was interrupted and is given again goes on.
"""
PROTECT_EXAMPLES = """\
examples:
  deniable protect survey.csv plan.json --out release/
  deniable protect survey.csv plan.json --out release/ --quasi-identifiers sex age region
"""
PLAN_DESCRIPTION = """\
Plan what is done to each column of a file, at an exact epsilon of the whole record: mechanism and
budget of each column or cluster, from its schema and from no data. Or verify a plan: compute its
exact epsilons anew, in fractions, from the plan alone.
"""
PLAN_EXAMPLES = """\
examples:
  deniable plan survey.yaml --epsilon 2 --out plan.json
  deniable plan survey.yaml --epsilon 2 --out plan.json --cluster sex,income --mechanism hadamard
  deniable plan survey.yaml --epsilon 2 --out plan.json --split optimal --table sex,income
  deniable plan survey.yaml --settings plan.yaml --out plan.json
  deniable plan --verify plan.json --matrices matrices.csv
"""
COMPARE_DESCRIPTION = """\
For the owner of a file: errors to expect of margins, pairs and stated tables by each mechanism at
each exact epsilon, in closed form, and which way to spend an epsilon has the least.
"""
COMPARE_EXAMPLES = """\
examples:
  deniable compare survey.csv survey.yaml --epsilon 0.5 1 2 4
  deniable compare survey.csv survey.yaml --epsilon 1 2 --table sex,income --out compared
  deniable compare survey.csv survey.yaml --epsilon 1 2 --public
"""


class _Parser(argparse.ArgumentParser):
    """With descriptions and examples as they are written."""

    def __init__(self, **options: Any) -> None:
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, **options)


def parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="deniable", description=DESCRIPTION, epilog=EXAMPLES)
    parser.add_argument("--version", action="version", version=f"deniable {__version__}")
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", required=True, dest="command"
    )
    _add_channel(commands)
    _add_design(commands)
    _add_schema(commands)
    _add_compare(commands)
    _add_plan(commands)
    _add_protect(commands)
    add_estimate(commands, _share, _path)
    return parser


def _add_schema(commands: Any) -> None:
    parser = commands.add_parser(
        "schema",
        help="draft a schema of a file of one's own",
        description=SCHEMA_DESCRIPTION,
        epilog=SCHEMA_EXAMPLES,
    )
    parser.add_argument(
        "file", metavar="FILE", type=Path, help="CSV, Parquet (or a folder of it) or Arrow"
    )
    parser.add_argument(
        "--population", metavar="NAME", help="whose records; by default the file's name"
    )
    parser.add_argument(
        "--delimiter", metavar="C", help=r"of a CSV file, \t for a tab; found out by default"
    )
    parser.add_argument(
        "--encoding", metavar="NAME", help="of a CSV file, such as cp1252; found out by default"
    )


def _add_compare(commands: Any) -> None:
    parser = commands.add_parser(
        "compare",
        help="utility against exact epsilon, of a file of one's own",
        description=COMPARE_DESCRIPTION,
        epilog=COMPARE_EXAMPLES,
    )
    parser.add_argument("file", metavar="FILE", type=Path, help="CSV, Parquet or Arrow")
    parser.add_argument("schema", metavar="SCHEMA.yaml", type=Path, help="what the file holds")
    parser.add_argument("--epsilon", nargs="+", type=float, required=True, metavar="E")
    parser.add_argument(
        "--public", action="store_true", help="by uniform distributions, not true ones"
    )
    parser.add_argument("--out", type=_path, metavar="DIR", help="for compare.csv, .png and .svg")
    _add_tables(parser)


def _add_tables(parser: argparse.ArgumentParser) -> None:
    """Add what ``compare`` and ``plan`` are both told."""
    parser.add_argument(
        "--table", action="append", metavar="A,B", help="a table that will be estimated (repeat)"
    )
    parser.add_argument(
        "--cluster", action="append", metavar="A,B", help="columns that go through one channel"
    )
    parser.add_argument(
        "--responses",
        choices=("any", "categories"),
        default="any",
        help="whether columns of text may have other values than categories (default: any)",
    )
    parser.add_argument(
        "--prior",
        action="append",
        metavar="COLUMN=P.csv",
        help="category,probability known in public, at which errors are expected (repeat)",
    )


def _add_plan(commands: Any) -> None:
    parser = commands.add_parser(
        "plan",
        help="mechanism and exact epsilon of each column of a file",
        description=PLAN_DESCRIPTION,
        epilog=PLAN_EXAMPLES,
    )
    parser.add_argument("schema", metavar="SCHEMA.yaml", type=Path, nargs="?")
    parser.add_argument("--epsilon", type=float, metavar="E", help="of the whole record")
    parser.add_argument("--out", type=_path, metavar="PLAN.json")
    parser.add_argument("--verify", type=Path, metavar="PLAN.json", help="verify this plan instead")
    parser.add_argument(
        "--split",
        choices=("even", "size", "optimal"),
        default="even",
        help="of epsilon: even (default), by numbers of categories, or best for the stated tables",
    )
    parser.add_argument(
        "--mechanism",
        action="append",
        metavar="[COLUMN=]KIND",
        help="of all columns that can have it, or of one; by default the best by variance",
    )
    parser.add_argument(
        "--data", type=Path, metavar="FILE", help="choose by the true file: --accept chosen_by_data"
    )
    parser.add_argument(
        "--clusters-from-data",
        nargs=2,
        metavar=("T_V", "T_D"),
        help="put columns together that depend by T_D or more in the true file, up to T_V cells",
    )
    parser.add_argument("--accept", nargs="+", metavar="NAME", help="accepted risks, by name")
    settings = "options of a plan of any kind, as under plan in a config; instead of --epsilon"
    parser.add_argument("--settings", type=Path, metavar="PLAN.yaml", help=settings)
    parser.add_argument("--matrices", type=_path, metavar="M.csv", help="write all matrices, too")
    parser.add_argument(
        "--order", choices=("permuted", "as_in_file"), default="permuted", help="of the records"
    )
    _add_tables(parser)


def _add_protect(commands: Any) -> None:
    parser = commands.add_parser(
        "protect",
        help="protect a file of one's own by a plan",
        description=PROTECT_DESCRIPTION,
        epilog=PROTECT_EXAMPLES,
    )
    parser.set_defaults(parser=parser)
    parser.add_argument("file", metavar="FILE", type=Path, help="CSV, Parquet or Arrow")
    parser.add_argument("plan", metavar="PLAN.json", type=Path, help="what deniable plan made")
    parser.add_argument("--out", required=True, type=_path, help="the release's folder")
    parser.add_argument("--name", help="of the release; by default the folder's")
    parser.add_argument(
        "--ledger", type=_path, help="where epsilons are counted; by default beside the folder"
    )
    parser.add_argument("--consent", help="the words that a population's next release needs")
    parser.add_argument(
        "--quasi-identifiers",
        nargs="+",
        metavar="COLUMN",
        help="columns that an intruder may know, for risk.csv",
    )
    parser.add_argument(
        "--keys", nargs="+", action=_Renamed, const="--quasi-identifiers", help=argparse.SUPPRESS
    )
    parser.add_argument("--key-folder", type=Path, help="place of the key until publication")


def _add_channel(commands: Any) -> None:
    parser = commands.add_parser(
        "channel",
        help="privacy of a channel, posteriors, and estimates through it",
        description=CHANNEL_DESCRIPTION,
        epilog=CHANNEL_EXAMPLES,
    )
    parser.set_defaults(parser=parser)
    parser.add_argument("matrix", metavar="MATRIX.csv", type=_path, help="the channel's matrix")
    parser.add_argument(
        "--prior", metavar="P.csv", type=_path, help="an intruder's prior over the true categories"
    )
    parser.add_argument(
        "--counts", metavar="C.csv", type=_path, help="counts of reports, to estimate from"
    )
    parser.add_argument(
        "--breach",
        nargs=2,
        metavar=("RHO_1", "RHO_2"),
        type=_share,
        help="whether a set of prior probability below RHO_1 can get a posterior above RHO_2",
    )
    parser.add_argument(
        "--target",
        choices=("population", "file"),
        default="population",
        help="what is estimated: proportions in the population that the records were sampled from "
        "(default), or among these very records",
    )
    parser.add_argument(
        "--confidence",
        type=_share,
        default=0.95,
        metavar="C",
        help="of the intervals, each on its own (default: 0.95)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")


def _add_design(commands: Any) -> None:
    parser = commands.add_parser(
        "design",
        help="the best channel for stated requirements",
        description=DESIGN_DESCRIPTION,
        epilog=DESIGN_EXAMPLES,
    )
    parser.add_argument(
        "specification",
        metavar="SPEC.yaml",
        type=_path,
        help="categories, proportions, requirements and loss (see docs/command-line.md)",
    )
    place = parser.add_mutually_exclusive_group()
    place.add_argument(
        "--output",
        metavar="DIR",
        type=_path,
        default=Path(),
        help="folder for the two files (default: the current one)",
    )
    place.add_argument("--matrix", metavar="FILE", type=_path, help="write only the matrix, here")
    parser.add_argument(
        "--json", action="store_true", help="print the properties as one JSON object"
    )


class _Renamed(argparse.Action):
    """Refuse an option of an earlier version, and name the new one, which is its `const`."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any, **__: Any) -> None:
        parser.error(f"{self.option_strings[0]} is now {self.const}")


def _path(text: str) -> Path:
    if not text.isprintable():
        raise argparse.ArgumentTypeError(f"{shown(text)} has characters that cannot be shown")
    if not text:
        raise argparse.ArgumentTypeError("it is empty; give a path")
    return Path(text)


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{shown(text)} is not a number between 0 and 1")
    return value
