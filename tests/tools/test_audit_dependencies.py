"""What is said of known vulnerabilities: found, none, out of reach, unknown to the service."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

import audit_dependencies

FAULT = {"id": "PYSEC-1", "aliases": ["CVE-2"], "fix_versions": ["3.1"], "description": "words"}
SOUND = {"name": "numpy", "version": "2.4", "vulns": []}
FAULTY = {"name": "jinja2", "version": "3.0", "vulns": [FAULT]}
UNKNOWN = {"name": "ours", "skip_reason": "Dependency not found"}


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What pip-audit answers for each lock, and with which words; the commands that asked."""
    given: dict[str, Any] = {"packages": [SOUND], "words": "", "commands": []}

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        given["commands"].append(command)
        (output,) = [text.partition("=")[2] for text in command if text.startswith("--output=")]
        if given["packages"] is not None:
            text = json.dumps({"dependencies": given["packages"]})
            Path(output).write_text(text, encoding="utf-8")
        return subprocess.CompletedProcess(command, 1, "", given["words"])

    monkeypatch.setattr(audit_dependencies.subprocess, "run", run)
    return given


def test_every_lock_is_asked_for_and_nothing_is_resolved(
    answer: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert audit_dependencies.main(["--ignore-vuln", "X"]) == 0
    locks = {path.name for path in audit_dependencies.ROOT.glob("requirements*.lock")}
    asked = [
        Path(text.partition("=")[2]).name
        for command in answer["commands"]
        for text in command
        if text.startswith("--requirement=")
    ]
    assert sorted(asked) == sorted(locks)
    for command in answer["commands"]:
        assert {"--disable-pip", "--require-hashes"} < set(command)
        assert command[-2:] == ["--ignore-vuln", "X"]
    assert capsys.readouterr().out == (
        "audit-dependencies: 0 known vulnerabilities in 3 packages\n"
    )


def test_a_vulnerability_is_named_and_fails(
    answer: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    answer["packages"] = [SOUND, FAULTY, UNKNOWN]
    assert audit_dependencies.main([]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "requirements.lock: jinja2 3.0: PYSEC-1, CVE-2; fixed in 3.1"
    assert lines[-1] == (
        "audit-dependencies: 3 known vulnerabilities in 9 packages, "
        "3 of them unknown to the service"
    )


@pytest.mark.parametrize(
    "words",
    [
        "ERROR:pip_audit._cli:Could not connect to PyPI's vulnerability feed",
        "requests.exceptions.ConnectionError: HTTPSConnectionPool: Max retries exceeded",
    ],
)
def test_without_a_network_it_is_skipped(
    answer: dict[str, Any], capsys: pytest.CaptureFixture[str], words: str
) -> None:
    answer |= {"packages": None, "words": words}
    assert audit_dependencies.main([]) == 0
    assert "SKIPPED" in capsys.readouterr().out


def test_a_service_that_knows_nothing_is_no_clean_bill(
    answer: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    answer["packages"] = [UNKNOWN]
    assert audit_dependencies.main([]) == 0
    assert "SKIPPED" in capsys.readouterr().out


def test_any_other_failure_is_one(
    answer: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    answer |= {"packages": None, "words": "bad hash"}
    assert audit_dependencies.main([]) == 1
    assert "bad hash" in capsys.readouterr().err
