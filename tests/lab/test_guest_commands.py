"""Commands in a guest: what they cost, how they end, what they may not do."""

import subprocess
from pathlib import Path

import pytest

from rushhour.errors import LabError
from rushhour.lab import kernel as kernels
from rushhour.lab import userland
from rushhour.lab.commands import Commands, Ended, Order
from rushhour.lab.confine import Limits
from rushhour.lab.kernel import Kernel, host

pytestmark = pytest.mark.virtual

CALL_NS = 1024
"""What a system call costs, by docs/labs.md."""
PROGRAM = r"""
#include <linux/if_packet.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/times.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Of a packet ring, 16 pages in each piece of memory: how many a child sees as its parent wrote them. */
static int seen_by_a_child(void)
{
	enum { PAGE = 4096, PAGES = 64 };
	struct tpacket_req size = { .tp_block_size = 16 * PAGE, .tp_block_nr = 4 };
	int heard = socket(AF_PACKET, SOCK_DGRAM, 0), seen = 0, status;
	char *ring;

	size.tp_frame_size = PAGE;
	size.tp_frame_nr = PAGES;
	setsockopt(heard, SOL_PACKET, PACKET_RX_RING, &size, sizeof(size));
	ring = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, heard, 0);
	for (int i = 0; i < PAGES; i++)
		ring[i * PAGE] = i + 1;
	if (fork() == 0) {
		for (int i = 0; i < PAGES; i++)
			seen += ring[i * PAGE] == i + 1;
		_exit(seen);
	}
	wait(&status);
	return WEXITSTATUS(status);
}

static long long now(void)
{
	struct timespec at;
	clock_gettime(CLOCK_MONOTONIC, &at);
	return at.tv_sec * 1000000000LL + at.tv_nsec;
}

int main(int count, char **words)
{
	const char *what = count > 1 ? words[1] : "";
	long long before = now();

	if (!strcmp(what, "calls")) {
		for (int i = 0; i < 1000; i++)
			syscall(SYS_getppid);
		printf("%lld\n", now() - before);
	} else if (!strcmp(what, "ticks")) {
		clock_t first = times(NULL);
		int asked = 1;
		while (times(NULL) < first + 10)
			asked++;
		printf("%d\n", asked);
	} else if (!strcmp(what, "first")) {
		struct sched_param priority = { .sched_priority = 99 };
		printf("%d\n", sched_setscheduler(0, SCHED_RR, &priority));
	} else if (!strcmp(what, "random")) {
		unsigned number;
		getrandom(&number, sizeof(number), 0);
		printf("%u\n", number);
	} else if (!strcmp(what, "fork")) {
		printf("%d\n", seen_by_a_child());
	} else if (!strcmp(what, "sleep")) {
		sleep(100);
	} else if (!strcmp(what, "crash")) {
		abort();
	} else if (!strcmp(what, "spin")) {
		for (volatile int i = 0;; i++)
			;
	}
	return 3;
}
"""


def linked() -> Kernel:
    """A kernel with this version's functions; the newest of those that are there."""
    found = [one for one in kernels.installed() if one.identity.get("host_sha256") == host.sha256()]
    assert found, "no kernel is linked with these host functions: make kernels"
    return found[0]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("program")
    (folder / "program.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-O1", "-static", "-o", "program", "program.c"], cwd=folder, check=True)
    return folder / "program"


def commands(program: Path, limits: Limits | None = None) -> Commands:
    return Commands(linked(), userland.gather("test", ["sh"], {"usr/bin/program": program}), limits)


def run(there: Commands, folder: Path, *words: str, limit_s: float = 30) -> Ended:
    order = Order(["/usr/bin/program", *words], "/tmp", userland.ENVIRONMENT, limit_s)
    (ended,) = there.carry_out([order], "a test", folder)
    return ended


def test_each_system_call_costs_the_same(program: Path, tmp_path: Path) -> None:
    ended = run(commands(program), tmp_path, "calls")
    assert ended.exit == 3
    # Two readings of the clock besides, of 256 ns each.
    assert 1000 * CALL_NS <= int(ended.output) <= 1000 * CALL_NS + 4 * CALL_NS


def test_who_watches_the_ticks_asks_once_a_tick(program: Path, tmp_path: Path) -> None:
    # Ten ticks of times() are 100 ms: 100 of the kernel's.
    assert 50 <= int(run(commands(program), tmp_path, "ticks").output) <= 102


def test_programs_come_before_nobody(program: Path, tmp_path: Path) -> None:
    assert run(commands(program), tmp_path, "first").output == "-1\n"


def test_random_numbers_are_there_and_the_same_each_time(program: Path, tmp_path: Path) -> None:
    there = commands(program)
    first, second = (run(there, tmp_path, "random") for _ in range(2))
    assert first == second
    assert first.output != "0\n"


def test_a_child_has_the_pages_of_its_parents_rings(program: Path, tmp_path: Path) -> None:
    # Kernels from 6.11 on gave it others, and then counted them wrongly: lab/kernel/host/mappings.c.
    assert run(commands(program), tmp_path, "fork").output == "64\n"


def test_an_end_by_a_signal_or_by_its_time_is_told(program: Path, tmp_path: Path) -> None:
    there = commands(program)
    assert run(there, tmp_path, "crash").signal == 6
    slept = run(there, tmp_path, "sleep", limit_s=2)
    assert (slept.late, slept.signal) == (True, 9)
    assert 2 <= slept.took_s < 2.1


def test_a_program_that_only_computes_is_named(program: Path, tmp_path: Path) -> None:
    with pytest.raises(LabError, match="computes without end") as caught:
        run(commands(program, Limits(stall_s=4)), tmp_path, "spin")
    assert "/usr/bin/program" in str(caught.value)


def test_a_program_that_is_not_there_is_named(program: Path, tmp_path: Path) -> None:
    order = Order(["/usr/bin/other"], "/tmp", userland.ENVIRONMENT, 1)
    with pytest.raises(LabError, match="start /usr/bin/other: No such file"):
        commands(program).carry_out([order], "a test", tmp_path)


def test_a_program_whose_packets_are_kept_starts_others(program: Path, tmp_path: Path) -> None:
    """A child that had a part in the ring of packets brought the kernel down when it executed a program."""
    words = ["/bin/sh", "-c", "/usr/bin/program random; /usr/bin/program first"]
    order = Order(words, "/tmp", userland.ENVIRONMENT, 30, packets=True)
    (ended,) = commands(program).carry_out([order], "a test", tmp_path)
    assert ended.exit == 3
    assert ended.output.endswith("\n-1\n")
    assert len(ended.packets) >= 24
