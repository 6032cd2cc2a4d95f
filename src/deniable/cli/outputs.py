"""Checks of output paths: an output replaces only an earlier output of the same kind."""

import re
from collections.abc import Iterable
from pathlib import Path

from deniable.errors import DeniableError

BEGINNING = 4096  # first bytes of a file, which the patterns below must match
PLAN = rb'\s*\{.*?"format"\s*:\s*"deniable-plan"'
MATRIX = rb"true category"
MATRICES = rb"stratum,block,true,reported,probability"
PROPERTIES = rb'\s*\{\s*"convention"'
COMPARISON = rb"epsilon,exact_epsilon,mechanism,"
EXPLORATION = rb".*?<title>Choose epsilon: "
SUM = rb'\{"format":"deniable-secure-sum"[^\n]*"receiver":0,'
ANSWERS = (
    rb"(?:TEST RELEASE: [^\n]*\n)?Estimated from "
    rb"|answer,[^\n]*\n\"?(?:margins|numbers|table of|independence of|pairs|queries|regression"
    rb"|MCIndep|consistent tables|two-step tables|item sets of|rules of|supports)"
    rb'|\s*\{\s*"about"|.*?<title>Estimates from protected records'
)


def refuse_overwriting(
    out: Path | None, inputs: Iterable[Path | None], what: str, beginning: bytes | None = None
) -> None:
    """Check that a command may write a file to the path `out`, if there is one.

    `beginning` is a pattern of the first bytes of files that may be replaced; by default no file
    may be replaced. For `inputs` and `what` see `refuse_inputs`. Raises `DeniableError` as
    `refuse_inputs`, and if `out` is a folder, a published file, or a file with other content.
    """
    if out is None:
        return
    refuse_inputs(out, inputs, what)
    if out.is_dir():
        raise DeniableError(f"{out}: a folder, which a {what} cannot replace. Name a file")
    file = out.resolve()
    sums = file.with_name("SHA256SUMS")  # the list of files of a public folder
    listed = sums.read_text("utf-8", errors="replace") if sums.is_file() else ""
    if any(f"  {name}\n" in listed for name in (file.name, "plan.json")):
        raise DeniableError(f"{out}: this file is in a published folder. Name a file elsewhere")
    if not out.is_file():
        return
    with out.open("rb") as stream:
        start = stream.read(BEGINNING)
    if beginning is None or not re.match(beginning, start, re.DOTALL):
        kept = f"not a {what} of deniable" if beginning else f"not replaced by a {what}"
        raise DeniableError(
            f"{out}: a file exists there that is {kept}. Name another file, or remove this one "
            "first"
        )


def refuse_inputs(out: Path, inputs: Iterable[Path | None], what: str) -> None:
    """Check that the path `out` of an output is not one of the `inputs` of a command.

    The inputs are files and folders, or None for an option that is not given. `what` names the
    output in words, such as "plan" or "release". Raises `DeniableError` if `out` is one of the
    inputs, also under another spelling or by a link, or lies in an input folder.
    """
    for each in inputs:
        if each is None:
            continue
        both = out.exists() and each.exists()
        if out.resolve() == each.resolve() or (both and out.samefile(each)):
            raise DeniableError(
                f"{out}: this is {each}, an input of the command, and the {what} would replace it. "
                "Name another place"
            )
        if each.is_dir() and out.resolve().is_relative_to(each.resolve()):
            problem = f"{out}: this is in {each}, an input of the command. Name another place"
            raise DeniableError(problem)
