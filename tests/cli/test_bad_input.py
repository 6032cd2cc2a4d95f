"""Files at fault: one message that names the file, exit code 2, nothing written, no long wait."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from deniable.channels import KeepOrReplace
from deniable.channels.files import write_channel
from deniable.cli import main

LONGEST_WAIT = 5.0  # seconds
MATRIX = ",a,b\na,.8,.2\nb,.3,.7\n"
DEEP = "[" * 20_000
BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


def answer(folder: Path, capsys, *arguments: str) -> str:
    """Return the message for what was given, after looking at what came of it."""
    before = sorted(folder.iterdir())
    begun = time.process_time()  # others may have the cores
    assert main(arguments) == 2
    assert time.process_time() - begun < LONGEST_WAIT
    out, err = capsys.readouterr()
    assert out == ""
    assert sorted(folder.iterdir()) == before
    assert err.startswith("deniable: error: ")
    assert err.endswith("\n")
    assert all(line.isprintable() for line in err.splitlines())
    assert "Traceback" not in err
    assert len(err) < 5000
    return err.removeprefix("deniable: error: ")


MATRICES = {
    "empty": (b"", "empty"),
    "blank": (b" \n\n", "empty"),
    "UTF-16": (MATRIX.encode("utf-16"), "not UTF-8"),
    "UTF-16 without mark": (MATRIX.encode("utf-16-le"), "not UTF-8"),
    "Latin-1": ("é,a\na,1".encode("latin-1"), "not UTF-8"),
    "binary": (bytes(range(256)), "not UTF-8"),
    "NUL": (b",a,b\na,.8,.2\nb\0,.3,.7\n", "not UTF-8"),
    "open quote": (b',a,b\na,".8,.2\n', "not CSV"),
    "text after a quote": (b',a\n"a"b,1\n', "not CSV"),
    "semicolons": (b";a;b\na;.8;.2\n", "separated by ';'"),
    "tabs": (b"\ta\tb\na\t.8\t.2\n", "separated by '\\t'"),
    "decimal commas": (b',a,b\na,"0,8","0,2"\nb,"0,3","0,7"\n', "'0,8', which is not a number"),
    "header alone": (b",a,b\n", "no row for 'a', 'b'"),
    "no columns": (b"true\n", "names no categories"),
    "header too short": (b"a,b\na,.8,.2\nb,.3,.7\n", "one more"),
    "row too short": (b",a,b\na,.8\nb,.3,.7\n", "line 2 has 2 cells"),
    "row too long": (b",a,b\na,.8,.2,0\nb,.3,.7\n", "line 2 has 4 cells"),
    "category twice": (b",a,a\na,.8,.2\na,.3,.7\n", "'a' twice"),
    "row twice": (b",a,b\na,.8,.2\na,.3,.7\n", "two rows"),
    "row of nobody": (b",a,b\na,.8,.2\n,.3,.7\n", "line 3 names no category"),
    "column of nobody": (b",a,\na,.8,.2\nb,.3,.7\n", "column 3 of the header"),
    "other names": (b",a,b\nx,.8,.2\ny,.3,.7\n", "'x', 'y' among the rows"),
    "row missing": (b",a,b\na,.8,.2\n", "no row for 'b'"),
    "percent": (b",a,b\na,80%,20%\nb,.3,.7\n", "a percentage; write 0.8"),
    "percentages": (b",a,b\na,80,20\nb,30,70\n", "divide them by 100"),
    "negative": (b",a,b\na,1.2,-.2\nb,.3,.7\n", "column 'b' has '-.2', which is negative"),
    "missing": (b",a,b\na,.8,\nb,.3,.7\n", "'', which is not a number"),
    "NaN": (b",a,b\na,nan,.2\nb,.3,.7\n", "'nan', which is not a number"),
    "infinite": (b",a,b\na,inf,.2\nb,.3,.7\n", "'inf', which is not a number"),
    "exponent": (b",a,b\na,1e9999,.2\nb,.3,.7\n", "'1e9999', which is not a number"),
    "beyond floats": (b",a,b\na,1e999,.2\nb,.3,.7\n", "sums to inf"),
    "5,000 digits": (b",a,b\na,.8,.2\nb,.3," + b"7" * 5000 + b"\n", "sums to inf"),
    "long fraction": (b",a,b\na,1/" + b"3" * 5000 + b",.2\nb,.3,.7\n", "which is not a number"),
    "over zero": (b",a,b\na,1/0,.2\nb,.3,.7\n", "'1/0', which is not a number"),
    "other digits": (",a,b\na,٠,١\nb,.3,.7\n".encode(), "which is not a number"),
    "hexadecimal": (b",a,b\na,0x1,.2\nb,.3,.7\n", "'0x1', which is not a number"),
    "date": (b",a,b\na,2020-01-01,.2\nb,.3,.7\n", "'2020-01-01', which is not a number"),
    "sum": (b",a,b\na,.8,.1\nb,.3,.7\n", "row 'a' (line 2) sums to 0.9"),
    "columns sum": (b",a,b\na,.8,.3\nb,.2,.7\n", "transpose it"),
    "escape": (b",a,\x1b[31mb\na,.8,.1\n\x1b[31mb,.3,.7\n", "row 'a' (line 2)"),
    "escape in a row": (b",a,b\na,.8,.2\n\x1b[2Jb,.3,.7\n", "'\\x1b[2Jb' among the rows"),
    "newline": (b',a,"b\nc"\na,.8,.2\n', "no row for 'b\\nc'"),
    "name of 5,000": (b",a," + b"b" * 5000 + b"\na,.8,.2\n", "no row for 'bbbb"),
    "YAML": (b"a: 1\nb: 2\n", "names no categories"),
    "JSON": (b'{"a": 1}\n', "names no categories"),
    "web page": (b"<!doctype html><html></html>\n", "names no categories"),
    "Parquet": (b"PAR1\x15\x04\x15\x10\xff\xfe\0PAR1", "not UTF-8"),
    "too many": (b"," + b",".join(b"c%d" % u for u in range(4097)) + b"\n", "4,097 categories"),
}


@pytest.mark.parametrize(("raw", "words"), MATRICES.values(), ids=MATRICES)
def test_a_matrix(tmp_path, monkeypatch, capsys, raw: bytes, words: str):
    monkeypatch.chdir(tmp_path)
    Path("m.csv").write_bytes(raw)
    said = answer(tmp_path, capsys, "channel", "m.csv")
    assert said.startswith("m.csv: ")
    assert said.count("\n") == 1
    assert words in said


COLUMNS = {
    "empty": ("", "empty"),
    "no column": ("category\na\nb\n", "'{name}' is not there"),
    "column twice": ("category,{name},{name}\na,1,1\nb,0,0\n", "'{name}' is twice"),
    "no categories": ("{name}\n1\n0\n", "'category' is not there"),
    "no rows": ("category,{name}\n", "no row for 'a', 'b'"),
    "missing": ("category,{name}\na,1\n", "no row for 'b'"),
    "unknown": ("category,{name}\na,1\nb,0\nc,0\n", "'c' among the rows"),
    "twice": ("category,{name}\na,1\na,0\nb,0\n", "two rows"),
    "negative": ("category,{name}\na,2\nb,-1\n", "column '{name}' has '-1'"),
    "no number": ("category,{name}\na,one\nb,0\n", "column '{name}' has 'one'"),
    "NaN": ("category,{name}\na,nan\nb,1\n", "column '{name}' has 'nan'"),
    "no value": ("category,{name}\na,\nb,1\n", "column '{name}' has ''"),
    "long row": ("category,{name}\na,1,2\nb,1\n", "line 2 has 3 cells"),
    "escape": ("category,{name}\na,\x1b[2J\nb,1\n", "'\\x1b[2J'"),
    "semicolons": ("category;{name}\na;1\nb;0\n", "separated by ';'"),
    "zeros": ("category,{name}\na,0\nb,0\n", "0"),
    "5,000 letters": ("category,{name}\na," + "x" * 5000 + "\nb,1\n", "xxx..."),
}


@pytest.mark.parametrize("name", ["probability", "count"])
@pytest.mark.parametrize(("text", "words"), COLUMNS.values(), ids=COLUMNS)
def test_a_prior_and_counts(tmp_path, monkeypatch, capsys, text: str, words: str, name: str):
    monkeypatch.chdir(tmp_path)
    Path("m.csv").write_text(MATRIX, encoding="utf-8")
    Path("v.csv").write_text(text.replace("{name}", name), encoding="utf-8")
    option = "--prior" if name == "probability" else "--counts"
    said = answer(tmp_path, capsys, "channel", "m.csv", option, "v.csv")
    assert said.startswith("v.csv: ")
    assert words.replace("{name}", name) in said


@pytest.mark.parametrize("count", ["1.5", "1e16", "1/2", "9" * 5000, "1,000", "-0.5"])
def test_counts_that_are_no_numbers_of_records(tmp_path, monkeypatch, capsys, count: str):
    monkeypatch.chdir(tmp_path)
    Path("m.csv").write_text(MATRIX, encoding="utf-8")
    Path("c.csv").write_text(f'category,count\na,"{count}"\nb,1\n', encoding="utf-8")
    said = answer(tmp_path, capsys, "channel", "m.csv", "--counts", "c.csv")
    assert said.startswith("c.csv: row 'a' (line 2), column 'count' has ")


SPECIFICATIONS = {
    "empty": ("", "no options"),
    "list": ("- a\n", "no options"),
    "text": ("hello", "no options"),
    "deep": (DEEP, "line 1: nested too deeply"),
    "deep blocks": ("- " * 20_000, "line 1: nested too deeply"),
    "aliases": (BOMB, "repeats too much"),
    "itself": ("a: &a [*a]\n", "line 1: *a is inside the value that it repeats"),
    "itself as an option": ("requirements: &r {cost: *r}\n", "is inside the value that it repeats"),
    "no anchor": ("a: *b\n", "line 1: found undefined alias"),
    "open list": ("a: [", "line 1"),
    "tab": ("a:\n\t- b\n", "line 2"),
    "two documents": ("a: 1\n---\nb: 2\n", "another document"),
    "another tag": ("a: !!python/object:os.system x\n", "could not determine a constructor"),
    "NUL": ("a: \0", "not UTF-8"),
    "control character": ("a: \x07", "control characters are not allowed"),
    "option twice": ("loss: trace\nloss: trace\n", "loss is given a second time"),
    "no such date": ("proportions: {a: 2021-13-45, b: 1}", "line 1: month must be"),
    "date": ("proportions: {a: 2021-12-01, b: 1}", "allowed: a number"),
    "5,000 digits": (f"records: {'9' * 5000}\n", "has 5,000 characters"),
    "500 digits": (
        f"proportions: {{a: 0.5, b: 0.5}}\nrecords: {'9' * 500}\n",
        "at most 9007199254740992|at most 63 bits",
    ),
    "sexagesimal": (f"records: 1{':00' * 5000}\n", "characters"),
    "no whole number": ("records: !!int x\n", "line 1: invalid literal"),
    "no digits": ("!!int : 1\n", "line 1: '' is not a valid int"),
    "no truth": ("records: !!bool x\n", "line 1: 'x' is not a valid bool"),
    "binary": ("loss: !!binary é\n", "line 1"),
    "infinite": ("proportions: {a: .inf, b: 0}\n", "proportions.a: inf"),
    "NaN": ("proportions: {a: .nan, b: 0}\n", "proportions"),
    "quoted": ("proportions: {a: '0.5', b: 0.5}\n", "without quotes"),
    "exponent": ("proportions: {a: 1e-3, b: 0.5}\n", "write 1.0e-3"),
    "truth as a name": ("proportions: {yes: 0.5, b: 0.5}\n", "in quotes"),
    "unhashable key": ("? [a]\n: b\n", "unhashable key"),
    "spaces": ("proportions: {'a ': 0.5, b: 0.5}\n", "'a ' has white space around it"),
    "spaces in a list": (
        "categories: [a, ' b']\nproportions: [0.5, 0.5]\n",
        "categories[1]: ' b' has white space around it",
    ),
    "newline after a name": ('proportions: {"a\\n": 0.5, b: 0.5}\n', "'a\\n' has white space"),
    "twice": ("categories: [a, a]\nproportions: [0.5, 0.5]\n", "'a' is repeated"),
    "no name": ("proportions: {'': 0.5, b: 0.5}\n", "not empty|a category's name"),
    "sum": ("proportions: {a: 0.5, b: 0.4}\n", "they sum to 0.9"),
    "above 1": ("proportions: {a: 1.5, b: 0}\n", "at most 1"),
    "both": ("proportions: {a: 1}\ncounts: {a: 1}\n", "both of proportions and counts"),
    "neither": ("loss: trace\n", "neither of proportions and counts"),
    "no counts": ("counts: {a: 0, b: 0}\n", "all are 0"),
    "counts of a part": ("counts: {a: 0.5, b: 1}\n", "a whole number"),
    "no file of counts": ("counts: none.csv\n", "none.csv: No such file"),
    "NUL in a path": ('counts: "a\\0b"\n', "not a path of a file"),
    "long path": (f"counts: {'x' * 300}\n", "File name too long"),
    "unknown option": ('proportions: {a: 1}\n"\\e[2J": 1\n', "\\x1b[2J: unknown option"),
    "unknown category": (
        'proportions: {"a\\e[2J": 0.5, b: 0.5}\nrequirements: {forbidden: [[b, c]]}\n',
        "there are a\\x1b[2J, b",
    ),
    "a pair of three": (
        "proportions: {a: 0.5, b: 0.5}\nrequirements: {forbidden: [[a, b, a]]}\n",
        "forbidden[0]",
    ),
    "epsilon": ("proportions: {a: 1}\nrequirements: {epsilon: -1}\n", "at least 0"),
    "no section": ("proportions: {a: 1}\nrequirements: 3\n", "a section"),
    "costs of one row": (
        "proportions: {a: 0.5, b: 0.5}\nloss: distance\nrequirements: {cost: {matrix: [[0, 1]]}}\n",
        "requirements: ",
    ),
    "100,000 faults": ("".join(f"x{u}: 1\n" for u in range(100_000)), "unknown option"),
    "too large": ("# " + "x" * 4_000_001, "over 4,000,000 bytes"),
}


@pytest.mark.parametrize(("text", "words"), SPECIFICATIONS.values(), ids=SPECIFICATIONS)
def test_a_specification(tmp_path, monkeypatch, capsys, text: str, words: str):
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(text, encoding="utf-8")
    said = answer(tmp_path, capsys, "design", "s.yaml")
    assert "s.yaml: " in said or "none.csv" in said or "counts" in text
    assert any(each in said for each in words.split("|"))


@pytest.mark.parametrize("command", ["channel", "design"])
def test_a_file_that_is_none(tmp_path, monkeypatch, capsys, command: str):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    assert "none: No such file" in answer(tmp_path, capsys, command, "none")
    assert "folder: Is a directory" in answer(tmp_path, capsys, command, "folder")
    assert "File name too long" in answer(tmp_path, capsys, command, "x" * 300)


@pytest.mark.parametrize("path", ["a\nb.csv", "\x1b[2J.csv"])
def test_a_path_that_cannot_be_shown(capsys, path: str):
    with pytest.raises(SystemExit) as caught:
        main(["channel", path])
    assert caught.value.code == 2
    said = capsys.readouterr().err
    assert repr(path) in said
    assert all(line.isprintable() for line in said.splitlines())


def test_answers_escape_what_cannot_be_shown(tmp_path, capsys):
    file = tmp_path / "m.csv"
    file.write_text(',a,"\x1b[2J"\na,.8,.2\n"\x1b[2J",.3,.7\n', encoding="utf-8")
    counts = tmp_path / "c.csv"
    counts.write_text('category,count\na,50\n"\x1b[2J",50\n', encoding="utf-8")
    assert main(["channel", str(file), "--counts", str(counts)]) == 0
    out = capsys.readouterr().out
    assert "\\x1b[2J" in out
    assert "\x1b" not in out


@pytest.mark.parametrize("with_counts", [False, True])
def test_600_categories_of_like_entries_are_answered_soon(tmp_path, with_counts: bool):
    names = [f"c{u}" for u in range(600)]
    write_channel(tmp_path / "m.csv", KeepOrReplace.uniform(600, 0.4), names)
    rows = "".join(f"{name},{100 + u}\n" for u, name in enumerate(names))
    (tmp_path / "c.csv").write_text(f"category,count\n{rows}", encoding="utf-8")
    counts = ["--counts", "c.csv"] if with_counts else []
    # Numba would compile for seconds before it answers the first time.
    code = (
        "import sys, time\n"
        "from deniable.cli import main\n"
        f"assert main(['channel', 'm.csv', *{counts}]) == 0\n"
        "assert 'numba' not in sys.modules\n"
        "sys.exit(time.process_time() > 5)  # 0.6 without counts, 1.4 with them, as a rule\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "600 categories" in done.stdout
