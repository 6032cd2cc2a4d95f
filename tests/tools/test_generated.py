"""Pages that tools write are up to date, and an outdated one is noticed."""

from pathlib import Path
from types import ModuleType

import pytest

import write_commands
import write_options

both = pytest.mark.parametrize("tool", [write_commands, write_options], ids=lambda m: m.__name__)


@both
def test_the_page_is_up_to_date(tool: ModuleType) -> None:
    assert tool.main(["--check"]) == 0, f"run tools/{tool.__name__}.py"


@both
def test_an_outdated_page_is_noticed(
    tool: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(tool, "PAGE", tmp_path / "page.md")
    assert tool.main(["--check"]) == 1  # no file
    (tmp_path / "page.md").write_text("# Another page\n", encoding="utf-8")
    assert tool.main(["--check"]) == 1
    assert f"run tools/{tool.__name__}.py" in capsys.readouterr().err
    assert tool.main([]) == 0
    assert tool.main(["--check"]) == 0
    assert [each.name for each in tmp_path.iterdir()] == ["page.md"]
