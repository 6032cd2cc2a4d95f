"""The process of an agency: two persons, the log, verification, withdrawal, choices by the data."""

import json
import multiprocessing
import os
import resource
import shutil
import signal
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.release.small_releases import KINDS, content, made, plan_for, records, schema, written

import deniable
from deniable.cli import main
from deniable.errors import DataError, DeniableError
from deniable.files import read_json, sha256, write_json, write_text
from deniable.plans import (
    PlanInputs,
    plan_from_json,
    plan_to_json,
    read_plan,
    settings_from,
    write_plan,
)
from deniable.release import Ledger
from deniable.release.counted import append_event, plan_digest
from deniable.release.process import NOT_SHOWN, verify_release, withdraw_release
from deniable.release.receipts import SUMS, WITHDRAWN, faults_of_files, faults_of_receipt
from deniable.schema import RecordsFile

AUTHOR, CHECKER = "A. Author", "B. Checker"


def events(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "log.jsonl").read_text("utf-8").splitlines()]


@pytest.fixture
def agency(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to a folder with records, a plan by an author, and a ledger for two persons."""
    monkeypatch.chdir(tmp_path)
    plan = replace(plan_for("columns of text"), author=AUTHOR)
    write_plan("plan.json", plan)
    written(records(), plan, tmp_path / "survey")
    Ledger.init("ledger", two_persons=True)
    return tmp_path


PROTECT = ["protect", "survey.csv", "plan.json", "--out", "made", "--ledger", "ledger"]
APPROVE = ["approve", "plan.json", "--name", CHECKER, "--out", "approval.json"]


# -- two persons -----------------------------------------------------------------------------------


def test_a_second_person_approves_a_plan(agency: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(APPROVE) == 0
    assert f"{CHECKER} approves the plan of {AUTHOR}" in capsys.readouterr().out
    approval = read_json("approval.json")
    assert set(approval) == {"format", "version", "author", "approved_by", "time", "plan"}
    assert approval["plan"] == plan_digest(read_plan("plan.json"))
    assert main([*PROTECT, "--approval", "approval.json"]) == 0
    assert read_json("made/private/approval.json") == approval
    assert (agency / "made/private/approval.json").stat().st_mode & 0o777 == 0o600
    assert read_json("made/public/plan.json")["author"] == AUTHOR
    counted = events(agency / "made/private")[0]
    assert (counted["author"], counted["approved_by"]) == (AUTHOR, CHECKER)
    # A release that was published is verified without its approval.
    assert main(PROTECT) == 0
    assert len(Ledger("ledger").entries("people")) == 1


def edited(**changes: Any) -> Callable[[], None]:
    def edit() -> None:
        write_json("approval.json", read_json("approval.json") | changes)

    return edit


def other_plan() -> None:
    write_plan("plan.json", replace(plan_for("columns of text", 1.0), author=AUTHOR))


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "none": (lambda: Path("approval.json").unlink(), "approval.json: "),
    "another plan": (other_plan, "this approves another plan, by 'A. Author'"),
    "the author": (edited(approved_by="a.  AUTHOR "), "is the author of the plan"),
    "another author": (edited(author="C. Somebody"), "another plan, by 'C. Somebody'"),
    "another digest": (edited(plan="0" * 64), "this approves another plan"),
    "another version": (edited(version=2), "not an approval of version 1"),
    "another format": (edited(format="deniable-plan"), "not an approval of version 1"),
    "a further field": (edited(more=1), "not an approval, or damaged"),
    "a number": (edited(approved_by=7), "not an approval, or damaged"),
    "no name": (edited(approved_by=" "), "' ' is not a name of a person"),
    "a list": (lambda: write_text("approval.json", "[]"), "not an approval, or damaged"),
    "no JSON": (lambda: write_text("approval.json", "{"), "approval.json"),
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.usefixtures("agency")
def test_without_its_approval_nothing_is_counted(
    case: str, capsys: pytest.CaptureFixture[str]
) -> None:
    prepare, words = REFUSED[case]
    assert main(APPROVE) == 0
    prepare()
    capsys.readouterr()
    assert main([*PROTECT, "--approval", "approval.json"]) == 2
    said = capsys.readouterr()
    assert words in said.err
    assert said.err.startswith("deniable: error: ")
    assert said.err.count("\n") == 1
    assert said.out == ""
    assert not Path("made").exists()
    assert Ledger("ledger").populations() == ()
    assert [each["event"] for each in events(Path("ledger"))] == ["refused"]


def test_a_ledger_for_two_persons_requires_an_approval(
    agency: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(PROTECT) == 2
    assert "the ledger requires an approval of each plan by a second" in capsys.readouterr().err
    assert main(["ledger", "init", "other", "--two-persons"]) == 0
    assert Ledger("other").two_persons
    assert not Ledger.init(agency / "third").two_persons


@pytest.mark.parametrize(
    ("author", "name", "words"),
    [
        (None, CHECKER, "the plan names no author; make it with --author"),
        (AUTHOR, " a. author", "is the author of the plan; let a second person"),
        (AUTHOR, "", "'' is not a name of a person"),
        (AUTHOR, "a\nb", "is not a name of a person"),
        (AUTHOR, "x" * 201, "is not a name of a person"),
    ],
)
@pytest.mark.usefixtures("agency")
def test_approvals_that_are_refused(
    author: str | None, name: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write_plan("plan.json", replace(plan_for("columns of text"), author=author))
    assert main(["approve", "plan.json", "--name", name, "--out", "approval.json"]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1
    assert not Path("approval.json").exists()


@pytest.mark.parametrize("kind", KINDS)
def test_a_plan_of_any_kind_can_name_its_author(kind: str) -> None:
    plan = plan_for(kind)
    document = plan_to_json(replace(plan, author=AUTHOR))
    assert document == plan_to_json(plan) | {"author": AUTHOR}
    assert plan_from_json(document).author == AUTHOR
    with pytest.raises(DeniableError, match="is not a name of a person"):
        replace(plan, author="")
    for wrong in (None, 7, ""):
        with pytest.raises(DataError):
            plan_from_json(document | {"author": wrong})


# -- the log ---------------------------------------------------------------------------------------


def test_the_log_has_each_event_of_a_release(tmp_path: Path) -> None:
    made("columns", tmp_path)
    made("columns", tmp_path)
    private, plan = tmp_path / "small" / "private", plan_for("columns")
    assert [each["event"] for each in events(private)] == ["counted", "published", "verified"]
    for each in events(private):
        assert each["plan"] == plan_digest(plan)
        assert (each["release"], each["population"], each["entry"]) == ("small", "people", 1)
        assert each["deniable"] == deniable.__version__
        assert each["accepted"] == []
        assert each["time"].endswith("+00:00")
        assert each["user"]
    with pytest.raises(DeniableError, match="was published from other records"):
        made("columns", tmp_path, data=records(701))
    refused = events(private)[-1]
    assert refused["event"] == "refused"
    assert "was published from other records" in refused["message"]
    assert not (tmp_path / "ledger" / "log.jsonl").exists()


def test_a_refusal_before_the_release_is_logged_in_the_ledger(tmp_path: Path) -> None:
    Ledger.init(tmp_path / "ledger")
    for options, words in (
        ({"outside_bounds": 2}, "outside_bounds"),
        ({"consent": "yes"}, "consent"),
    ):
        with pytest.raises(DeniableError, match=words):
            made("columns", tmp_path, name="x", **options)
    first, second = events(tmp_path / "ledger")
    assert (first["event"], first["release"], second["event"]) == ("refused", "x", "refused")
    assert "a consent is given" in second["message"]
    assert (tmp_path / "ledger/log.jsonl").stat().st_mode & 0o777 == 0o600
    assert not (tmp_path / "x").exists()


def append(folder: Path, number: int, times: int = 100) -> None:
    for each in range(times):
        append_event(folder, "tried", number=number, each=each, text="x" * 3000)


def test_processes_that_append_at_once_lose_no_line(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    started = [context.Process(target=append, args=(tmp_path, number)) for number in range(3)]
    for process in started:
        process.start()
    for process in started:
        process.join(120)
    found = sorted((each["number"], each["each"]) for each in events(tmp_path))
    assert found == [(number, each) for number in range(3) for each in range(100)]


def test_a_killed_process_leaves_whole_lines(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    for number in range(3):
        process = context.Process(target=append, args=(tmp_path, number, 10**6))
        lines = len(events(tmp_path)) if number else 0
        process.start()
        while not number and not (tmp_path / "log.jsonl").exists():
            process.join(0.01)
        while len(events(tmp_path)) <= lines:
            process.join(0.001)
        os.kill(process.pid or 0, signal.SIGKILL)
        process.join()
        assert process.exitcode == -signal.SIGKILL
        assert (tmp_path / "log.jsonl").read_bytes().endswith(b"\n")
    append_event(tmp_path, "after")
    assert events(tmp_path)[-1]["event"] == "after"


def fill(folder: Path) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))
    append_event(folder, "cut", text="x" * 1000)


def test_a_line_that_a_full_disk_cut_is_an_error_and_spoils_no_later_line(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=fill, args=(tmp_path,))
    process.start()
    process.join(120)
    assert process.exitcode == 1
    assert len((tmp_path / "log.jsonl").read_bytes()) == 300
    append_event(tmp_path, "after")
    cut, after = (tmp_path / "log.jsonl").read_text().splitlines()
    assert (len(cut), json.loads(after)["event"]) == (300, "after")


def test_no_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("")
    (tmp_path / "log.jsonl").symlink_to("other")
    with pytest.raises(OSError, match="symbolic links"):
        append_event(tmp_path, "tried")
    assert (tmp_path / "other").read_text() == ""


# -- the auditor -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_public_folder_is_verified_without_anything_else(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made(kind, tmp_path)
    shutil.move(tmp_path / "small" / "public", tmp_path / "copy")
    shutil.rmtree(tmp_path / "small")
    shutil.rmtree(tmp_path / "ledger")
    found = verify_release(tmp_path / "copy")
    assert list(found["check"]) == [
        "files",
        "plan",
        "epsilon",
        "records",
        "ledger",
        "shuffled",
        "readme",
    ]
    assert found["holds"].all(), found["about"].tolist()
    assert main(["verify", str(tmp_path / "copy")]) == 0
    said = capsys.readouterr().out
    assert "700 records, with values that the mechanisms of the plan return" in said
    assert all(each in said for each in NOT_SHOWN)


def test_matrices_that_are_kept_back_are_named(tmp_path: Path) -> None:
    matrix = {"kind": "two_step", "epsilon": 1.5, "keep_back": True}
    settings = settings_from({"kind": "columns", "matrix": matrix})
    written(records(), plan_for("columns"), tmp_path / "data")
    data = RecordsFile.open(tmp_path / "data.parquet", schema())
    plan = settings.plan(PlanInputs(schema(), data, accept=("chosen_by_data",)))
    made("columns", tmp_path, plan=plan)
    found = verify_release(tmp_path / "small/public")
    assert found["holds"].all(), found["about"].tolist()
    assert "not verifiable, because kept back: a, b, c, d" in found["about"].iloc[2]


def summed(public: Path) -> None:
    """Write the list of files again, as somebody who edits a release can."""
    names = sorted(each.name for each in public.iterdir() if each.name != SUMS)
    lines = (f"{sha256(public / name)}  {name}\n" for name in names)
    (public / SUMS).write_text("".join(lines))


def in_document(edit: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    def edited(public: Path) -> None:
        document = read_json(public / "plan.json")
        edit(document)
        write_json(public / "plan.json", document)

    return edited


def in_text(name: str, old: str, new: str) -> Callable[[Path], None]:
    def edited(public: Path) -> None:
        text = (public / name).read_text("utf-8")
        assert old in text
        (public / name).write_text(text.replace(old, new, 1))

    return edited


def of_entry(**changes: Any) -> Callable[[Path], None]:
    return in_document(lambda d: d["release"]["ledger"].update(changes))


def of_file(**changes: Any) -> Callable[[Path], None]:
    return in_document(lambda d: d["release"]["shuffled"].update(changes))


FORGED: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "epsilon": ("plan", in_document(lambda d: d["epsilon"].update(record=1.0)), "epsilon.record"),
    "no block": ("plan", in_document(lambda d: d.pop("release")), "no facts of a release"),
    "number": (
        "records, shuffled",
        in_document(lambda d: d["release"].update(records=701)),
        "states 701",
    ),
    "value": ("records", in_text("protected.csv", "\n0,", "\n7,"), "'7'"),
    "row": ("records", in_text("protected.csv", "\n", "\n0,x,no,1\n"), "701 records"),
    "total": ("ledger", of_entry(total="1.5"), "contradicts the epsilon 2"),
    "later total": ("ledger", of_entry(entry=2, total="1.5"), "contradicts the epsilon 2"),
    "entry": ("ledger", of_entry(entry=0), "contradicts"),
    "text": ("ledger", of_entry(total="much"), "contradicts"),
    "by zero": ("ledger", of_entry(entry=2, total="1/0"), "contradicts"),
    "head": ("ledger", of_entry(head="none"), "contradicts"),
    "no entry": ("ledger", in_document(lambda d: d["release"].pop("ledger")), "contradicts"),
    "test": (
        "ledger, shuffled",
        in_document(lambda d: d["release"].update(mode="test")),
        "a test release",
    ),
    "whole file": ("shuffled, readme", of_file(epsilon=0.1), "another epsilon of the whole file"),
    "no figure": (
        "shuffled, readme",
        in_document(lambda d: d["release"].update(shuffled=[])),
        "another",
    ),
    "readme": ("readme", in_text("README.txt", "respondent: 2,", "respondent: 1,"), "lacks the"),
    "no readme": ("readme", lambda public: (public / "README.txt").unlink(), "cannot be read"),
}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    at = tmp_path_factory.mktemp("sound")
    made("columns of text", at)
    return at / "small" / "public"


@pytest.mark.parametrize("case", FORGED)
def test_a_forged_folder_fails_even_with_a_new_list_of_files(
    case: str, sound: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    failing, forge, words = FORGED[case]
    public = Path(shutil.copytree(sound, tmp_path / "public"))
    forge(public)
    assert not verify_release(public)["holds"].iloc[0]  # the files
    summed(public)
    found = verify_release(public).set_index("check")
    assert ", ".join(found.index[~found["holds"].astype(bool)]) == failing
    assert words in found.loc[failing.partition(",")[0], "about"]
    assert main(["verify", str(public)]) == 2
    said = capsys.readouterr()
    assert f"failed: {failing}. Do not use this folder" in said.err
    assert said.err.count("\n") == 1


def test_other_folders_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(tmp_path / "none")]) == 2
    assert "not the public folder of a release; name one" in capsys.readouterr().err


# -- withdrawal ------------------------------------------------------------------------------------


def test_a_withdrawn_release_says_so_and_stays_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = made("columns of text", tmp_path)
    folder, public = tmp_path / "small", tmp_path / "small" / "public"
    assert main(["withdraw", str(public), "--reason", "wrong file"]) == 0
    assert "publish this note too" in capsys.readouterr().out
    note = (public / WITHDRAWN).read_text("utf-8")
    assert note.startswith("WITHDRAWN on 20")
    assert note.partition("\n")[0].endswith(": wrong file")
    assert "Its epsilon stays counted" in note
    assert (public / WITHDRAWN).stat().st_mode & 0o044 == 0o044
    event = events(folder / "private")[-1]
    assert (event["event"], event["reason"], event["entry"]) == ("withdrawn", "wrong file", 1)
    # All files are as they were published, and the list is valid.
    assert {name: text for name, text in content(public).items() if name != WITHDRAWN} == before
    subprocess.run(["sha256sum", "-c", "--quiet", SUMS], cwd=public, check=True)
    assert faults_of_files(folder) == faults_of_receipt(folder / "private/receipt.json") == []
    assert verify_release(public)["holds"].all()
    assert main(["verify", str(public)]) == 1
    assert ": wrong file" in capsys.readouterr().err
    assert main(["estimate", str(public), "--margins"]) == 0
    said = capsys.readouterr().err
    assert "deniable: warning: " in said
    assert ": wrong file. Do not use its estimates" in said
    # The same command verifies the release, which is counted once; a successor adds its epsilon.
    made("columns of text", tmp_path)
    entries = Ledger(tmp_path / "ledger").entries("people")
    assert [each.release for each in entries] == ["small"]
    with pytest.raises(DeniableError, match="total epsilon is 2 and would be 4"):
        made("columns of text", tmp_path, name="corrected")


@pytest.mark.parametrize("step", ["write_text", "append_event"])
def test_an_interrupted_withdrawal_is_completed(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made("columns", tmp_path)
    public = tmp_path / "small" / "public"

    def killed(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(f"deniable.release.process.{step}", killed)
        with pytest.raises(KeyboardInterrupt):
            withdraw_release(public, "wrong")
    (public / f".{WITHDRAWN}.01234567").write_text("WITHD")  # left by a killed process
    note = withdraw_release(public, "wrong")
    assert note.read_text("utf-8").count("WITHDRAWN") == 1
    assert events(tmp_path / "small/private")[-1]["event"] == "withdrawn"
    assert verify_release(public)["holds"].all()
    with pytest.raises(DeniableError, match="withdrawn already; leave the note"):
        withdraw_release(public, "another reason")


@pytest.mark.parametrize("reason", ["", " ", "two\nlines", "x" * 2001])
def test_a_reason_is_one_line(sound: Path, reason: str) -> None:
    with pytest.raises(DeniableError, match="give a text of 1 to 2,000 characters on one line"):
        withdraw_release(sound, reason)
    assert not (sound / WITHDRAWN).exists()


def test_a_folder_that_nobody_published_is_not_withdrawn(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"plan\.json"):
        withdraw_release(tmp_path, "wrong")
    deniable.release.protect_test(records(), plan_for("columns"), tmp_path, 1, name="tried")
    with pytest.raises(DeniableError, match="not the public folder of a published release"):
        withdraw_release(tmp_path / "public", "wrong")


def test_a_link_is_no_note(tmp_path: Path) -> None:
    made("columns", tmp_path)
    public = tmp_path / "small" / "public"
    (public / WITHDRAWN).symlink_to("plan.json")
    found = verify_release(public)
    assert f"{WITHDRAWN}: not in its list" in found["about"].iloc[0]


# -- choices by the data ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("risk", ["bounds_from_refusals", "epsilon_from_test"])
def test_a_choice_by_the_data_is_a_risk_that_no_epsilon_covers(kind: str, risk: str) -> None:
    plain = plan_for(kind)
    plan = plan_for(kind, accept=(*plain.accept, risk))
    assert set(plan.risks) == {*plain.risks, risk}
    assert any("no epsilon covers this choice" in each for each in plan.not_covered)
    assert plan.epsilon == plain.epsilon
    assert plan_from_json(plan_to_json(plan)).risks == plan.risks


def test_an_accepted_choice_is_stated_and_counts_infinity(tmp_path: Path) -> None:
    plan = plan_for("columns", accept=("epsilon_from_test",))
    made("columns", tmp_path, plan=plan)
    readme = (tmp_path / "small/public/README.txt").read_text("utf-8")
    assert "RISK, epsilon_from_test: epsilon was chosen after a test release" in readme
    assert (
        read_json(tmp_path / "small/public/plan.json")["release"]["ledger"]["total"] == "infinite"
    )
    assert events(tmp_path / "small/private")[0]["accepted"] == ["epsilon_from_test"]
    assert verify_release(tmp_path / "small/public")["holds"].all()
