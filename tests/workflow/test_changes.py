"""What changed is made again, with all that rests on it; nothing else is."""

import csv
import re
from typing import Any

import pytest
import yaml

pytestmark = pytest.mark.workflow

STUDY_LANE = {"simulate", "collect", "plot", "multirr_agreement", "report"}


def verdicts(project: Any) -> set[tuple[str, str]]:
    with (project.folder / "results/tables/multirr_table1.csv").open(newline="") as stream:
        return {(row["data_source"], row["verdict"]) for row in csv.DictReader(stream)}


@pytest.mark.parametrize(
    ("module", "again", "kept"),
    [
        pytest.param(
            "workflow/reproduction/papers/multirr/figures.py",
            {"plot", "report"},
            {"protect", "prepare", "simulate", "collect"} | {"audit_privacy", "audit_samplers"},
            marks=pytest.mark.slow,
        ),
        (
            "workflow/reproduction/papers/multirr/queries/clusters.py",
            STUDY_LANE,
            {"prepare", "audit_privacy", "protect"},
        ),
        pytest.param(
            "src/deniable/release/making.py",
            {"protect", "audit_samplers", "audit_privacy", "report"},
            {"prepare", "simulate", "collect", "plot"},
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_changed_module_makes_again_what_imports_it(
    project: Any, module: str, again: set[str], kept: set[str]
) -> None:
    with (project.folder / module).open("a", encoding="utf-8") as stream:
        stream.write("\n# changed\n")
    assert project.would_run() == {}
    with (project.folder / module).open("a", encoding="utf-8") as stream:
        stream.write("\nCHANGED = True\n")
    jobs = set(project.would_run())
    assert again <= jobs
    # A production release is made once.
    assert not (kept | {"publish"}) & jobs


def test_another_seed_makes_again_what_is_drawn(project: Any) -> None:
    jobs = project.would_run("--config", "seed=5")
    assert {"prepare", "simulate", "audit_samplers"} <= set(jobs)
    assert jobs["protect"] == 5
    assert "publish" not in jobs


def test_other_settings_of_a_study_leave_the_releases(project: Any) -> None:
    other = {"studies": {"multirr_sensitivity": {"replicates": 11}}}
    (project.folder / "other.yaml").write_text(yaml.safe_dump(other), encoding="utf-8")
    jobs = project.would_run("--configfile", "tiny.yaml", "other.yaml")
    after = ("simulate", "collect", "multirr_agreement", "multirr_claims", "report")
    assert jobs == dict.fromkeys(after, 1)


def test_a_corrected_printed_number_simulates_nothing(project: Any) -> None:
    file = project.folder / "resources" / "published" / "multirr_table1.csv"
    file.write_text(file.read_text("utf-8").replace("0.335", "0.336"), encoding="utf-8")
    jobs = project.would_run()
    assert jobs["collect"] == 3  # Table 1, the sensitivity and the exploration
    assert "simulate" not in jobs


def rules_with_data(said: str) -> set[str]:
    """Return the rules of a whole run that make anew what rests on other data."""
    table = said.split("Job stats:")[1].split("\n\n", maxsplit=1)[0]
    everything = set(re.findall(r"^(\w+) +\d+$", table, re.MULTILINE)) - {"all", "total"}
    # A production release is made once; worked examples and numbered results have no data, and
    # networks are models.
    everything -= {"publish", "multirr_example1", "rrba_examples", "pram_results"}
    return everything - {"draw_network", "rrba_epsilon", "rrba_fig7", "rrba_claims"}


def told_of_the_mirror(project: Any) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return arguments and variables with which a run takes its data from the project's mirror."""
    (project.folder / "mirror.yaml").write_text(yaml.safe_dump({"data": {"source": "mirror"}}))
    variables = {"DENIABLE_DATA_MIRROR": str(project.mirror)}
    return ("--configfile", "tiny.yaml", "mirror.yaml"), variables


def test_data_that_arrive_are_used_for_everything(project: Any, finished: Any) -> None:
    arguments, variables = told_of_the_mirror(project)
    jobs = project.would_run(*arguments, **variables)
    assert set(jobs) == rules_with_data(finished[1])
    # The fourth is of clients whom a network models.
    assert jobs["protect"] == 4


@pytest.mark.slow
def test_data_that_arrive_and_leave_again_change_the_verdicts(project: Any, finished: Any) -> None:
    arguments, variables = told_of_the_mirror(project)
    assert verdicts(project) == {("surrogate", "surrogate")}
    # All of them: census and wine are audited by rules of their own.
    names = ("adult", "adult_numeric", "adult_age", "census", "wine")
    data = [f"results/data/{name}.parquet" for name in names]
    targets = ["results/tables/multirr_table1.csv", *data]
    project.made("--cores", "2", *targets, *arguments, **variables)
    assert {source for source, _ in verdicts(project)} == {"original"}
    assert {verdict for _, verdict in verdicts(project)} <= {"agrees", "differs"}
    # A verified copy is there now: whoever does not insist on a mirror needs none any more.
    (project.folder / "mirror.yaml").write_text(yaml.safe_dump({"data": {"source": "auto"}}))
    assert project.made("-n", *targets, *arguments).count("Nothing to be done") == 1
    # And back, without what rests on models or networks alone.
    assert {"download", "prepare", "simulate", "protect"} <= set(project.would_run())
