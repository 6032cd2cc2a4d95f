"""A sweep of releases as a whole: the chain of each release, one table, one figure."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

pytestmark = pytest.mark.workflow

CONFIG: dict[str, Any] = {
    "data": {"source": "surrogate"},
    "releases": [
        {
            "name": "swept",
            "data": "adult",
            "mode": "test",
            "plan": {"kind": "columns", "columns": ["race", "sex", "income"], "mechanism": "best"},
            "grid": {"epsilon": [1.0, 4.5]},
        }
    ],
}
OUTPUTS = [f"results/sweeps/swept.{kind}" for kind in ("csv", "svg", "png")]


FILE = "config/config.yaml"


def write(folder: Path, config: dict[str, Any]) -> None:
    (folder / FILE).write_text(yaml.safe_dump(config), encoding="utf-8")


@pytest.mark.slow
def test_a_grid_of_two_epsilons_gives_one_table_and_figure(untouched: Any) -> None:
    write(untouched.folder, CONFIG)
    arguments = ("--configfile", FILE, "--cores", "2", *OUTPUTS)
    untouched.made(*arguments)
    table = pd.read_csv(untouched.folder / OUTPUTS[0])
    assert list(dict.fromkeys(table["release"])) == ["swept-epsilon-1", "swept-epsilon-4_5"]
    assert (table["exact_epsilon"] <= table["epsilon"]).all()
    assert (table["exact_epsilon"] > 0.99 * table["epsilon"]).all()
    assert set(table["records"]) == {600}
    assert set(table["data_source"]) == {"surrogate"}
    unbiased = table[table["estimates"] == "unbiased"].set_index("epsilon")
    # The expected error falls as 1 / epsilon, or faster.
    assert unbiased["expected_error"][4.5] < unbiased["expected_error"][1.0] / 3
    assert {"marginal distributions", "pairs"} == set(table["of"])
    assert "exact ε".encode() in (untouched.folder / OUTPUTS[1]).read_bytes()
    assert "Nothing to be done" in untouched.made(*arguments)
    # A further value makes the chain of one release, and the table again.
    more = CONFIG["releases"][0] | {"grid": {"epsilon": [1.0, 4.5, 2.0]}}
    write(untouched.folder, CONFIG | {"releases": [more]})
    jobs = untouched.would_run(*arguments)
    assert (jobs["protect"], jobs["check"], jobs["release_sweep"]) == (1, 1, 1)
    assert "prepare" not in jobs


def test_a_sweep_of_your_own_file_is_collected_in_a_closed_folder(untouched: Any) -> None:
    schema = "format: deniable-schema\nversion: 1\npopulation: people\ncolumns: []\n"
    (untouched.folder / "own.yaml").write_text(schema, encoding="utf-8")
    (untouched.folder / "own.csv").write_text("sex\nF\n", encoding="utf-8")
    own = CONFIG["releases"][0] | {"file": {"path": "own.csv", "schema": "own.yaml"}}
    del own["data"]
    write(untouched.folder, CONFIG | {"releases": [own]})
    jobs = untouched.would_run(
        "--configfile", FILE, "--cores", "1", "results/sweeps/private/swept.csv"
    )
    assert (jobs["check_own_file"], jobs["sweep_own_file"]) == (2, 1)
    assert "release_sweep" not in jobs
