"""The page on designing a channel: its example prints what it says, and it names every option."""

import contextlib
import io
import re
from dataclasses import fields
from pathlib import Path
from typing import get_args

from deniable.design import Cost, Requirements
from deniable.design.programs.losses import LossName
from deniable.design.specification import read_specification

PAGE = Path(__file__).resolve().parents[2] / "docs" / "optimized-matrices.md"


def test_the_example_prints_what_the_page_says():
    text = PAGE.read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (output,) = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, str(PAGE), "exec"), {})
    assert printed.getvalue() == output


def test_the_specification_can_be_read(tmp_path):
    (specification,) = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "spec.yaml").write_text(specification, encoding="utf-8")
    found = read_specification(tmp_path / "spec.yaml")
    assert found.loss == "distance"
    assert found.requirements.retention == {0: 0.4}


def test_every_option_and_loss_is_on_the_page():
    text = PAGE.read_text(encoding="utf-8")
    options = {field.name for kind in (Requirements, Cost) for field in fields(kind)}
    others = ("global", "local", "reports", "any", "square")
    for name in (*(options - {"categories"}), *get_args(LossName), *others):
        assert re.search(rf"`\"?{name}\"?`", text), name
