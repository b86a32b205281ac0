"""Programs that see another system: a root with musl, one in an image; the same bytes each time."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from commandline import rush

from rushhour.errors import LabError
from rushhour.lab import kernel as kernels
from rushhour.lab.uml import UmlLab
from rushhour.record.record import Record
from rushhour.running.batch import of_one
from rushhour.spec.load import load_scenario

pytestmark = pytest.mark.virtual

LOADER = Path("/lib/ld-musl-x86_64.so.1")
TOP = 'duration = "10s"\ntopology = { preset = "dumbbell", rate = "2mbit", rtt = "100ms" }\n'
# What a program sees: names, its loader, what it may write, what others wrote; nothing of the lab's.
PROGRAM = r"""
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static void may(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT, 0644);
    printf("%s: %s\n", path, fd < 0 ? strerror(errno) : "written");
    close(fd);
}

int main(int argc, char **argv)
{
    struct addrinfo *found = NULL, hints = { .ai_socktype = SOCK_STREAM };
    char text[64] = "", here[256] = "";
    struct stat about;
    if (strcmp(argv[1], "serve") == 0) {
        struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(8000) };
        int on = socket(AF_INET, SOCK_STREAM, 0);
        if (bind(on, (void *)&any, sizeof any) || listen(on, 1)) return 2;
        int one = accept(on, NULL, NULL);
        return write(one, "hello", 5) != 5;
    }
    if (getaddrinfo("r1", "8000", &hints, &found)) return 3;
    int to = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(to, found->ai_addr, found->ai_addrlen)) return 4;
    printf("got %d: %s\n", (int)read(to, text, sizeof text - 1), text);
    may("/tmp/a"); may("/run/b"); may("/var/tmp/c"); may("/dev/shm/d"); may("here");
    may("/etc/e"); may("/bin/f");
    printf("in %s\n", getcwd(here, sizeof here));
    printf("out %d, roots %d, init %d, sh %d\n", stat("/out", &about), stat("/roots", &about),
           stat("/init", &about), stat("/bin/sh", &about));
    printf("file %d, suid %o\n", stat("f.txt", &about), stat("/bin/two", &about) ? 0 : about.st_mode & 07777);
    return 0;
}
"""
TWO = """
[[program]]
name = "server"
node = "r1"
command = "two serve"
root = "system.tar.gz"
ready = 8000
[[program]]
name = "client"
node = "s1"
command = "two see"
root = "./system"
files = "f.txt"
after = "server"
until = "exit"
[[program]]
name = "beside"
node = "s1"
command = ["sh", "-c", "sleep 5; ls /tmp; ls /roots | wc -l"]
needs = ["sleep", "ls", "wc"]
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the root of a system of musl's: its loader, a program, and no shell."""
    folder = tmp_path_factory.mktemp("roots")
    system = folder / "system"
    for name in ("bin", "lib", "etc"):
        (system / name).mkdir(parents=True)
    (folder / "p.c").write_text(PROGRAM)
    subprocess.run(["musl-gcc", "-o", system / "bin/two", folder / "p.c"], check=True)
    (system / "bin/two").chmod(0o4755)
    shutil.copy(LOADER, system / "lib")
    (system / "etc/hosts").write_text("192.0.2.1 r1\n")
    (system / "etc/resolv.conf").symlink_to("/run/elsewhere")
    subprocess.run(["tar", "-C", system, "-czf", folder / "system.tar.gz", "."], check=True)
    (folder / "f.txt").write_text("text")
    (folder / "s.toml").write_text(TOP + TWO)
    (folder / "net.toml").write_text(TOP)
    return folder


def run(folder: Path, name: str) -> Record:
    scenario = load_scenario(folder / "s.toml")
    batch, one = of_one("s", scenario, kernels.find("debian-6.12"), folder / name)
    return Record.open(UmlLab().run(batch.job(one), folder / name))


def test_programs_see_roots_of_their_own(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    record = run(place, "a")
    named = {one.name: one for one in record.result.programs}
    said = {
        name: [line.text for line in record.output() if line.program == one.id] for name, one in named.items()
    }
    assert (named["client"].exit, named["client"].error) == (0, None)
    assert said["client"] == [
        "got 5: hello",
        *[f"{name}: written" for name in ("/tmp/a", "/run/b", "/var/tmp/c", "/dev/shm/d", "here")],
        "/etc/e: Read-only file system",
        "/bin/f: Read-only file system",
        "in /lab/client",
        "out -1, roots -1, init -1, sh -1",
        "file 0, suid 555",
    ]
    assert not list(place.rglob("system/etc/e"))
    # The same files, once as an archive and once as a folder, are one root, told by one hash.
    tools = record.manifest.tools
    assert tools["root:system.tar.gz"].sha256 == tools["root:./system"].sha256
    assert str(place) not in (record.path / "plan.json").read_text()
    assert run(place, "b").manifest.files == record.manifest.files


def test_others_beside_it_share_what_is_written_and_see_no_roots(place: Path) -> None:
    file = place / "beside.toml"
    file.write_text((place / "s.toml").read_text().replace('until = "exit"\n', ""))
    answer = rush("run", str(file), "--out", str(place / "beside"), cwd=place)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    (found,) = (place / "beside/runs").iterdir()
    record = Record.open(found)
    assert [line.text for line in record.output() if line.program == 2] == ["a", "0"]


def test_exec_takes_a_root(place: Path) -> None:
    words = ("net.toml", "s1", "--", "/bin/two", "see")
    answer = rush("exec", "--root", "system.tar.gz", *words, cwd=place)
    # Nobody listens there.
    assert (answer.returncode, answer.stdout, answer.stderr) == (4, "", "")
    answer = rush("exec", "--root", "system.tar.gz", "net.toml", "s1", "--", "tow", cwd=place)
    assert answer.returncode != 0
    assert 'there is no program "tow" in the root system.tar.gz' in answer.stderr
    assert "did you mean two?" in answer.stderr
    answer = rush("exec", "--root", "f.txt", "net.toml", "s1", "--", "two", cwd=place)
    assert "is neither a folder nor an archive of tar" in answer.stderr


def test_a_guest_that_is_copied_its_world_has_the_roots_in_it(place: Path) -> None:
    """As root in a container there are no mounts for the launcher."""
    container = [sys.executable, str(Path(__file__).parents[1] / "container.py"), "--"]
    command = [sys.executable, "-m", "rushhour", "exec", "--fresh", "--root", "system", "net.toml", "s1"]
    answer = subprocess.run(
        [*container, *command, "--", "two", "see"], cwd=place, capture_output=True, text=True, check=False
    )
    assert (answer.returncode, answer.stdout) == (4, ""), answer.stderr


def test_a_program_without_its_loader_is_refused_before_it_runs(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(place / "system", tmp_path / "system", symlinks=True)
    shutil.copy(place / "f.txt", tmp_path)
    (tmp_path / "system/lib" / LOADER.name).unlink()
    (tmp_path / "s.toml").write_text(TOP + TWO.replace("system.tar.gz", "./system"))
    with pytest.raises(LabError, match=r"needs /lib/ld-musl-x86_64.so.1, which is not in the root ./system"):
        run(tmp_path, "a")
