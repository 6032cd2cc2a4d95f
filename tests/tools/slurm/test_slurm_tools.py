"""What `make test-slurm` can say and compare without a Slurm."""

import importlib
import os
import shutil
import signal
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).resolve().parents[3] / "tools" / "slurm"


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    monkeypatch.syspath_prepend(FOLDER)
    module = importlib.import_module("cluster")
    monkeypatch.setattr(module, "CONFIGURATION", tmp_path / "slurm.conf")
    monkeypatch.setattr(module, "ACCOUNTING_CONFIGURATION", tmp_path / "slurmdbd.conf")
    monkeypatch.setattr(module, "missing", lambda: [])
    monkeypatch.setattr(module, "daemons", lambda: [])
    monkeypatch.setattr(module.os, "geteuid", lambda: 0)
    monkeypatch.delenv("SLURM_CONF", raising=False)
    return module


def test_without_root_or_packages_it_says_what_to_do(
    cluster: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.refuse_if_impossible()
    monkeypatch.setattr(cluster, "missing", lambda: ["slurmd"])
    with pytest.raises(cluster.ClusterError, match=r"slurmd.*apt-get install.*INSTALL=1"):
        cluster.refuse_if_impossible()
    monkeypatch.setattr(cluster.os, "geteuid", lambda: 1000)
    with pytest.raises(cluster.ClusterError, match="sudo make test-slurm"):
        cluster.refuse_if_impossible()


def test_a_slurm_that_is_there_stays_as_it_is(cluster: ModuleType, tmp_path: Path) -> None:
    cluster.CONFIGURATION.write_text("ClusterName=somebodys\n", encoding="utf-8")
    with pytest.raises(cluster.ClusterError, match="belongs to a Slurm already"):
        cluster.refuse_if_impossible()
    cluster.CONFIGURATION.write_text(f"{cluster.MARK} {tmp_path} {os.getppid()}\n")
    with pytest.raises(cluster.ClusterError, match="another test runs"):
        cluster.refuse_if_impossible()


def test_a_slurm_that_has_its_configuration_from_elsewhere_is_seen(
    cluster: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "daemons", lambda: ["slurmd"])
    with pytest.raises(cluster.ClusterError, match="slurmd runs: this machine belongs"):
        cluster.refuse_if_impossible()


def test_a_daemon_that_a_killed_test_left_is_ended(cluster: ModuleType, tmp_path: Path) -> None:
    program = tmp_path / "slurmd"
    shutil.copy2(shutil.which("sleep") or "", program)
    with subprocess.Popen([program, "60"]) as process:
        # The kernel names a process a moment after it has begun.
        name = Path(f"/proc/{process.pid}/comm")
        cluster.wait_for("the name", 20, lambda: name.read_text().strip() == "slurmd")
        (tmp_path / "slurmd.pid").write_text(str(process.pid))
        cluster.CONFIGURATION.write_text(f"{cluster.MARK} {tmp_path} {2**30}\n")
        cluster.end_what_a_killed_test_left()
        assert process.wait(20) == -signal.SIGTERM


def test_what_a_killed_test_left_is_removed(cluster: ModuleType, tmp_path: Path) -> None:
    # No process has this id: it is above what the kernel gives out.
    cluster.CONFIGURATION.write_text(f"{cluster.MARK} {tmp_path} {2**30}\n")
    # Somebody else's process by now: this one.
    (tmp_path / "slurmd.pid").write_text(str(os.getpid()))
    cluster.refuse_if_impossible()
    cluster.end_what_a_killed_test_left()
    assert not cluster.CONFIGURATION.exists()


def test_results_are_compared_but_not_what_nobody_can_repeat(
    cluster: ModuleType, tmp_path: Path
) -> None:
    runs = importlib.import_module("runs")
    for name, drawn in (("one", b"1"), ("other", b"2")):
        for path, content in {
            "tables/t.csv": b"t",
            "data/raw/adult.data": drawn,
            "releases/real/public/plan.json": b'{"release": {"mode": "production"}}' + drawn,
            "releases/real/public/protected.csv": drawn,
            "releases/real/private/receipt.json": drawn,
            "releases/real/private/exact_cells.csv": drawn,
            "releases/tried/public/plan.json": b'{"release": {"mode": "test"}}',
            "releases/tried/public/protected.csv": b"p",
            "releases/tried/private/risk.csv": b"c",
            "checks/tried.csv": b"c",
        }.items():
            file = tmp_path / name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
    one, other = (runs.comparable(tmp_path / name) for name in ("one", "other"))
    assert runs.differences(one, other) == []
    assert len(one) == 8
    other["releases/tried/private/risk.csv"] = other["releases/tried/public/protected.csv"] = b"q"
    other["checks/tried.csv"] = b""
    del other["tables/t.csv"]
    # That it is there is all that can be told of what nobody can repeat.
    del other["releases/real/private/receipt.json"], other["releases/real/public/protected.csv"]
    assert runs.differences(one, other) == [
        "checks/tried.csv: other bytes",
        "releases/real/private/receipt.json: missing",
        "releases/real/public/protected.csv: missing",
        "releases/tried/private/risk.csv: other bytes",
        "releases/tried/public/protected.csv: other bytes",
        "tables/t.csv: missing",
    ]
