"""Built kernels boot, in virtual time, and are what their identity says."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from rushhour.errors import GuestError
from rushhour.lab import boot
from rushhour.lab import kernel as kernels
from rushhour.lab.confine import Ending, Sandbox
from rushhour.lab.ending import result_of
from rushhour.lab.kernel import config

pytestmark = pytest.mark.virtual

INIT = r"""
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <time.h>
#include <unistd.h>
static char text[4096];
static void copy(const char *from, const char *to) {
    int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT, 0644);
    write(out, text, read(in, text, sizeof text));
}
int main(void) {
    struct timespec hour = {3600, 0};
    mount("proc", "/proc", "proc", 0, 0);
    nanosleep(&hour, 0);
    copy("/proc/version", "/out/version");
    copy("/proc/uptime", "/out/uptime");
    copy("/proc/sys/net/ipv4/tcp_available_congestion_control", "/out/cc");
    reboot(RB_POWER_OFF);
}
"""
COMMAND_LINE = (
    "mem=128M root=none rootfstype=hostfs rw init=/init con=null con0=null quiet norandmaps "
    "time-travel=inf-cpu time-travel-start=1700000000000000000"
)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place: Path = tmp_path_factory.mktemp("root")
    (place / "init.c").write_text(INIT)
    subprocess.run(["gcc", "-w", "-static", "-o", place / "init", place / "init.c"], check=True)
    (place / "proc").mkdir()
    (place / "out").mkdir()
    return place


@pytest.mark.parametrize("name", ["debian-6.12", "debian-6.1"])
def test_a_kernel_boots_and_sleeps_an_hour_in_no_time(name: str, root: Path) -> None:
    kernel = kernels.find(name)
    for old in (root / "out").iterdir():
        old.unlink()
    command = ["setarch", "-R", str(kernel.image), *COMMAND_LINE.split(), f"rootflags={root}"]
    environment = {**os.environ, "GLIBC_TUNABLES": "glibc.pthread.rseq=0"}
    subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=True
    )
    said = {path.name: path.read_text() for path in (root / "out").iterdir()}
    assert said["version"].startswith(f"Linux version {kernel.release} (rushhour@lab)")
    assert 3600 <= float(said["uptime"].split()[0]) < 3600.1
    options = [option for option in config.asked() if option.startswith("TCP_CONG_")]
    assert len(said["cc"].split()) == len(options)  # TCP_CONG_ADVANCED has no algorithm; reno has no option


@pytest.mark.parametrize("name", ["debian-6.12", "debian-6.1"])
def test_nothing_required_is_missing(name: str) -> None:
    identity = kernels.find(name).identity
    gone_or_not_yet = {"BASE_FULL", "NET_SCH_CBQ", "NET_SCH_DSMARK", "NET_SCH_DUALPI2", "NET_CLS_TCINDEX"}
    later = {"NETFILTER_XTABLES_LEGACY", "IP_NF_IPTABLES_LEGACY", "IP6_NF_IPTABLES_LEGACY"}
    assert set(identity["missing"]) <= gone_or_not_yet | later
    assert identity["hz"] == 1000


def test_a_kernel_that_complains_of_itself_as_it_starts_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """As 5.10 does with lockdep, which then watches no more: each run of it would fail by the same words."""

    def complaining(ending: Ending, sandbox: Sandbox, where: str) -> Mapping[str, object]:
        with sandbox.console.open("a", encoding="utf-8") as console:
            console.write("[    0.000000] [ BUG: Invalid wait context ]\n")
        return result_of(ending, sandbox, where)

    kernel = kernels.find("debian-6.12")
    assert boot.boot(kernel).seconds > 0
    monkeypatch.setattr(boot, "result_of", complaining)
    with pytest.raises(GuestError, match=r"complains, before the experiment began: \[ BUG: Invalid wait"):
        boot.boot(kernel)
