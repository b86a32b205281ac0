"""A Slurm of one node for tests: munged, slurmctld, slurmd, as root, with all that they write in one folder.

Ports, sockets and the key are its own, so it meets no other Slurm of the machine. `SLURM_CONF` names it.
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CONFIG = """\
ClusterName=rushhour
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
SlurmctldPort={control}
SlurmdPort={node}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
KillWait=2
MinJobAge=300
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory=8192 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""
_PATIENCE_S = 60


@contextmanager
def slurm(folder: Path, cpus: int = 2) -> Iterator[dict[str, str]]:
    """A queue that takes jobs; the environment that commands need to find it."""
    for name in ("state", "spool"):
        (folder / name).mkdir(parents=True)
    folder.chmod(0o755)
    host = socket.gethostname().partition(".")[0]
    text = CONFIG.format(folder=folder, host=host, control=_port(), node=_port(), cpus=cpus)
    (folder / "slurm.conf").write_text(text)
    (folder / "munge.key").write_bytes(os.urandom(1024))
    (folder / "munge.key").chmod(0o400)
    environment = {"SLURM_CONF": str(folder / "slurm.conf")}
    munge = [
        "munged", "--foreground", "--force", f"--socket={folder}/munge.socket",
        f"--key-file={folder}/munge.key", f"--pid-file={folder}/munge.pid", f"--log-file={folder}/munge.log",
        f"--seed-file={folder}/munge.seed",
    ]  # fmt: skip
    started = []
    try:
        for words in (munge, ["slurmctld", "-D"], ["slurmd", "-D"]):
            with (folder / f"{words[0]}.out").open("wb") as log:
                started.append(subprocess.Popen(words, env=os.environ | environment, stdout=log, stderr=log))
            if words is munge:
                _until((folder / "munge.socket").exists, folder)
        _until(lambda: "idle" in _said(environment, "sinfo", "-h", "-o", "%T"), folder)
        yield environment
    finally:
        _said(environment, "scancel", "--full", "--signal=KILL", "--user=root")
        for process in reversed(started):
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def jobs(environment: dict[str, str]) -> list[str]:
    """The jobs that wait or run."""
    return _said(environment, "squeue", "-h", "-o", "%j %T").splitlines()


def _said(environment: dict[str, str], *words: str) -> str:
    done = subprocess.run(
        words, env=os.environ | environment, capture_output=True, text=True, timeout=60, check=False
    )
    return done.stdout


def _until(holds: object, folder: Path) -> None:
    assert callable(holds)
    end = time.monotonic() + _PATIENCE_S
    while not holds():
        if time.monotonic() > end:
            said = [path.read_text(errors="replace")[-2000:] for path in folder.glob("*.out")]
            raise AssertionError("\n".join(said))
        time.sleep(0.2)


def _port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
