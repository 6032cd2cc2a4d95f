"""The options of all commands, with their help."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from deniable import __version__
from deniable.cli.columns import columns_of
from deniable.errors import shown

DESCRIPTION = """\
Protect a file of your own and estimate from a release: schema, compare, plan, protect, estimate.
Analyse a channel (a transition matrix) or optimize one: channel, design.

A matrix file is a CSV file with the categories as its header and as its first column, and a row for
each true category. Row u, column v is the probability of reporting v if u is true.
"""
EXAMPLES = """\
examples:
  deniable schema survey.csv > survey.yaml
  deniable plan survey.yaml --epsilon 2 --out plan.json
  deniable ledger init /safe/ledger
  deniable protect survey.csv plan.json --out release/ --ledger /safe/ledger
  deniable estimate release/public
  deniable channel matrix.csv --counts counts.csv --json
  deniable design specification.yaml --output designed
"""
CHANNEL = """\
Print epsilon, parity, guaranteed factor (beta) and breach bounds of a channel; posterior
probabilities under a prior; and the unbiased estimate from counts of reports, with its covariance,
standard errors, intervals and the maximum-likelihood distribution.
"""
CHANNEL_EXAMPLES = """\
files:
  MATRIX.csv   categories as header and as first column, a row for each true category; with the
               word "report" in the first cell, the header names reports of their own
  PRIOR.csv    columns category,probability
  COUNTS.csv   columns category,count (or report,count)

examples:
  deniable channel matrix.csv
  deniable channel matrix.csv --prior prior.csv
  deniable channel matrix.csv --counts counts.csv --target file --confidence 0.9
  deniable channel matrix.csv --json | jq .epsilon
"""
DESIGN = """\
Find the channel of least loss for given proportions that meets given requirements. Matrix and
properties are written to NAME-matrix.csv and NAME-properties.json, with NAME from SPEC.yaml.
"""
DESIGN_EXAMPLES = """\
examples:
  deniable design specification.yaml
  deniable design specification.yaml --output designed
  deniable design specification.yaml --matrix matrix.csv --json
"""
SCHEMA = """\
Draft a schema of a file of records: the kind of each column, as YAML with comments, to be edited.
The draft goes to standard output, and remarks to standard error.
"""
SCHEMA_EXAMPLES = """\
examples:
  deniable schema survey.csv > survey.yaml
  deniable schema survey.txt --delimiter ';' --encoding cp1252 --population panel > survey.yaml
"""
PROTECT = """\
Protect a file of records by a plan. Files to publish go to OUT/public, and files that reveal the
original records to OUT/private. The release is drawn once: after an interruption, the same command
continues. With --test, files for tests alone go to OUT/test, and OUT/private/comparison.csv
compares estimates from them with the original records.
"""
PROTECT_EXAMPLES = """\
examples:
  deniable protect survey.csv plan.json --out release/ --ledger /safe/ledger
  deniable protect survey.csv plan.json --out release/ --quasi-identifiers sex,age,region
  deniable protect survey.csv plan.json --out trial/ --test 1
"""
LEDGER = """\
Make a ledger, or list the releases in it. A ledger counts the epsilon of production releases, by
population, before anything is drawn. It is as confidential as the records. Keep it, and back it up.
"""
LEDGER_EXAMPLES = """\
examples:
  deniable ledger init /safe/ledger
  deniable ledger show --ledger /safe/ledger
"""
PLAN = """\
Plan mechanism and budget of each column or cluster of a file, at an exact epsilon of the whole
record, from its schema and from no data. Or verify a plan: compute its exact epsilons again, in
fractions, from the plan alone.
"""
PLAN_EXAMPLES = """\
examples:
  deniable plan survey.yaml --epsilon 2 --out plan.json
  deniable plan survey.yaml --epsilon 2 --out plan.json --cluster sex,income --mechanism hadamard
  deniable plan survey.yaml --epsilon 2 --out plan.json --split optimal --table sex,income
  deniable plan survey.yaml --settings plan.yaml --out plan.json
  deniable plan --verify plan.json --matrices matrices.csv
"""
COMPARE = """\
For the owner of a file: expected errors of marginal distributions, pairs and stated tables by each
mechanism at each exact epsilon, in closed form, and the one with the least error.
"""
COMPARE_EXAMPLES = """\
examples:
  deniable compare survey.csv survey.yaml --epsilon 0.5 1 2 4
  deniable compare survey.csv survey.yaml --epsilon 1 2 --table sex,income --out compared
  deniable compare survey.csv survey.yaml --epsilon 1 2 --public
"""
ESTIMATE = """\
Estimate from the public folder of a release alone: marginal distributions, tables, proportions,
tests of independence, weights, synthetic records. Without a question: marginal distributions, and
means and quantiles of numbers, as far as the release has them.
"""
ESTIMATE_EXAMPLES = """\
queries:
  conditions that all hold: column=value, =one|another, !=, and <, <=, >, >= of numeric and ordered
  columns; quotes around names and values with any of "=!<>,|; (missing) is a missing value; an
  order takes a boundary between two points or intervals, and names the nearest ones otherwise

examples:
  deniable estimate release/public
  deniable estimate release/public --table sex,income --test independence
  deniable estimate release/public --query "sex=F,age>=30" --target file --confidence 0.9
  deniable estimate release/public --table sex,income --weight w --format html --out page.html
  deniable estimate release/public --synthetic 1000 --out synthetic.csv
"""
LEDGER_HELP = "the ledger of the release (default: the environment variable DENIABLE_LEDGER)"
FILE = "CSV, Parquet (or a folder of it) or Arrow"
MAX_DIGITS = 18  # of a seed
COLUMNS: dict[str, Any] = {"type": columns_of, "metavar": "A,B"}
"""The only spelling of a list of columns."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Exit with a `message`, and with the spelling of lists if a word is left over."""
        if message.startswith("unrecognized arguments: ") and " -" not in message:
            message += "; write columns with commas between them, as in --table sex,income"
        super().error(message)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    raw = argparse.RawDescriptionHelpFormatter  # descriptions and examples as they are written
    parser = _Parser(prog="deniable", description=DESCRIPTION, epilog=EXAMPLES, formatter_class=raw)
    parser.add_argument("--version", action="version", version=f"deniable {__version__}")
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", required=True, dest="command"
    )

    def command(name: str, summary: str, about: str, examples: str) -> argparse.ArgumentParser:
        added: argparse.ArgumentParser = commands.add_parser(
            name, help=summary, description=about, epilog=examples, formatter_class=raw
        )
        added.set_defaults(parser=added)
        return added

    _add_channel(command("channel", "a channel's privacy and estimates", CHANNEL, CHANNEL_EXAMPLES))
    _add_design(command("design", "best channel for stated requirements", DESIGN, DESIGN_EXAMPLES))
    _add_schema(command("schema", "draft a schema of your own file", SCHEMA, SCHEMA_EXAMPLES))
    _add_compare(command("compare", "utility against exact epsilon", COMPARE, COMPARE_EXAMPLES))
    _add_plan(command("plan", "mechanism and exact epsilon of each column", PLAN, PLAN_EXAMPLES))
    _add_ledger(command("ledger", "count releases by population", LEDGER, LEDGER_EXAMPLES))
    _add_protect(command("protect", "protect your own file by a plan", PROTECT, PROTECT_EXAMPLES))
    _add_estimate(command("estimate", "estimates from public/ alone", ESTIMATE, ESTIMATE_EXAMPLES))
    return parser


def _add_schema(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("file", metavar="FILE", type=Path, help=FILE)
    add("--population", metavar="NAME", help="the people of the records (default: left empty)")
    add("--delimiter", metavar="C", help=r"of a CSV file, \t for a tab (default: detected)")
    add("--encoding", metavar="NAME", help="of a CSV file, such as cp1252 (default: detected)")


def _add_compare(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("file", metavar="FILE", type=Path, help=FILE)
    add("schema", metavar="SCHEMA.yaml", type=Path, help="the schema of the file")
    add("--epsilon", nargs="+", type=float, required=True, metavar="E")
    add("--public", action="store_true", help="by uniform distributions, not original ones")
    add("--out", type=_path, metavar="DIR", help="for compare.csv, .png and .svg")
    _add_tables(add)


def _add_tables(add: Callable[..., Any]) -> None:
    """Add the options that ``compare`` and ``plan`` share."""
    add("--table", **COLUMNS, action="append", help="a table that will be estimated (repeat)")
    add("--cluster", **COLUMNS, action="append", help="columns that share a channel (repeat)")
    text = "whether columns of text may have other values than categories (default: any)"
    add("--responses", choices=("any", "categories"), default="any", help=text)
    text = "public distribution category,probability, at which errors are expected (repeat)"
    add("--prior", action="append", metavar="COLUMN=P.csv", help=text)


def _add_plan(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("schema", metavar="SCHEMA.yaml", type=Path, nargs="?")
    add("--epsilon", type=float, metavar="E", help="of the whole record")
    add("--out", type=_path, metavar="PLAN.json")
    add("--verify", type=Path, metavar="PLAN.json", help="verify this plan instead")
    text = "of epsilon: even (default), by numbers of categories, or best for the stated tables"
    add("--split", choices=("even", "size", "optimal"), default="even", help=text)
    text = "of all columns that can have it, or of one (default: the smallest variance)"
    add("--mechanism", action="append", metavar="[COLUMN=]KIND", help=text)
    text = "choose by the original file, with --accept chosen_by_data"
    add("--data", type=Path, metavar="FILE", help=text)
    text = "join columns of the original file that depend by T_D or more, up to T_V cells"
    add("--clusters-from-data", nargs=2, metavar=("T_V", "T_D"), help=text)
    add("--accept", nargs="+", metavar="NAME", help="accepted risks, by name")
    text = "options of a plan of any kind, as under plan in a config; instead of --epsilon"
    add("--settings", type=Path, metavar="PLAN.yaml", help=text)
    add("--matrices", type=_path, metavar="M.csv", help="also write all matrices")
    text = "of the records (default: permuted)"
    add("--order", choices=("permuted", "as_in_file"), default="permuted", help=text)
    _add_tables(add)


def _add_protect(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("file", metavar="FILE", type=Path, help=FILE)
    add("plan", metavar="PLAN.json", type=Path, help="a plan by deniable plan")
    add("--out", required=True, type=_path, help="the folder of the release")
    add("--name", help="of the release (default: of the folder)")
    add("--ledger", metavar="FOLDER", type=_path, help=LEDGER_HELP)
    add("--population", metavar="NAME", help="the people of the records, unless the schema has it")
    add("--consent", help="the text that a further release of the population needs")
    text = "make a test release, which anybody with this seed can undo, to OUT/test; no ledger"
    add("--test", type=_seed, metavar="SEED", help=text)
    text = "columns that an intruder may know, for risk.csv"
    add("--quasi-identifiers", **COLUMNS, help=text)
    text = "largest proportion of a column's values outside its bounds (default: 0.01)"
    add("--outside-bounds", type=float, default=0.01, metavar="P", help=text)
    add("--key-folder", type=Path, help="place of the key until publication")


def _add_ledger(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(metavar="ACTION", required=True, dest="action")
    init = actions.add_parser("init", help="make a ledger", description="Make a ledger.")
    init.add_argument("folder", metavar="FOLDER", type=_path, help="new, or an empty folder")
    text = "list releases and totals, and check all entries"
    show = actions.add_parser("show", help=text, description=f"{text.capitalize()}.")
    show.add_argument("--ledger", metavar="FOLDER", type=_path, help=LEDGER_HELP)


def _add_channel(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("matrix", metavar="MATRIX.csv", type=_path, help="the matrix of the channel")
    text = "an intruder's prior over the true categories"
    add("--prior", metavar="P.csv", type=_path, help=text)
    add("--counts", metavar="C.csv", type=_path, help="counts of reports to estimate from")
    text = "whether a set of prior probability below RHO_1 can get a posterior above RHO_2"
    add("--breach", nargs=2, metavar=("RHO_1", "RHO_2"), type=_share, help=text)
    text = "proportions in the population of the records (default), or among these very records"
    add("--target", choices=("population", "file"), default="population", help=text)
    text = "of each interval (default: 0.95)"
    add("--confidence", type=_share, default=0.95, metavar="C", help=text)
    add("--json", action="store_true", help="print one JSON object instead of text")


def _add_design(parser: argparse.ArgumentParser) -> None:
    text = "categories, proportions, requirements and loss (see docs/command-line.md)"
    parser.add_argument("specification", metavar="SPEC.yaml", type=_path, help=text)
    place = parser.add_mutually_exclusive_group()
    text = "folder for the two files (default: the current one)"
    place.add_argument("--output", metavar="DIR", type=_path, default=Path(), help=text)
    place.add_argument("--matrix", metavar="FILE", type=_path, help="write only the matrix, here")
    parser.add_argument("--json", action="store_true", help="print properties as a JSON object")


def _add_estimate(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    yes: dict[str, Any] = {"action": "store_true"}
    add("public", metavar="PUBLIC", type=Path, help="the public folder")
    add("--margins", **yes, help="the marginal distribution of each column")
    add("--numbers", **yes, help="mean, standard deviation, quantiles of numbers")
    add("--table", **COLUMNS, action="append", default=[], help="a table of columns (repeat)")
    add("--pairs", **yes, help="the tables of all pairs of columns")
    add("--query", metavar="TEXT", action="append", default=[], help="a proportion (repeat)")
    add("--test", choices=("independence",), help="of the columns of each --table")
    add("--weight", metavar="COLUMN", help="released weights of the records")
    text = (
        "the population that records were drawn from (the default, except for masked numbers), "
        "these records, or both"
    )
    add("--target", choices=("population", "file", "both"), help=text)
    text = (
        "of channels with more reports than categories: the left inverse of least variance, or "
        "the channel's own"
    )
    add("--inverse", choices=("least", "own"), default="least", help=text)
    add("--by-stratum", **yes, help="also estimates in each stratum")
    add("--confidence", type=_share, default=0.95, metavar="C", help="of each interval (0.95)")
    made = parser.add_mutually_exclusive_group()
    made.add_argument("--synthetic", metavar="N", type=int, help="make N synthetic records")
    made.add_argument("--adjusted-weights", **yes, help="make weights that meet the estimates")
    text = "of synthetic records: estimated clusters, or records repeated by their weights"
    add("--basis", choices=("clusters", "weights"), default="clusters", help=text)
    add("--seed", type=_seed, default=0, help="of synthetic records and Monte Carlo tests (0)")
    add("--format", choices=("text", "csv", "json", "html"), default="text")
    add("--out", type=_path, metavar="FILE", help="where to write (default: shown)")


def _path(text: str) -> Path:
    if not text.isprintable():
        raise argparse.ArgumentTypeError(f"{shown(text)} has characters that cannot be shown")
    if not text:
        raise argparse.ArgumentTypeError("it is empty; give a path")
    return Path(text)


def _seed(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS):
        raise argparse.ArgumentTypeError(f"{shown(text)} is not a whole number from 0 to 10^18")
    return int(text)


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{shown(text)} is not a number between 0 and 1")
    return value
