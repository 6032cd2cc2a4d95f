"""The command that protects a file loads few modules."""

import subprocess
import sys
from pathlib import Path

from deniable.plans import make_plan, write_plan
from deniable.release import Ledger
from deniable.schema import schema_from_dict

MAX_MODULES = 70
CODE = """
import sys
from deniable.cli import main
assert main("protect survey.csv plan.json --out release --ledger ledger".split()) == 0
print("modules:", sum(name.partition(".")[0] == "deniable" for name in sys.modules))
"""


def test_a_file_of_two_columns_is_protected_with_few_modules(tmp_path: Path) -> None:
    rows = ["F,e", "M,n", "M,s", "F,n"] * 50
    (tmp_path / "survey.csv").write_text("\n".join(["sex,region", *rows]) + "\n")
    columns = [
        {"name": "sex", "kind": "categorical", "categories": ["F", "M"]},
        {"name": "region", "kind": "categorical", "categories": ["e", "n", "s"]},
    ]
    about = {"format": "deniable-schema", "version": 1, "population": "people"}
    schema = schema_from_dict(about | {"file": {"kind": "csv"}, "columns": columns})
    write_plan(tmp_path / "plan.json", make_plan(schema, 2.0))
    Ledger.init(tmp_path / "ledger")
    done = subprocess.run(
        [sys.executable, "-c", CODE], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert int(done.stdout.rpartition("modules: ")[2]) <= MAX_MODULES
