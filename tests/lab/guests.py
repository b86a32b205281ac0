"""Small guests for the lab's tests: one static C program each, as the first process of a virtual kernel."""

import os
import subprocess
from pathlib import Path
from typing import Any

from rushhour.lab import agent, kernel, uml
from rushhour.lab.confine import Ending, Guest, Limits, Sandbox

PROLOGUE = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>

static void say(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "/out/%s", name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
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

int main(void)
{
    mount("none", "/out", "hostfs", 0, "out");
    mount("none", "/proc", "proc", 0, "");
    say("began", "yes");
"""
EPILOGUE = r"""
    reboot(RB_POWER_OFF);
    return 0;
}
"""


def build(folder: Path, body: str) -> Path:
    """A guest's root whose init runs `body`."""
    root = folder / "root"
    for name in agent.MOUNT_POINTS:
        (root / name).mkdir(parents=True, exist_ok=True)
    source = folder / "init.c"
    source.write_text(PROLOGUE + body + EPILOGUE)
    subprocess.run(["gcc", "-static", "-O1", "-w", "-o", root / "init", source], check=True)
    return root


def start(
    root: Path, sandbox: Sandbox, limits: Limits | None = None, memory_mb: int = 256, seed: int = 1
) -> Guest:
    words = uml.command(kernel.default().image, memory_mb, seed)
    cpu = min(os.sched_getaffinity(0))
    return Guest(agent.find().binary, sandbox, words, limits=limits or Limits(60, 30), cpu=cpu)


def sandbox(folder: Path, root: Path) -> Sandbox:
    return Sandbox(folder / "runs", kernel.default().image, root)


def run(folder: Path, body: str, **options: Any) -> tuple[Ending, dict[str, bytes], str]:
    """How the guest ended, what it left in its output, and its console."""
    root = build(folder, body)
    with sandbox(folder, root) as box:
        ending = start(root, box, **options).wait()
        files = {str(p.relative_to(box.out)): p.read_bytes() for p in box.out.rglob("*") if p.is_file()}
        return ending, files, box.console.read_text(errors="replace")
