"""Small guests for the lab's tests: one static C program each, as the first process of a virtual kernel."""

import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import cpus

from rushhour.lab import agent, kernel, tools, uml
from rushhour.lab.confine import Ending, Guest, Limits, Sandbox

PROLOGUE = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

static void say(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "/out/%s", name);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
    write(fd, text, strlen(text));
    close(fd);
}

static void beat(void)
{
    static long long now;
    now++;
    int fd = open("/out/progress", O_WRONLY | O_CREAT, 0644);
    write(fd, &now, sizeof now);
    close(fd);
}

static void nap(long ns)
{
    struct timespec time = {ns / 1000000000, ns % 1000000000};
    nanosleep(&time, 0);
}

static void device(const char *path, int major, int minor)
{
    mount("none", "/tmp", "tmpfs", 0, "");
    mknod(path, S_IFCHR | 0600, makedev(major, minor));
}

static void attempt(const char *what, long result)
{
    char line[512];
    snprintf(line, sizeof line, "%s: %s\n", what, result < 0 ? strerror(errno) : "DONE");
    say("attempts", line);
}
"""
MAIN = r"""
int main(void)
{
    mount("none", "/out", "hostfs", 0, "out");
    mount("none", "/proc", "proc", 0, "");
    say("began", "yes");
"""
END = r"""
    reboot(RB_POWER_OFF);
    return 0;
}
"""
FOREVER = r"""
    for (;;) {
        if (!fork()) { nap(1000); _exit(0); }
        beat();
        nap(100000000);
        while (waitpid(-1, 0, 1) > 0);
    }
"""


# Runs /out/script.sh; what it and its programs say stands in /out/said.
SHELL = r"""
    mount("none", "/sys", "sysfs", 0, "");
    mount("none", "/dev", "tmpfs", 0, "");
    mknod("/dev/null", S_IFCHR | 0666, makedev(1, 3));
    int child = fork();
    if (!child) {
        char *words[] = {"/tools/dash", "/out/script.sh", 0};
        char *environment[] = {"PATH=/tools", 0};
        int said = open("/out/said", O_WRONLY | O_CREAT | O_APPEND, 0644);
        dup2(said, 1);
        dup2(said, 2);
        execve(words[0], words, environment);
        _exit(127);
    }
    waitpid(child, 0, 0);
"""


def build(folder: Path, body: str, before: str = "") -> Path:
    """A guest's root whose init runs `body`; `before` is what stands before it in the program."""
    root = folder / "root"
    for name in agent.MOUNT_POINTS:
        (root / name).mkdir(parents=True, exist_ok=True)
    source = folder / "init.c"
    source.write_text(PROLOGUE + before + MAIN + body + END)
    subprocess.run(["gcc", "-static", "-O1", "-w", "-o", root / "init", source], check=True)
    return root


def without_namespaces(kinds: str) -> list[str]:
    """Words before a command that forbid it these kinds of namespaces, as an administrator might."""
    forbid = 'for kind in $0; do echo 0 > /proc/sys/user/max_${kind}_namespaces; done; exec "$@"'
    return ["unshare", "--user", "--map-root-user", "sh", "-c", forbid, kinds] if kinds else []


def launcher(folder: Path, forbidden: str) -> Path:
    """The launcher, on a machine that forbids these namespaces."""
    script = folder / "launcher"
    words = [*without_namespaces(forbidden), str(agent.find().binary)]
    script.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
    script.chmod(0o755)
    return script


def start(
    box: Sandbox,
    image: Path,
    limits: Limits | None = None,
    memory_mb: int = 256,
    program: Path | None = None,
) -> Guest:
    """Start the guest of a sandbox, pinned to one CPU."""
    words = uml.command(image, memory_mb, seed=1)
    cpu = cpus.own()
    return Guest(program or agent.find().binary, box, words, limits=limits or Limits(60, 30), cpu=cpu)


def give(root: Path, programs: Sequence[str]) -> None:
    """Put programs of this machine into a guest's root."""
    for name in programs:
        for place, path in tools.find(name).files.items():
            (root / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, root / place)


def run(
    folder: Path,
    body: str,
    image: Path | None = None,
    *,
    limits: Limits | None = None,
    memory_mb: int = 256,
    before: str = "",
    programs: Sequence[str] = (),
) -> tuple[Ending, dict[str, bytes], str]:
    """How the guest ended, what it left in its output, and its console."""
    image = image or kernel.default().image
    root = build(folder, body, before)
    give(root, programs)
    with Sandbox(folder / "runs", image, root) as box:
        ending = start(box, image, limits, memory_mb).wait()
        files = {str(path.relative_to(box.out)): path.read_bytes() for path in box.out.rglob("*")}
        return ending, files, box.console.read_text(errors="replace")


def shell(folder: Path, script: str, programs: Sequence[str], image: Path) -> str:
    """What a script says in a guest that has a shell, the agent and these programs of this machine."""
    root = build(folder, SHELL)
    give(root, ("dash", *programs))
    shutil.copy(agent.find().binary, root / "tools/rushhour-agent")
    with Sandbox(folder / "runs", image, root) as box:
        (box.out / "script.sh").write_text(script)
        ending = start(box, image).wait()
        assert ending.reason == "done", box.console.read_text(errors="replace")[-2000:]
        return (box.out / "said").read_text()
