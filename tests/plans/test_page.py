"""docs/numbers-and-clusters.md, carried out as it stands."""

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from deniable.cli import main

PAGE = Path(__file__).resolve().parents[2] / "docs" / "numbers-and-clusters.md"
BLOCK = re.compile(r"(?:^`([a-z]+\.yaml)`:\n\n)?^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.slow
def test_the_page_can_be_carried_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    said = ""
    for name, language, text in BLOCK.findall(PAGE.read_text("utf-8")):
        if language == "yaml":
            Path(name).write_text(text, encoding="utf-8")
        if language == "python":
            exec(text, {})
        if language == "text":
            assert text in said
        for line in text.splitlines() if language == "sh" else ():
            command, *options = shlex.split(line)
            if command == "sed":
                subprocess.run([command, *options], check=True, capture_output=True)
            else:
                assert main(options) == 0, line
            said = capsys.readouterr().out
    readme = " ".join(Path("cbls/test/README.txt").read_text("utf-8").split())
    assert readme.index("RISK, original_values") < readme.index("No finite epsilon")
    for name in ("second", "third", "fourth"):
        clusters = json.loads(Path(f"{name}.json").read_text("utf-8"))["columns"]["clusters"]
        assert [each["attributes"] for each in clusters] == [["sex", "union"], ["town"]]
