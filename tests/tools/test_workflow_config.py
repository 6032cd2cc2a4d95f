"""What is wrong with a config, told before Snakemake reads it."""

from pathlib import Path

import pytest

from workflow_config import main

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def in_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def test_configs_of_ours_are_told_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config/config.yaml", "config/quick.yaml"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (None, "No such file"),
        ("seed: 1\n".encode("utf-16"), "not UTF-8 text"),
        (b"\0\1", "not UTF-8 text"),
        (b"[" * 20_000, "nested too deeply"),
        (b"seed: &a [*a]\n", "is inside the value that it repeats"),
        (b"seed: " + b"9" * 5000, "has 5,000 characters"),
        (b"seed: -1\n", "seed: -1; allowed: at least 0"),
        (b"seed: 2021-11-21\n", "seed: 2021-11-21; allowed: a whole number"),
        (b"seed: [\n", "line 1"),
        (b"- seed\n", "no options"),
        (b"hello\n", "no options"),
    ],
)
def test_a_config_at_fault(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], given: bytes | None, words: str
) -> None:
    file = tmp_path / "given.yaml"
    if given is not None:
        file.write_bytes(given)
    assert main([str(file)]) == 2
    assert words in capsys.readouterr().err
