"""What a hostile guest reaches: nothing but its own output."""

import os
import subprocess
from pathlib import Path

import guests
import pytest

from rushhour.lab import agent, kernel, uml
from rushhour.lab.confine import Guest, Limits, Sandbox

pytestmark = pytest.mark.virtual

# Root in the guest tries what it can. hostfs is no jail: its paths may hold `..`, its root can be remounted.
ESCAPES = r"""
    char text[256], path[512];
    attempt("remount the root writable", mount("none", "/", "hostfs", MS_REMOUNT, ""));
    attempt("write beside init", open("/planted", O_WRONLY | O_CREAT, 0644));
    attempt("write over init", open("/init", O_WRONLY | O_TRUNC));
    attempt("remove init", unlink("/init"));
    attempt("unlock init", chmod("/init", 0777));
    mkdir("/out/way", 0755);
    mount("none", "/tmp", "tmpfs", 0, "");
    for (int up = 0; up < 12; up++) {
        char *end = path;
        for (int step = 0; step < up; step++)
            end += sprintf(end, "../");
        strcpy(end, ".");
        snprintf(text, sizeof text, "/tmp/%d", up);
        mkdir(text, 0755);
        if (mount("none", text, "hostfs", 0, path) < 0)
            continue;
        const char *aims[] = {
            "SECRET", "etc/passwd", "etc/hostname", "proc/self/environ", "linux", "root/init"};
        for (int aim = 0; aim < 6; aim++) {
            char place[600], what[700], read_back[64];
            snprintf(place, sizeof place, "/tmp/%d/%s", up, aims[aim][0] == 'S' ? SECRET : aims[aim]);
            int fd = open(place, O_RDONLY);
            snprintf(what, sizeof what, "%s %s", aim < 4 ? "read" : "read own", place);
            attempt(what, fd < 0 ? -1 : read(fd, read_back, sizeof read_back));
            snprintf(what, sizeof what, "write %s", place);
            attempt(what, open(place, O_WRONLY | O_APPEND));
            snprintf(place, sizeof place, "/tmp/%d/planted", up);
            snprintf(what, sizeof what, "create %s", place);
            attempt(what, open(place, O_WRONLY | O_CREAT, 0644));
        }
    }
    attempt("link the image into the output", link("/init", "/out/linked"));
    attempt("a device in the output", mknod("/out/disk", S_IFBLK | 0600, makedev(254, 0)));
    attempt("a symbolic link in the output", symlink("/etc/passwd", "/out/pointer"));
    int fd = open("/proc/1/root/" "etc/passwd", O_RDONLY);
    attempt("the host's files through /proc", fd);
"""


# The third is what AppArmor leaves to an ordinary user of Ubuntu: a user namespace, and nothing in it.
@pytest.mark.parametrize("forbidden", ["", "mnt", "pid net mnt ipc", "user pid net mnt ipc"])
def test_root_in_the_guest_reads_nothing_and_writes_only_its_output(forbidden: str, tmp_path: Path) -> None:
    """With all namespaces, and where Landlock and the filter stand alone."""
    secret = tmp_path / "secret"
    secret.write_text("the user's own words")
    body = f'#define SECRET "{str(secret).lstrip("/")}"\n' + ESCAPES
    root = guests.build(tmp_path, body)
    init = (root / "init").read_bytes()
    image = kernel.default().image
    program = guests.launcher(tmp_path, forbidden)
    before = sorted(tmp_path.iterdir())
    with Sandbox(tmp_path / "runs", image, root) as box:
        ending = guests.start(box, image, program=program).wait()
        attempts = (box.out / "attempts").read_text().splitlines()
        left = sorted(str(path.relative_to(box.folder)) for path in box.folder.rglob("*"))
        plain = all(path.is_dir() or path.is_file() for path in box.out.rglob("*") if not path.is_symlink())
        links = [path for path in box.out.rglob("*") if path.is_symlink()]
    assert ending.reason == "done"
    assert bool(ending.warnings) == bool(forbidden)
    assert len(attempts) > 40, "the attempts were made"
    # Its own kernel, its own init and its own output it may read; "remount" changes what the guest believes.
    reached = [line for line in attempts if line.endswith("DONE") and not line.startswith("read own")]
    reached = [line for line in reached if not line.startswith("remount")]
    assert all("out/planted" in line for line in reached), reached
    assert secret.read_text() == "the user's own words"
    assert (root / "init").read_bytes() == init
    assert sorted(path for path in tmp_path.iterdir() if path.name != "runs") == before
    # Without namespaces root makes the sandbox a root directory, with what the kernel looks for in one.
    own = {"dev", "proc"} if "pid" in forbidden else set()
    assert {name for name in left if "/" not in name} == {"linux", "mem", "root", "out", "console.log"} | own
    assert plain
    assert not links
    assert not (root / "planted").exists()


def test_a_host_system_call_that_confinement_forbids_is_refused(tmp_path: Path) -> None:
    """The filter and Landlock hold for any program the launcher starts, so ask with a host program."""
    source = tmp_path / "ask.c"
    source.write_text(
        guests.PROLOGUE
        + r"""
#include <sched.h>
#include <sys/random.h>
#include <sys/socket.h>
int main(void)
{
    char byte;
    printf("socket %d\n", socket(AF_INET, SOCK_STREAM, 0) < 0 ? errno : 0);
    printf("unix %d\n", socket(AF_UNIX, SOCK_STREAM, 0) < 0 ? errno : 0);
    printf("getrandom %d\n", getrandom(&byte, 1, 0) < 0 ? errno : 0);
    printf("unshare %d\n", unshare(CLONE_NEWUSER) < 0 ? errno : 0);
    printf("mount %d\n", mount("none", "mem", "tmpfs", 0, "") < 0 ? errno : 0);
    printf("open %d\n", open("/etc/passwd", O_RDONLY) < 0 ? errno : 0);
    printf("kill %d\n", kill(getppid(), 0) < 0 ? errno : 0);
    printf("pid %d\n", getpid());
    printf("environment %s %s\n", environ[0], environ[1] ? environ[1] : "-");
    char *brk = sbrk(0);
    printf("brk %p\n", brk);
    return 0;
}
"""
    )
    program = tmp_path / "ask"
    subprocess.run(["gcc", "-static", "-O1", "-w", "-o", program, source], check=True)
    said = []
    for _ in range(2):
        with Sandbox(tmp_path / "runs", program, guests.build(tmp_path, "")) as box:
            words = uml.command(program, 256, seed=1)
            ending = Guest(agent.find().binary, box, words, limits=Limits(20, 20), cpu=None).wait()
            said.append(box.console.read_text())
    assert ending.reason == "done"
    lines = dict(line.split(" ", 1) for line in said[0].splitlines())
    assert lines["socket"] == lines["unix"] == lines["unshare"] == lines["mount"] == "1"  # EPERM
    assert lines["getrandom"] == "38"  # ENOSYS
    assert lines["open"] in {"2", "13"}  # ENOENT in a world of its own, else EACCES
    assert lines["environment"] == "GLIBC_TUNABLES=glibc.pthread.rseq=0 TMPDIR=mem"
    assert said[0] == said[1], "addresses and process numbers are the same in every run"


@pytest.mark.host
def test_an_ordinary_user_gets_the_same_confinement_and_the_same_bytes(tmp_path: Path) -> None:
    """As root, `nobody` is asked to run the guest; its output equals root's own."""
    nobody = 65534
    body = 'char t[99]; sprintf(t, "%d %d", getpid(), getuid()); say("who", t); '
    body += "for (int i = 0; i < 9; i++) beat();"
    _, expected, console = guests.run(tmp_path, body)
    image = Path("/tmp") / f"rushhour-test-{os.getpid()}"  # pytest's own folder is closed to others
    image.mkdir(mode=0o755)
    try:
        (image / "linux").write_bytes(kernel.default().image.read_bytes())
        (image / "linux").chmod(0o755)
        (image / "launcher").write_bytes(agent.find().binary.read_bytes())
        (image / "launcher").chmod(0o755)
        root = guests.build(image, body)
        with Sandbox(image / "runs", image / "linux", root) as box:
            for path in (box.folder, box.out, box.folder / "mem"):
                os.chown(path, nobody, nobody)
            words = [
                str(image / "launcher"),
                "launch",
                "--dir",
                str(box.folder),
                "--require",
                "--timeout",
                "20",
            ]
            launcher = subprocess.Popen(
                [*words, "--", *uml.command(image / "linux", 256, seed=1)],
                user=nobody,
                group=nobody,
                extra_groups=[],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            assert launcher.stdout is not None
            assert launcher.stdin is not None
            said = launcher.stdout.read()
            launcher.stdin.close()
            launcher.stdout.close()
            launcher.wait(20)
            files = {path.name: path.read_bytes() for path in box.out.iterdir()}
            assert '"reason":"done"' in said
            assert '"warnings":[]' in said
            assert files == expected
            assert box.console.read_text() == console
    finally:
        subprocess.run(["rm", "-rf", image], check=True)
