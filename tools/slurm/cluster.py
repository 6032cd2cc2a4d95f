"""A Slurm of one node on this machine, for the time of a test; it stops all processes it started.

Slurm's commands and the executor's inner ``srun`` only read ``/etc/slurm/slurm.conf``, so that file
is written and removed again. All other files (state, logs, keys, process ids) are in the folder
that the caller gives. It needs root and Debian's packages; see `missing`.
"""

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

CONFIGURATION = Path("/etc/slurm/slurm.conf")
ACCOUNTING_CONFIGURATION = Path("/etc/slurm/slurmdbd.conf")
MARK = "# Written by make test-slurm, which removes it at its end. Folder and process:"
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "srun")
PACKAGES = "slurmctld slurmd slurm-client munge"
ACCOUNTING_PROGRAMS = ("slurmdbd", "sacct", "sacctmgr", "mariadbd", "mariadb-install-db")
ACCOUNTING_PACKAGES = "slurmdbd mariadb-server"
ACCOUNT = "deniable"


class ClusterError(Exception):
    """Slurm cannot be started here, for the reason in the message."""


def missing(*, accounting: bool = False) -> list[str]:
    """Return the programs that are not installed."""
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    programs = ACCOUNTING_PROGRAMS if accounting else PROGRAMS
    return [program for program in programs if shutil.which(program, path=path) is None]


def refuse_if_impossible() -> None:
    """Check that Slurm can be started here, before anything changes.

    Raises
    ------
    ClusterError
        Without root, without the packages, or if this machine already has a Slurm.
    """
    if os.geteuid() != 0:
        raise ClusterError(
            f"needs root, to write {CONFIGURATION} and start daemons; try: sudo make test-slurm"
        )
    if missing():
        raise ClusterError(
            f"not installed: {', '.join(missing())}. On Debian or Ubuntu: "
            f"apt-get install --no-install-recommends {PACKAGES}; "
            "or let make do it: make test-slurm INSTALL=1"
        )
    # The null device is set so that local starts of Snakemake do not wait for a Slurm.
    if os.environ.get("SLURM_CONF") == os.devnull:
        del os.environ["SLURM_CONF"]
    if os.environ.get("SLURM_CONF"):
        raise ClusterError("SLURM_CONF is set: this machine belongs to a Slurm already")
    for file in (CONFIGURATION, ACCOUNTING_CONFIGURATION):
        if file.exists() and MARK not in file.read_text(encoding="utf-8"):
            raise ClusterError(
                f"{file} exists: this machine belongs to a Slurm already, and stays as it is. "
                "Use that one: snakemake --profile profiles/slurm"
            )
        if file.exists() and owner(file) != os.getpid() and running(owner(file)):
            raise ClusterError(f"another test runs, process {owner(file)}; one at a time")
    # Nodes may get their configuration from another place, which a file here would replace.
    if not CONFIGURATION.exists() and (found := daemons()):
        raise ClusterError(f"{found[0]} runs: this machine belongs to a Slurm already")


def daemons() -> list[str]:
    """Return the running daemons of a Slurm on this machine."""
    found = []
    for file in Path("/proc").glob("[0-9]*/comm"):
        with contextlib.suppress(OSError):  # processes come and go
            found.append(file.read_text(encoding="utf-8").strip())
    return [name for name in ("slurmctld", "slurmd", "sackd") if name in found]


def marked(file: Path) -> tuple[str, int]:
    """Return the folder and the process of the test that wrote a configuration."""
    folder, _, process = file.read_text(encoding="utf-8").splitlines()[0].rpartition(" ")
    return folder.removeprefix(MARK).strip(), int(process)


def owner(file: Path) -> int:
    """Return the process of the test that wrote a configuration."""
    return marked(file)[1]


def end_what_a_killed_test_left() -> None:
    """Stop the daemons of an earlier test that was killed, and remove its files."""
    for file in (CONFIGURATION, ACCOUNTING_CONFIGURATION):
        if file.exists():
            for pid_file in sorted(Path(marked(file)[0]).glob("*.pid")):
                end(pid_file)
            file.unlink()


def host_name() -> str:
    """Return the name of this machine in Slurm."""
    return socket.gethostname().partition(".")[0]


def free_port() -> int:
    """Return a port that is not in use."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


Found = TypeVar("Found")


def run(*command: str, **options: object) -> str:
    """Run a command that must succeed; return its output."""
    environment = os.environ | {"PATH": os.environ.get("PATH", "") + ":/usr/sbin:/sbin"}
    done = subprocess.run(  # type: ignore[call-overload]
        command, env=environment, capture_output=True, text=True, check=False, **options
    )
    if done.returncode != 0:
        raise ClusterError(f"{' '.join(command)}: {(done.stderr or done.stdout).strip()}")
    said: str = done.stdout
    return said


def wait_for(what: str, seconds: float, happened: Callable[[], Found]) -> Found:
    """Call `happened` until it returns a true value; return this value."""
    deadline = time.monotonic() + seconds
    while not (found := happened()):
        if time.monotonic() > deadline:
            raise ClusterError(f"waited {seconds:g} s in vain for {what}")
        time.sleep(0.25)
    return found


def end(pid_file: Path) -> None:
    """Stop the process with the id in a file, and wait until it has ended."""
    try:
        pid = int(pid_file.read_text(encoding="utf-8"))
        command = Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip()
    except (FileNotFoundError, ValueError):
        return
    # After a restart of the machine another process may have the id.
    if command != pid_file.stem:
        return
    for number, patience in ((signal.SIGTERM, 15.0), (signal.SIGKILL, 5.0)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            if not running(pid):
                pid_file.unlink(missing_ok=True)
                return
            time.sleep(0.05)


def running(pid: int) -> bool:
    """Return whether a process exists and is not a zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@dataclass(frozen=True)
class Cluster:
    """A Slurm with one node: this machine.

    Parameters
    ----------
    folder : path
        State and logs; no other user may write there or above it (munge requires this).
    slots : int
        Configured CPUs; may be more than there are, for jobs that mostly wait.
    accounting : bool
        Whether it has a database of jobs, with an account and the user.
    """

    folder: Path
    slots: int
    accounting: bool = False

    def start(self) -> None:
        """Start munge, the database (with accounting), the controller and the node."""
        end_what_a_killed_test_left()
        self.folder.mkdir(mode=0o755)
        CONFIGURATION.parent.mkdir(exist_ok=True)
        # Before the first daemon, so that a later test can find the daemons and stop them.
        CONFIGURATION.write_text(self._configuration(), encoding="utf-8")
        self._start_munge()
        if self.accounting:
            self._start_accounting()
        run("slurmctld")
        run("slurmd")
        wait_for("the node", 60, node_is_idle)

    def stop(self) -> None:
        """Stop all daemons, and remove the configuration."""
        with contextlib.suppress(ClusterError):
            run("scancel", f"--user={os.geteuid()}")
            wait_for("jobs to end", 10, lambda: not run("squeue", "--noheader"))
        for name in ("slurmd", "slurmctld", "slurmdbd", "mariadbd", "munged"):
            end(self.folder / f"{name}.pid")
        ACCOUNTING_CONFIGURATION.unlink(missing_ok=True)
        CONFIGURATION.unlink(missing_ok=True)

    def logs(self) -> str:
        """Return the last lines of each daemon's log."""
        parts = []
        for file in sorted(self.folder.glob("*.log")):
            lines = file.read_text(encoding="utf-8", errors="replace").splitlines()[-5:]
            parts.append("\n".join([f"-- {file.name}", *lines]))
        return "\n".join(parts)

    def _start_munge(self) -> None:
        key = self.folder / "munge.key"
        key.touch(mode=0o600)
        key.write_bytes(secrets.token_bytes(128))
        run(
            "munged",
            f"--key-file={key}",
            f"--socket={self.folder}/munge.socket",
            f"--pid-file={self.folder}/munged.pid",
            f"--log-file={self.folder}/munged.log",
            f"--seed-file={self.folder}/munge.seed",
        )

    def _configuration(self) -> str:
        host = host_name()
        lines = [
            f"{MARK} {self.folder} {os.getpid()}",
            "ClusterName=deniable",
            f"SlurmctldHost={host}(127.0.0.1)",
            f"SlurmctldPort={free_port()}",
            f"SlurmdPort={free_port()}",
            "SlurmUser=root",
            "SlurmdUser=root",
            "AuthType=auth/munge",
            f"AuthInfo=socket={self.folder}/munge.socket",
            f"StateSaveLocation={self.folder}/state",
            f"SlurmdSpoolDir={self.folder}/spool",
            f"SlurmctldPidFile={self.folder}/slurmctld.pid",
            f"SlurmdPidFile={self.folder}/slurmd.pid",
            f"SlurmctldLogFile={self.folder}/slurmctld.log",
            f"SlurmdLogFile={self.folder}/slurmd.log",
            "ProctrackType=proctrack/linuxproc",
            "TaskPlugin=task/none",
            "ReturnToService=2",
            "KillWait=2",
            "SchedulerParameters=sched_interval=2,bf_interval=2",
            "SlurmdParameters=config_overrides",
            "SelectType=select/cons_tres",
            "SelectTypeParameters=CR_Core",
            # The default of Slurm; Snakemake checks at least every 3 minutes.
            "MinJobAge=300",
            f"NodeName={host} NodeAddr=127.0.0.1 CPUs={self.slots} RealMemory=64000 State=UNKNOWN",
            "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP",
        ]
        if self.accounting:
            lines += [
                "AccountingStorageType=accounting_storage/slurmdbd",
                "AccountingStorageHost=127.0.0.1",
                f"AccountingStoragePort={free_port()}",
                f"AccountingStoragePass={self.folder}/munge.socket",
                "AccountingStorageEnforce=associations",
                "JobAcctGatherType=jobacct_gather/linux",
                "JobAcctGatherFrequency=1",
            ]
        else:
            lines += [
                "AccountingStorageType=accounting_storage/none",
                "JobAcctGatherType=jobacct_gather/none",
            ]
        return "\n".join(lines) + "\n"

    def _start_accounting(self) -> None:
        """Start a separate database, and Slurm's daemon that uses it."""
        data = self.folder / "database"
        run("mariadb-install-db", "--no-defaults", f"--datadir={data}", "--user=root")
        port, password = free_port(), secrets.token_hex(16)
        first = self.folder / "first.sql"
        first.touch(mode=0o600)
        first.write_text(
            f"CREATE USER slurm@'127.0.0.1' IDENTIFIED BY '{password}';\n"
            "GRANT ALL ON slurm_acct_db.* TO slurm@'127.0.0.1';\n",
            encoding="utf-8",
        )
        environment = os.environ | {"PATH": os.environ.get("PATH", "") + ":/usr/sbin"}
        with (self.folder / "mariadbd.log").open("wb") as log:
            subprocess.Popen(
                [
                    *("mariadbd", "--no-defaults", "--user=root", f"--datadir={data}"),
                    *(f"--init-file={first}", f"--socket={self.folder}/mariadb.socket"),
                    *("--bind-address=127.0.0.1", f"--port={port}", "--skip-name-resolve"),
                    f"--pid-file={self.folder}/mariadbd.pid",
                ],
                stdout=log,
                stderr=log,
                env=environment,
                start_new_session=True,
            )
        wait_for("the database", 60, lambda: listens(port))
        text = CONFIGURATION.read_text(encoding="utf-8")
        own_port = text.partition("AccountingStoragePort=")[2].splitlines()[0]
        ACCOUNTING_CONFIGURATION.touch(mode=0o600)
        ACCOUNTING_CONFIGURATION.write_text(
            f"{MARK} {self.folder} {os.getpid()}\n"
            "AuthType=auth/munge\n"
            f"AuthInfo=socket={self.folder}/munge.socket\n"
            f"DbdHost={host_name()}\nDbdAddr=127.0.0.1\nDbdPort={own_port}\nSlurmUser=root\n"
            f"LogFile={self.folder}/slurmdbd.log\nPidFile={self.folder}/slurmdbd.pid\n"
            "StorageType=accounting_storage/mysql\nStorageHost=127.0.0.1\n"
            f"StoragePort={port}\nStorageUser=slurm\nStoragePass={password}\n",
            encoding="utf-8",
        )
        run("slurmdbd")
        wait_for("the accounting daemon", 60, lambda: listens(int(own_port)))
        user = run("id", "-un").strip()
        run("sacctmgr", "--immediate", "add", "cluster", "deniable")
        run("sacctmgr", "--immediate", "add", "account", ACCOUNT, "cluster=deniable")
        run("sacctmgr", "--immediate", "add", "user", user, f"account={ACCOUNT}")


def node_is_idle() -> bool:
    """Return whether the controller answers and its node is idle."""
    with contextlib.suppress(ClusterError):
        return "idle" in run("sinfo", "--noheader", "--format=%T")
    return False


def listens(port: int) -> bool:
    """Return whether a process answers on a port of this machine."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextlib.contextmanager
def cluster(folder: Path, slots: int, *, accounting: bool = False) -> Iterator[Cluster]:
    """Start a cluster, and stop it at the end, also after an error."""
    it = Cluster(folder, slots, accounting)
    try:
        try:
            it.start()
        except ClusterError as error:
            raise ClusterError(f"{error}\n{it.logs()}") from None
        yield it
    finally:
        it.stop()
