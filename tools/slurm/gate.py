"""A gate in a copy of the project, where simulations wait before they write their results.

So a job still runs until the gate opens, also on a fast machine. The results are the same.
"""

from pathlib import Path

OPEN = "gate-open"
BEFORE = "    write_table("
WAIT = f"""\
    import os
    import time
    from pathlib import Path

    output = Path(snakemake.output[0])
    Path("gate-" + output.parent.name + "-" + output.stem).write_text(str(os.getpid()))
    while not Path({OPEN!r}).exists():
        time.sleep(0.05)
"""


def build(folder: Path) -> None:
    """Insert the gate into the simulation script of a project."""
    script = folder / "workflow" / "scripts" / "simulate.py"
    code = script.read_text(encoding="utf-8")
    if BEFORE not in code:
        raise ValueError(f"{script}: no line begins with {BEFORE!r}")
    script.write_text(code.replace(BEFORE, WAIT + BEFORE, 1), encoding="utf-8")


def process_at(folder: Path, output: str) -> int | None:
    """Return the id of the last process that reached the gate with a chunk of a study."""
    file = folder / f"gate-{Path(output).parent.name}-{Path(output).stem}"
    try:
        return int(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None


def let_through(folder: Path) -> None:
    """Open the gate; it cannot be closed again."""
    (folder / OPEN).touch()
