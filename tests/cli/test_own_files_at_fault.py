"""Files, schemas, plans and options at fault, given to the commands for a file of one's own."""

import copy
import os
import shutil
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from deniable.cli import main
from deniable.plans import make_plan, write_plan
from deniable.release import Ledger
from deniable.schema import read_schema

LONGEST_WAIT = 5.0  # seconds
HEADER = "person,sex,age,region,smokes,weight"
ROWS = [
    f"{100 + u},{'FM'[u % 2]},{20 + u % 60},{('east', 'north')[u % 2]},{('yes', '')[u % 2]},1.5"
    for u in range(200)
]
SCHEMA: dict[str, Any] = {
    "format": "deniable-schema",
    "version": 1,
    "population": "survey",
    "file": {"kind": "csv", "delimiter": ",", "encoding": "utf-8"},
    "columns": [
        {"name": "person", "kind": "identifier"},
        {"name": "sex", "kind": "categorical", "categories": ["F", "M"]},
        {"name": "age", "kind": "numeric", "bounds": [20, 80], "step": 1},
        {"name": "region", "kind": "categorical", "categories": ["east", "north"]},
        {
            "name": "smokes",
            "kind": "categorical",
            "categories": ["yes", "no"],
            "missing": {"values": [""], "policy": "category"},
        },
        {"name": "weight", "kind": "weight"},
    ],
}
PROTECT = "protect survey.csv plan.json --ledger ledger --out out"
TRY = "protect survey.csv plan.json --out out --test 1"
DRAFT = "schema survey.csv"
PLAN, COMPARE = "plan survey.yaml --out p.json", "compare survey.csv survey.yaml"
ESTIMATE = "estimate public"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with all that is right."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "survey.csv").write_text("\n".join([HEADER, *ROWS, ""]))
    (folder / "survey.yaml").write_text(yaml.safe_dump(SCHEMA, sort_keys=False))
    before = Path.cwd()
    os.chdir(folder)
    try:
        assert main(["plan", "survey.yaml", "--epsilon", "2", "--out", "plan.json"]) == 0
        assert main(["ledger", "init", "ledger"]) == 0
        assert main([*PROTECT.split()[:-1], "made"]) == 0
    finally:
        os.chdir(before)
    shutil.move(folder / "made" / "public", folder / "public")
    shutil.rmtree(folder / "made")
    (folder / "ledger").rename(folder / "used")
    Ledger.init(folder / "ledger")
    return folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(whole, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def files_in(folder: Path) -> list[Path]:
    """Return all files and folders except logs of ledgers."""
    return sorted(each for each in folder.rglob("*") if each.name != "log.jsonl")


def refused(folder: Path, capsys: pytest.CaptureFixture[str], *command: str) -> str:
    """Return the message, one that can be shown and came soon, after which nothing new is there.

    Only the log of the ledger, which names refusals, may be new.
    """
    before = files_in(folder)
    begun = time.process_time()
    try:
        code = main(command)
    except SystemExit as ended:  # of argparse
        code = int(str(ended.code))
    assert time.process_time() - begun < LONGEST_WAIT
    said = capsys.readouterr()
    assert code == 2, said
    assert said.out == ""
    assert files_in(folder) == before
    assert said.err.count("error: ") == 1
    assert all(line.isprintable() for line in said.err.splitlines())
    return said.err.partition("error: ")[2]


def record(text: str | bytes) -> Callable[[], object]:
    """Return what puts something in the place of the third record."""
    raw = text.encode() if isinstance(text, str) else text

    def write() -> None:
        lines = Path("survey.csv").read_bytes().split(b"\n")
        Path("survey.csv").write_bytes(b"\n".join([*lines[:3], raw, *lines[4:]]))

    return write


def header(text: str) -> Callable[[], object]:
    def write() -> None:
        given = Path("survey.csv").read_text()
        Path("survey.csv").write_text(given.replace(HEADER, text, 1))

    return write


def raw(change: Callable[[bytes], bytes], name: str = "survey.csv") -> Callable[[], object]:
    return lambda: Path(name).write_bytes(change(Path(name).read_bytes()))


def column(position: int, **values: Any) -> Callable[[], object]:
    def write() -> None:
        schema = copy.deepcopy(SCHEMA)
        schema["columns"][position] |= values
        Path("survey.yaml").write_text(yaml.safe_dump(schema, sort_keys=False))

    return write


def parquet(**columns: Any) -> Callable[[], object]:
    return lambda: pq.write_table(pa.table(columns), "x.parquet")


def as_it_is() -> None:
    pass


def clustered() -> None:
    plan = make_plan(read_schema("survey.yaml"), 2.0, clusters=[("sex", "region")])
    write_plan("plan.json", plan)


def unnamed() -> None:
    plan = make_plan(read_schema("survey.yaml").model_copy(update={"population": None}), 2.0)
    write_plan("plan.json", plan)


ENTRY = "populations/survey/000001.json"
FAULTS: dict[str, tuple[str, Callable[[], object], str]] = {
    # -- records, protected
    "no such column": (PROTECT, header("person,sex,age,region,smokes"), "no column 'weight'"),
    "another case": (PROTECT, header(HEADER.replace("sex", "Sex")), "no column 'sex'"),
    "one column more": (PROTECT, header(HEADER + ",more"), "'more' are not in the schema"),
    "columns in another order": (PROTECT, header("sex,person,age,region,smokes,weight"), "'100'"),
    "column twice": (PROTECT, header("person,sex,sex,region,smokes,weight"), "rename one"),
    "short": (PROTECT, record("102,F,30"), "record 3 ('102,F,30') has 3 values instead of 6"),
    "long": (PROTECT, record("102,F,30,east,yes,1,1"), "has 7 values instead of 6"),
    "no category": (PROTECT, record("102,X,30,east,yes,1"), "record 3, column 'sex' has 'X'"),
    "space": (PROTECT, record("102,F ,30,east,yes,1"), "'F ', which is the category 'F' except"),
    "no sex": (PROTECT, record("102,,30,east,yes,1"), "column 'sex' has a missing value"),
    "words": (PROTECT, record("102,F,thirty,east,yes,1"), "'thirty', which is not a number"),
    "comma": (PROTECT, record('102,F,"30,5",east,yes,1'), 'or write decimal: "," in the schema'),
    "NaN": (PROTECT, record("102,F,nan,east,yes,1"), "'nan', which is not a number"),
    "infinite": (PROTECT, record("102,F,-inf,east,yes,1"), "'-inf', which is not a number"),
    "hexadecimal": (PROTECT, record("102,F,0x1f,east,yes,1"), "'0x1f', which is not a number"),
    "grouped": (PROTECT, record("102,F,3_0,east,yes,1"), "'3_0', which is not a number"),
    "other digits": (PROTECT, record("102,F,٣٠,east,yes,1"), "which is not a number"),
    "5,000 digits": (PROTECT, record(f"102,F,{'9' * 5000},east,yes,1"), "which is not a number"),
    "date": (PROTECT, record("102,F,2020-01-01,east,yes,1"), "which is not a number"),
    "no age": (PROTECT, record("102,F,,east,yes,1"), "column 'age' has a missing value"),
    "NUL": (PROTECT, record("102,F\0,30,east,yes,1"), "line 4 has the character NUL"),
    "escape": (PROTECT, record("102,\x1b[2J,30,east,yes,1"), "has '\\x1b[2J', which is no"),
    "no UTF-8": (
        PROTECT,
        record(b"102,\xff,30,east,yes,1"),
        "line 4 is not text in the encoding",
    ),
    "open quote": (PROTECT, record('102,"F,30,east,yes,1'), "line 4: a quotation mark is left"),
    "UTF-16": (PROTECT, raw(lambda text: text.decode().encode("utf-16")), "is not text in"),
    "semicolons": (PROTECT, raw(lambda text: text.replace(b",", b";")), "likely ';'"),
    "nothing": (PROTECT, raw(lambda _: b""), "no text in the file"),
    "no records": (PROTECT, raw(lambda text: text.split(b"\n")[0]), "no records"),
    "packed": (PROTECT, raw(lambda _: b"\x1f\x8b\x08\0"), "this is gzip"),
    "SPSS": (PROTECT, raw(lambda _: b"$FL2@(#) SPSS DATA FILE\0"), "this is SPSS, not CSV"),
    "Stata": (PROTECT, raw(lambda _: b"<stata_dta><header>\0"), "this is Stata, not CSV"),
    "Parquet": (PROTECT, lambda: pq.write_table(pa.table({"sex": ["F"]}), "survey.csv"), "parquet"),
    "not there": (PROTECT, lambda: Path("survey.csv").unlink(), "No such file"),
    "pipe": (PROTECT, lambda: (Path("survey.csv").unlink(), os.mkfifo("survey.csv")), "read twice"),
    # -- options of protect
    "file in the way": (PROTECT, lambda: Path("out").touch(), "out: a file exists there"),
    "long name": (PROTECT + "x" * 200, as_it_is, "a name of at most 100 letters"),
    "odd name": (PROTECT + " --name a/b", as_it_is, "cannot be named 'a/b'"),
    "key twice": (
        PROTECT + " --quasi-identifiers sex,sex",
        as_it_is,
        "quasi-identifier 'sex' is given twice",
    ),
    "key of nobody": (PROTECT + " --quasi-identifiers nobody", as_it_is, "no attribute 'nobody'"),
    "half a cluster as keys": (
        PROTECT + " --quasi-identifiers sex,age",
        clustered,
        "name all of them, or none",
    ),
    "no folder of keys": (PROTECT + " --key-folder none", as_it_is, "does not exist; make it"),
    "file of keys": (
        PROTECT + " --key-folder plan.json",
        as_it_is,
        "plan.json: the folder for the key does not exist",
    ),
    "schema as plan": (PROTECT.replace("plan.json", "survey.yaml"), as_it_is, "this is a schema"),
    "test with a ledger": (PROTECT + " --test 1 --ledger led", as_it_is, "leave out --ledger"),
    "test with a consent": (TRY + " --consent yes", as_it_is, "leave out --ledger, --consent"),
    "test with a key": (TRY + " --key-folder .", as_it_is, "--consent, --key-folder"),
    "no seed": (PROTECT + " --test x", as_it_is, "'x' is not a whole number from 0"),
    "ledger in a file": (PROTECT + " --ledger plan.json", as_it_is, "plan.json: not a ledger"),
    "ledger nowhere": (PROTECT + " --ledger none", as_it_is, "make one by: deniable ledger init"),
    "no ledger": (PROTECT.replace("--ledger ledger ", ""), as_it_is, "no ledger is named"),
    "ledger open to others": (PROTECT, lambda: Path("ledger").chmod(0o755), "with chmod 700"),
    "no people": (PROTECT, unnamed, "no population is stated"),
    "other people": (PROTECT + " --population others", as_it_is, "the schema states 'survey'"),
    "odd people": (PROTECT + " --population a/b", as_it_is, "the population 'a/b'"),
    # -- ledgers
    "show no ledger": ("ledger show", as_it_is, "no ledger is named"),
    "show a folder": ("ledger show --ledger public", as_it_is, "public: not a ledger"),
    "show damage": (
        "ledger show --ledger used",
        raw(lambda text: text.replace(b"2", b"3"), f"used/{ENTRY}"),
        "this entry is damaged",
    ),
    "show a loss": (
        "ledger show --ledger used",
        lambda: Path(f"used/{ENTRY}").unlink(),
        "this entry is lost",
    ),
    "ledger in a folder": (
        "ledger init public",
        as_it_is,
        "not an empty folder; name a new folder",
    ),
    "ledger as a file": ("ledger init plan.json", as_it_is, "not an empty folder; name a new"),
    "ledger twice": ("ledger init ledger", as_it_is, "not an empty folder; name a new folder"),
    "ledger below a file": ("ledger init plan.json/x", as_it_is, "plan.json"),
    # -- drafts
    "no header": (DRAFT, header("\n"), "line 1 is empty"),
    "zeros after all": (DRAFT, lambda: os.truncate("survey.csv", 1 << 31), "line 202 has the char"),
    "no name": (DRAFT, header("person,,age,region,smokes,weight"), "column 2 has no name"),
    "newline in a name": (DRAFT, header('person,"s\nx",age,region,smokes,weight'), "on one line"),
    "escape in a name": (DRAFT, header(HEADER.replace("sex", "s\x1b[2Jx")), "control character"),
    "256 bytes": (DRAFT, header(HEADER.replace("sex", "s" * 256)), "its name has over 255 bytes"),
    "no encoding": (DRAFT + " --encoding klingon", as_it_is, "'klingon' is unknown"),
    "no text": (DRAFT + " --encoding base64", as_it_is, "'base64' is unknown"),
    "two delimiters": (DRAFT + " --delimiter ;;", as_it_is, "give one ASCII character"),
    "odd population": (DRAFT + " --population a/b", as_it_is, "the population 'a/b'"),
    "no rows": ("schema x.parquet", parquet(a=pa.array([], pa.string())), "no records"),
    "cut Parquet": (
        "schema x.parquet",
        lambda: (parquet(a=["F"])(), raw(lambda text: text[:90], "x.parquet")()),
        "not readable as Parquet",
    ),
    "empty folder": ("schema x", lambda: Path("x").mkdir(), "no Parquet file in the folder"),
    # -- plans
    "epsilon 0": (PLAN + " --epsilon 0", as_it_is, "finite number above 0"),
    "no epsilon": (PLAN, as_it_is, "needs SCHEMA.yaml, --epsilon and --out"),
    "hardly any epsilon": (PLAN + " --epsilon 1e-300", as_it_is, "give 4e-05 or more"),
    "infinite epsilon": (PLAN + " --epsilon 1e400", as_it_is, "finite number above 0"),
    "drafted": (PLAN + " --epsilon 1", column(1, status="drafted"), "--accept drafted"),
    "table of nobody": (PLAN + " --epsilon 1 --table sex,x", as_it_is, "unknown column"),
    "in two clusters": (
        PLAN + " --epsilon 1 --cluster sex,age --cluster sex,region",
        as_it_is,
        "'sex' is in two clusters",
    ),
    "magic": (PLAN + " --epsilon 1 --mechanism magic", as_it_is, "unknown mechanism 'magic'"),
    "waves of text": (PLAN + " --epsilon 1 --mechanism sex=square-wave", as_it_is, "is for a num"),
    "accept all": (PLAN + " --epsilon 1 --accept all", as_it_is, "'all' is not a risk"),
    "data": (PLAN + " --epsilon 1 --data survey.csv", as_it_is, "--accept chosen_by_data"),
    "half a prior": (
        PLAN + " --epsilon 1 --prior sex=prior.csv",
        lambda: Path("prior.csv").write_text("category,probability\nF,1\n"),
        "prior.csv: no row for 'M'",
    ),
    "folder in the way": (
        "plan survey.yaml --out x --epsilon 1",
        lambda: Path("x").mkdir(),
        "x: a folder, which a plan cannot replace. Name a file",
    ),
    "pipe in the way": (PLAN + " --epsilon 1", lambda: os.mkfifo("p.json"), "a device or pipe"),
    "verify a schema": ("plan --verify survey.yaml", as_it_is, "survey.yaml: this is a schema"),
    "plan as schema": ("plan plan.json --epsilon 1 --out p", as_it_is, "a plan, but a schema is"),
    "plan as options": (PLAN + " --settings plan.json", as_it_is, "file of format 'deniable-plan'"),
    "mechanism plan": (PLAN + " --epsilon 1 --mechanism plan", as_it_is, "mechanism 'plan'; use"),
    "typed CSV": (PLAN + " --epsilon 1", column(2, type="int64"), "type 'int64' of 'age'; allowed"),
    "empty name": (PLAN + " --epsilon 1 --table sex,,age", as_it_is, "write sex,income"),
    "verify at epsilon": (
        "plan --verify plan.json --epsilon 2",
        as_it_is,
        "not use the option eps",
    ),
    "settings and split": (
        PLAN + " --settings plan.json --split optimal",
        as_it_is,
        "--settings does not use the option split; leave it out",
    ),
    "settings and part": (
        PLAN + " --settings plan.json --part 1/2:x",
        as_it_is,
        "--settings does not use the option part; leave it out, or state it in that file",
    ),
    "prior of nothing": (PLAN + " --epsilon 1 --prior sex=", as_it_is, "give COLUMN=FILE.csv"),
    "prior of a weight": (
        PLAN + " --epsilon 1 --prior weight=x.csv",
        as_it_is,
        "unknown column to randomize 'weight'",
    ),
    "part as text": (
        "plan --verify plan.json",
        raw(lambda text: text.replace(b'"part": null', b'"part": "x"'), "plan.json"),
        "plan.json: damaged or edited; make the plan again",
    ),
    "file for a test": (
        PROTECT.replace("--ledger ledger", "--test 1"),
        lambda: (Path("out").mkdir(), Path("out/test").touch()),
        "out/test: a file or a link is there",
    ),
    "verify and more": ("plan survey.yaml --verify plan.json", as_it_is, "option schema"),
    "numbers as names": (
        PLAN + " --epsilon 1",
        column(1, categories=[1.5, 2]),
        "column 'sex': columns[1].categories[0]: 1.5",
    ),
    "dates as names": (
        PLAN + " --epsilon 1",
        column(1, categories=[date(2020, 1, 2), "F"]),
        "2020-01-02; allowed: text, in quotes if it looks like a number or a date",
    ),
    "decimals of text": (
        PLAN + " --epsilon 1",
        column(1, decimal=","),
        "decimal of 'sex'; allowed",
    ),
    "a million": (PLAN + " --epsilon 1", column(2, bounds=[0, 1e9]), "columns[2]"),
    "missing and not": (
        PLAN + " --epsilon 1",
        column(1, missing={"values": ["F"], "policy": "category"}),
        "'F'",
    ),
    # -- comparisons and estimates
    "plan to compare by": ("compare survey.csv plan.json --epsilon 1", as_it_is, "this is a plan"),
    "compare at 0": (COMPARE + " --epsilon 0", as_it_is, "finite number above 0"),
    "file for pictures": (
        COMPARE + " --epsilon 1 --out plan.json",
        as_it_is,
        "a file, not a folder",
    ),
    "into public": (
        ESTIMATE + " --out public/x.txt",
        as_it_is,
        "this is in public, an input of the command",
    ),
    "into a folder": (
        ESTIMATE + " --out .",
        as_it_is,
        ".: a folder, which a file of estimates cannot replace",
    ),
    "columns apart": (ESTIMATE + " --table sex age", as_it_is, "age; write columns with commas"),
    "nowhere": (PLAN + " --epsilon 1 --out=", as_it_is, "is empty; give a path"),
    "private": ("estimate .", as_it_is, "SHA256SUMS: missing"),
    "edited": (ESTIMATE, raw(lambda text: text[:-9], "public/protected.csv"), "damaged or edited"),
    "no list": (ESTIMATE, lambda: Path("public/SHA256SUMS").unlink(), "SHA256SUMS"),
    "table of one twice": (ESTIMATE + " --table sex,sex", as_it_is, "'sex' twice"),
    "no query": (ESTIMATE + " --query ===", as_it_is, "write conditions as"),
    "other digits in a query": (ESTIMATE + " --query age<٤٥", as_it_is, "is not a number"),
    "grouped digits in a query": (ESTIMATE + " --query age<4_5", as_it_is, "is not a number"),
    "no order": (ESTIMATE + " --query region<north", as_it_is, "region"),
    "no weight": (ESTIMATE + " --weight weight", as_it_is, "weight"),
    "confidence 95": (ESTIMATE + " --confidence 95", as_it_is, "confidence"),
    "no memory": (ESTIMATE + f" --synthetic {10**14} --out s.csv", as_it_is, "not enough memory"),
    "no synthetic": (ESTIMATE + " --synthetic 0 --out s.csv", as_it_is, "synthetic"),
    "format": (ESTIMATE + " --format xlsx", as_it_is, "invalid choice: 'xlsx'"),
}


@pytest.mark.parametrize(("command", "prepare", "words"), FAULTS.values(), ids=FAULTS)
def test_one_message_and_nothing_half_written(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    command: str,
    prepare: Callable[[], object],
    words: str,
) -> None:
    prepare()
    assert words in refused(folder, capsys, *command.split())
