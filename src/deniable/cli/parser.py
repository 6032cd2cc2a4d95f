"""The options of all commands, with their help."""

import argparse
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NoReturn

from deniable import __version__
from deniable.cli.help_texts import COMMANDS, DESCRIPTION, EXAMPLES
from deniable.errors import shown

BARE = r'[^",\s](?:[^,]*[^,\s])?'
NAME = re.compile(rf'\s*(?:"((?:[^"]|"")+)"|({BARE}))\s*(,|\Z)')
FORM = 'write sex,income, with quotes around a name that has a comma: "odd, name",sex'
LEDGER_HELP = "the ledger of the release (default: the environment variable DENIABLE_LEDGER)"
FILE = "records: CSV, Parquet (a file or a folder), Arrow, SPSS or Stata"
PUBLIC = "public folder of a release"
MAX_DIGITS = 18  # of a seed


def columns_of(text: str) -> tuple[str, ...]:
    """Return the names in a comma-separated `text`.

    Names may be in quotation marks, with double ones inside. Other texts raise `ArgumentTypeError`.

    Examples
    --------
    >>> columns_of('sex, "odd, name"')
    ('sex', 'odd, name')
    """
    names, at, end = list[str](), 0, ","
    while end:
        if (match := NAME.match(text, at)) is None:
            raise argparse.ArgumentTypeError(f"{shown(text)} is not a list of columns; {FORM}")
        quoted, bare, end = match.groups()
        names.append(bare if quoted is None else quoted.replace('""', '"'))
        at = match.end()
    return tuple(names)


def rule_of(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return both sides of a rule in a `text`: two lists as in `columns_of`, joined by ``=>``.

    Raises `ArgumentTypeError` if the text is not such a rule.
    """
    condition, _, consequence = text.partition("=>")
    return columns_of(condition), columns_of(consequence)


def columns_text(names: Iterable[str]) -> str:
    """Return the list of `names` as a text that `columns_of` reads."""
    doubled = ((name, name.replace('"', '""')) for name in names)
    return ",".join(name if re.fullmatch(BARE, name) else f'"{quoted}"' for name, quoted in doubled)


COLUMNS: dict[str, Any] = {"type": columns_of, "metavar": "A,B"}
"""The only spelling of a list of columns."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Exit with a `message`; for an unexpected word, add the spelling of lists of columns."""
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

    def command(name: str, summary: str, module: str = "") -> argparse.ArgumentParser:
        about, _, examples = COMMANDS[name].partition("\n\n")
        added: argparse.ArgumentParser = commands.add_parser(
            name, help=summary, description=about, epilog=examples, formatter_class=raw
        )
        added.set_defaults(parser=added, module=module or name.replace("-", "_"))
        return added

    _add_channel(command("channel", "privacy of a channel, and estimates").add_argument)
    _add_design(command("design", "optimize a channel for requirements"))
    _add_schema(command("schema", "draft a schema of your own file").add_argument)
    _add_compare(command("compare", "compare utility at each exact epsilon").add_argument)
    _add_explore(command("explore", "make a page to choose an epsilon by", "compare").add_argument)
    _add_plan(command("plan", "choose mechanisms at an exact epsilon").add_argument)
    _add_ledger(command("ledger", "count releases by population", "process"))
    _add_protect(command("protect", "protect your own file by a plan").add_argument)
    add = command("approve", "approve a plan as a second person", "process").add_argument
    add("plan", metavar="PLAN.json", type=Path, help="a plan made with --author NAME")
    add("--name", required=True, metavar="NAME", help="name or role of the second person")
    add("--out", required=True, type=_path, metavar="APPROVAL.json", help="file of the approval")
    add = command("verify", "verify a public folder without key or records", "process").add_argument
    add("public", metavar="PUBLIC", type=Path, help=PUBLIC)
    add = command("withdraw", "withdraw a wrong release", "process").add_argument
    add("public", metavar="PUBLIC", type=Path, help=PUBLIC)
    add("--reason", required=True, metavar="TEXT", help="the reason, on one line; it is published")
    _add_secure_sum(command("secure-sum", "count pairs in files of several parties"))
    _add_estimate(command("estimate", "estimate from the public folder alone"))
    _add_rrba(command("rrba", "collect tables between processes"))
    return parser


def _add_schema(add: Callable[..., Any]) -> None:
    add("file", metavar="FILE", type=Path, help=FILE)
    add("--population", metavar="NAME", help="people of the records (default: left empty)")
    add("--delimiter", metavar="C", help=r"field separator; \t is a tab (default: detected)")
    add("--encoding", metavar="NAME", help="text encoding, such as cp1252 (default: detected)")
    add("--transactions", action="store_true", help="each line is a basket, a list of items")


def _add_compare(add: Callable[..., Any]) -> None:
    add("file", metavar="FILE", type=Path, help=FILE)
    add("schema", metavar="SCHEMA.yaml", type=Path, help="the schema of the file")
    add("--epsilon", nargs="+", type=float, required=True, metavar="E", help="epsilons of a record")
    add("--public", action="store_true", help="use uniform distributions, not the original ones")
    add("--out", type=_path, metavar="DIR", help="folder for compare.csv, .png and .svg")
    _add_split(add)
    _add_tables(add)


def _add_explore(add: Callable[..., Any]) -> None:
    add("schema", metavar="SCHEMA.yaml", type=Path, help="the schema of the file")
    add("--records", type=int, required=True, metavar="N", help="expected number of records")
    add("--out", type=_path, required=True, metavar="PAGE.html", help="file of the page")
    text = "epsilons of a record on the page (default: 40 values from 0.1 to 10)"
    add("--epsilon", nargs="+", type=float, metavar="E", help=text)
    add("--accept", nargs="+", metavar="NAME", help="names of accepted risks (config/README.md)")
    _add_tables(add)


def _add_split(add: Callable[..., Any]) -> None:
    text = "least epsilon of a column with --split optimal, as a proportion of an even part (0)"
    add("--floor", type=float, default=0.0, metavar="F", help=text)
    text = "proportion of epsilon for a column or its cluster; the rest is split (repeatable)"
    add("--share", action="append", metavar="COLUMN=P", help=text)


def _add_tables(add: Callable[..., Any]) -> None:
    add("--table", **COLUMNS, action="append", help="a table that will be estimated (repeatable)")
    add("--cluster", **COLUMNS, action="append", help="columns that share a channel (repeatable)")
    text = "randomized values of text columns: any, or categories only (default: any)"
    add("--responses", choices=("any", "categories"), default="any", help=text)
    text = "public distribution category,probability at which errors are expected (repeatable)"
    add("--prior", action="append", metavar="COLUMN=P.csv", help=text)


def _add_plan(add: Callable[..., Any]) -> None:
    add("schema", metavar="SCHEMA.yaml", type=Path, nargs="?", help="the schema of the file")
    add("--epsilon", type=float, metavar="E", help="requested epsilon of the whole record")
    text = "instead of --epsilon: largest factor by which a value may change a probability"
    add("--beta", type=float, metavar="B", help=text)
    text = "instead of --epsilon: no prior probability below RHO_1 rises above RHO_2, or inversely"
    add("--breach", nargs=2, metavar=("RHO_1", "RHO_2"), type=_share, help=text)
    text = "instead of --epsilon: the least one with at most ± P points of each --table (or column)"
    add("--within", type=float, metavar="P", help=text)
    text = "number of records, to print expected ± points, and the shuffled epsilon"
    add("--records", type=int, metavar="N", help=text)
    add("--out", type=_path, metavar="PLAN.json", help="file of the plan")
    add("--verify", type=Path, metavar="PLAN.json", help="verify this plan instead of making one")
    text = (
        "budget allocation: even (default), by categories, best for tables, or all to each column"
    )
    add("--split", choices=("even", "size", "optimal", "each"), default="even", help=text)
    text = "columns or clusters that each record has, at the whole epsilon; or pairs (own-data.md)"
    add("--ask", metavar="S", type=_ask, help=text)
    text = "mechanism of all columns that can have it, or of one (default: the smallest variance)"
    add("--mechanism", action="append", metavar="[COLUMN=]KIND", help=text)
    text = "choose by this original file; needs --accept chosen_by_data"
    add("--data", type=Path, metavar="FILE", help=text)
    text = "join columns of the original file with a dependence of at least T_D, up to T_V cells"
    add("--clusters-from-data", nargs=2, metavar=("T_V", "T_D"), help=text)
    text = "join columns by the randomized answers in the public folder of another release"
    add("--clusters-from", nargs=3, metavar=("PUBLIC", "T_V", "T_D"), help=text)
    text = "part of the respondents that answers, by a public text, such as 2/2:panel"
    add("--part", metavar="TAKE/OF:SEED", help=text)
    text = "also print records for this error, for each block and --table (numbers-and-clusters.md)"
    add("--for-error", type=float, metavar="E", help=text)
    add("--accept", nargs="+", metavar="NAME", help="names of accepted risks (config/README.md)")
    text = "instead of --epsilon: options of a plan of any kind, as under plan in a config"
    add("--settings", type=Path, metavar="PLAN.yaml", help=text)
    add("--matrices", type=_path, metavar="M.csv", help="also write all matrices to this file")
    text = "name or role of the author, for an approval by another person; it is published"
    add("--author", metavar="NAME", help=text)
    text = "order of the protected records (default: permuted)"
    add("--order", choices=("permuted", "as_in_file"), default="permuted", help=text)
    _add_split(add)
    _add_tables(add)


def _add_protect(add: Callable[..., Any]) -> None:
    add("file", metavar="FILE", type=Path, help=FILE)
    add("plan", metavar="PLAN.json", type=Path, help="a plan made by deniable plan")
    add("--out", required=True, type=_path, help="the folder of the release")
    add("--name", help="name of the release (default: name of the folder)")
    add("--ledger", metavar="FOLDER", type=_path, help=LEDGER_HELP)
    add("--population", metavar="NAME", help="people of the records, if the schema has no name")
    add("--consent", help="text that a further release of the population needs")
    text = "earlier releases with rows that can be matched with these, such as a panel"
    add("--matched", nargs="+", metavar="RELEASE", help=text)
    text = "make a test release in OUT/test without a ledger; anybody with this seed can undo it"
    add("--test", type=_seed, metavar="SEED", help=text)
    add("--quasi-identifiers", **COLUMNS, help="columns that an intruder may know, for risk.csv")
    text = "largest proportion of a column's values outside its bounds (default: 0.01)"
    add("--outside-bounds", type=float, default=0.01, metavar="P", help=text)
    text = "approval of the plan by a second person, from deniable approve"
    add("--approval", metavar="APPROVAL.json", type=Path, help=text)
    add("--key-folder", type=Path, help="place of the key until publication")


def _add_ledger(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(metavar="ACTION", required=True, dest="action")
    init = actions.add_parser("init", help="make a ledger", description="Make a ledger.")
    init.add_argument("folder", metavar="FOLDER", type=_path, help="new, or an empty folder")
    text = "refuse releases without an approval of their plan by a second person"
    init.add_argument("--two-persons", action="store_true", help=text)
    text = "list releases and totals, and check all entries"
    show = actions.add_parser("show", help=text, description=f"{text.capitalize()}.")
    show.add_argument("--ledger", metavar="FOLDER", type=_path, help=LEDGER_HELP)


def _add_secure_sum(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(metavar="ACTION", required=True, dest="action")
    text = "split the counts of a party into shares"
    add = actions.add_parser("share", help=text, description=f"{text.capitalize()}.").add_argument
    add("file", metavar="FILE", type=Path, help=FILE)
    add("schema", metavar="SCHEMA.yaml", type=Path, help="the schema of all parties")
    add("--session", required=True, metavar="NAME", help="name of this sum, equal for all parties")
    add("--party", required=True, type=int, metavar="I", help="number of this party, from 1")
    add("--parties", required=True, type=int, metavar="N", help="number of parties, at least 3")
    add("--table", **COLUMNS, action="append", default=[], help="a pair (repeat; default: all)")
    text = "a weight column: the number of records of each row (default: 1)"
    add("--count", nargs=1, metavar="COLUMN", default=[], help=text)
    add("--out", type=_path, metavar="DIR", help="a new folder (default: standard output)")
    for name, text in (("add", "shares to a party"), ("total", "the partial sums of all parties")):
        add = actions.add_parser(name, help=f"add {text}", description=f"Add {text}.").add_argument
        if name == "total":
            add("schema", metavar="SCHEMA.yaml", type=Path, help="the schema of all parties")
        help_text = f"{text} (default: standard input)"
        add("messages", metavar="FILE", type=Path, nargs="*", help=help_text)
        add("--out", type=_path, metavar="FILE", help="file to write (default: standard output)")


def _add_rrba(parser: argparse.ArgumentParser) -> None:
    parties = parser.add_subparsers(metavar="PARTY", required=True, dest="party")

    def party(name: str, about: str) -> Callable[..., Any]:
        add = parties.add_parser(name, help=about, description=f"{about.capitalize()}.")
        add.add_argument("plan", metavar="PLAN.json", type=Path, help="a plan of kind collected")
        text = "draw from a seed, for tests only: anybody with the seed can undo the protection"
        add.add_argument("--test", type=_seed, metavar="SEED", help=text)
        return add.add_argument

    add = party("client", "answer questions from standard input, on standard output")
    add("records", metavar="FILE", type=Path, help="record of the client, or of several clients")
    add("--state", required=True, type=_path, metavar="FOLDER", help="private; keeps all answers")
    text = "name of the client (default: client); several clients are NAME-1, NAME-2, ..."
    add("--name", default="client", help=text)
    text = "largest epsilon of all answers of a client (default: epsilon of the plan)"
    add("--budget", type=float, metavar="E", help=text)
    add("--accept", choices=("no_floor",), help="answer even if the plan has no finite epsilon")
    add = party("aggregator", "send questions to standard output, block by block")
    add("clients", metavar="NAMES.txt", type=Path, help="names of the clients, one per line")
    add("--reports", required=True, type=_path, metavar="FILE", help="messages to the server")
    add("--name", default="aggregator", help="name of the aggregator")
    add("--answers", type=Path, metavar="PATH", help="file or folder of answers (default: input)")
    text = "seconds until a block is closed without all answers (default: 60)"
    add("--wait", type=float, default=60.0, metavar="S", help=text)
    text = "public text that orders clients; repeat it to restart with the same questions"
    add("--seed", metavar="TEXT", help=text)
    add = party("server", "count the messages of aggregators, and make a public folder")
    text = "files, or folders of .jsonl files (default: standard input)"
    add("reports", nargs="*", type=Path, metavar="REPORTS", help=text)
    add("--out", required=True, type=_path, metavar="DIR", help="a new public folder")


def _add_channel(add: Callable[..., Any]) -> None:
    add("matrix", metavar="MATRIX.csv", type=_path, help="the matrix, or with --column a plan")
    add("--column", metavar="NAME", help="use the channel of this column of a plan, PLAN.json")
    add("--prior", metavar="P.csv", type=_path, help="an intruder's prior over the true categories")
    text = "bounds and posteriors of a set, under the prior; with --breach, its breaches"
    add("--set", type=columns_of, metavar="A,B", help=text)
    add("--counts", metavar="C.csv", type=_path, help="counts of randomized values, to estimate")
    text = "whether a set of prior probability below RHO_1 can get a posterior above RHO_2"
    add("--breach", nargs=2, metavar=("RHO_1", "RHO_2"), type=_share, help=text)
    text = "proportions in the population of the records (default), or among these very records"
    add("--target", choices=("population", "file"), default="population", help=text)
    add("--confidence", type=_share, default=0.95, metavar="C", help="level of intervals (0.95)")
    add("--json", action="store_true", help="print one JSON object instead of text")


def _add_design(parser: argparse.ArgumentParser) -> None:
    text = "categories, proportions, requirements and loss (see docs/optimized-matrices.md)"
    parser.add_argument("specification", metavar="SPEC.yaml", type=_path, help=text)
    place = parser.add_mutually_exclusive_group()
    text = "folder of the two files (default: the current one)"
    place.add_argument("--output", metavar="DIR", type=_path, default=Path(), help=text)
    place.add_argument("--matrix", metavar="FILE", type=_path, help="write only the matrix, here")
    parser.add_argument("--json", action="store_true", help="print properties as a JSON object")


def _add_estimate(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    yes: dict[str, Any] = {"action": "store_true"}
    add("public", metavar="PUBLIC", type=Path, help="the public folder")
    add("--margins", **yes, help="the marginal distribution of each column")
    add("--numbers", **yes, help="mean, standard deviation, quantiles of numbers")
    add("--table", **COLUMNS, action="append", default=[], help="a table of columns (repeatable)")
    add("--pairs", **yes, help="the tables of all pairs of columns")
    add("--query", metavar="TEXT", action="append", default=[], help="a proportion (repeatable)")
    text = "coefficients of a regression, as 'income ~ age + sex' (repeatable)"
    add("--regress", metavar="FORMULA", action="append", default=[], help=text)
    text = "model of --regress (default: by the outcome)"
    add("--model", choices=("linear", "logistic", "multinomial"), help=text)
    text = "method of --regress (scores)"
    add("--method", choices=("scores", "likelihood"), default="scores", help=text)
    text = "test of each --table (default: all): adjusted, or MCIndep with the noise of the channel"
    add("--test", choices=("independence", "mcindep"), help=text)
    add("--joint", **yes, help="one joint distribution of all columns, which answers each --table")
    add("--columns", **COLUMNS, help="columns of --joint, with their clusters (default: all)")
    text = "repetitions for intervals of --joint that are valid if its model holds (0)"
    add("--repetitions", type=_seed, default=0, metavar="N", help=text)
    add("--consistent", **yes, help="tables that agree on shared marginal distributions")
    add("--two-step", **yes, help="nearest non-negative tables, and independence fitted to them")
    add("--itemsets", **yes, help="frequent item sets of baskets, or of columns of two categories")
    add("--min-support", type=_share, default=0.1, metavar="P", help="least support (0.1)")
    add("--largest", type=int, default=3, metavar="N", help="items in a set of --itemsets (3)")
    text = "probability that any verdict of --itemsets is wrong (0.05)"
    add("--error-rate", type=_share, default=0.05, metavar="P", help=text)
    add("--support", **COLUMNS, action="append", help="proportion with these items (repeatable)")
    text = "proportion of baskets with B among baskets with A (repeatable)"
    add("--rule", type=rule_of, action="append", metavar="A => B", help=text)
    text = "released column of weights that records count by; records of weight 0 do not count"
    add("--weight", metavar="COLUMN", help=text)
    text = "population of the records (default, except for masked numbers), these records, or both"
    add("--target", choices=("population", "file", "both"), help=text)
    text = "with more randomized values than categories: inverse of least variance, or the own one"
    add("--inverse", choices=("least", "own"), default="least", help=text)
    add("--by-stratum", **yes, help="add estimates in each stratum")
    add("--confidence", type=_share, default=0.95, metavar="C", help="level of intervals (0.95)")
    made = parser.add_mutually_exclusive_group()
    made.add_argument(
        "--synthetic", metavar="N", type=int, help="make N synthetic records, in a new --out"
    )
    made.add_argument(
        "--adjusted-weights", **yes, help="make weights that meet the estimates, in a new --out"
    )
    text = "basis of synthetic records: the joint distribution (default) or adjusted weights"
    add("--basis", choices=("joint", "weights"), default="joint", help=text)
    add("--seed", type=_seed, default=0, help="for synthetic records and Monte Carlo tests (0)")
    add("--format", choices=("text", "csv", "json", "html"), default="text", help="text by default")
    add("--out", type=_path, metavar="FILE", help="file to write (default: standard output)")


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


def _ask(text: str) -> int | str:
    if text != "pairs" and not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{shown(text)} is not a number of columns, nor pairs")
    return text if text == "pairs" else int(text)


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{shown(text)} is not a number between 0 and 1")
    return value
