"""Many system calls by one visit to a kernel (`lab/kernel/host/calls.c`), each as if asked for alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import guests
import pytest

from rushhour.lab import kernel as kernels

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.virtual

LISTS = r"""
#include <sys/prctl.h>
#include <sys/socket.h>
#include <pthread.h>

struct call { int number, after; unsigned long arguments[6]; long least, result; };
#define VISIT 0x52555349
#define NONE -12345
#define MOST 64

static struct call list[MOST];
static int count;

/* `needed`: at least so much has it to give, or the list ends. */
static int add(int number, int after, int needed, long a, long b, long c, long d)
{
    list[count] = (struct call){number, after, {a, b, c, d, 0, 0}, needed ? needed : -(1L << 62), NONE};
    return count++;
}

/* Each call alone, as the list's rules have it. */
static long alone(void)
{
    for (int n = 0; n < count; n++) {
        long before = list[n].after < 0 ? 0 : list[list[n].after].result;
        unsigned long *a = list[n].arguments;
        if (before < 0) {
            list[n].result = before;
        } else {
            long r = syscall(list[n].number, list[n].after < 0 ? a[0] : before, a[1], a[2], a[3], a[4], a[5]);
            list[n].result = r < 0 ? -errno : r;
        }
        if (list[n].result < list[n].least)
            return n + 1;
    }
    return count;
}

static long together(void) { return prctl(VISIT, list, (long)count, 0L, 0L); }

static long long now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void tell(const char *name, long done, long long begun)
{
    char line[256];
    snprintf(line, sizeof line, "%ld of %d in %lld\n", done, count, now(CLOCK_MONOTONIC) - begun);
    say(name, line);
    for (int n = 0; n < count; n++) {
        snprintf(line, sizeof line, "%d %ld\n", list[n].number, list[n].result);
        say(name, line);
    }
}

static struct timespec times[8];
static char text[64];

/* Files, a failure in between (which takes time), sleeps, clocks. */
static void fill(const char *path)
{
    static struct timespec nap = {0, 3000000};
    count = 0;
    memset(text, 0, sizeof text);
    int file = add(SYS_openat, -1, 0, AT_FDCWD, (long)path, O_RDWR | O_CREAT | O_TRUNC, 0644);
    add(SYS_write, file, 9, 0, (long)"some text", 9, 0);
    add(SYS_clock_gettime, -1, 0, CLOCK_MONOTONIC, (long)&times[0], 0, 0);
    add(SYS_clock_nanosleep, -1, 0, CLOCK_MONOTONIC, 0, (long)&nap, 0);
    add(SYS_clock_gettime, -1, 0, CLOCK_MONOTONIC, (long)&times[1], 0, 0);
    int none = add(SYS_openat, -1, 0, AT_FDCWD, (long)"/nowhere/at/all", O_RDONLY, 0);
    add(SYS_read, none, 0, 0, (long)text, 9, 0);
    add(SYS_pread64, file, 0, 0, (long)text, 9, 5);
    add(SYS_clock_gettime, -1, 0, CLOCK_MONOTONIC, (long)&times[2], 0, 0);
    add(SYS_close, file, 0, 0, 0, 0, 0);
    add(SYS_getpid, -1, 2, 0, 0, 0, 0);
    add(SYS_clock_gettime, -1, 0, CLOCK_MONOTONIC, (long)&times[3], 0, 0);
}

static void try_out(const char *name, long (*how)(void))
{
    char path[64], line[256];
    snprintf(path, sizeof path, "/tmp/%s", name);
    fill(path);
    nap(1000000000 - now(CLOCK_MONOTONIC) % 1000000000);
    memset(times, 0, sizeof times);
    long long begun = now(CLOCK_MONOTONIC);
    long done = how();
    tell(name, done, begun);
    for (int n = 0; n < 4; n++) {
        long long at = times[n].tv_sec * 1000000000LL + times[n].tv_nsec;
        snprintf(line, sizeof line, "%lld\n", at ? at - begun : 0);
        say(name, line);
    }
    say(name, text);
}

static volatile int heard;
static void hear(int number) { heard = number; }

static void *knock(void *whom)
{
    nap(20000000);
    pthread_kill(*(pthread_t *)whom, SIGUSR1);
    return 0;
}

/* What other threads do meanwhile: each turn is one of theirs, too. */
static char turns[256];
static volatile int turn;
static void take(char who) { if (turn < 200) turns[turn++] = who; }
static void *other(void *unused)
{
    for (int n = 0; n < 20; n++) { take('o'); sched_yield(); }
    return 0;
}
"""

BODY = r"""
    mount("none", "/tmp", "tmpfs", 0, "");
    try_out("alone", alone);
    try_out("together", together);

    char line[300];
    /* An empty list says that there are lists. One that lies nowhere; one that needs a call behind it. */
    snprintf(line, sizeof line, "%ld", (long)prctl(VISIT, 0L, 0L, 0L, 0L));
    say("empty", line);
    long refused = prctl(VISIT, 0L, 3L, 0L, 0L);
    snprintf(line, sizeof line, "%ld %d", refused, errno == EFAULT);
    say("nowhere", line);
    count = 0;
    add(SYS_close, 1, 0, 0, 0, 0, 0);
    add(SYS_getpid, -1, 0, 0, 0, 0, 0);
    together();
    snprintf(line, sizeof line, "%ld %ld", list[0].result, list[1].result);
    say("later", line);

    /* A signal ends a wait: the handler runs, and the wait goes on when asked for again. */
    struct sigaction action = {.sa_handler = hear};
    sigaction(SIGUSR1, &action, 0);
    pthread_t mine = pthread_self(), knocks;
    struct timespec due;
    clock_gettime(CLOCK_MONOTONIC, &due);
    long long begun = due.tv_sec * 1000000000LL + due.tv_nsec;
    due.tv_sec += 1;
    pthread_create(&knocks, 0, knock, &mine);
    count = 0;
    add(SYS_getpid, -1, 0, 0, 0, 0, 0);
    add(SYS_clock_nanosleep, -1, 0, CLOCK_MONOTONIC, TIMER_ABSTIME, (long)&due, 0);
    add(SYS_getppid, -1, 0, 0, 0, 0, 0);
    long first = prctl(VISIT, list, (long)count, 0L, 0L);
    long long interrupted = now(CLOCK_MONOTONIC) - begun;
    long waited = list[1].result;
    long second = prctl(VISIT, list, (long)count, first, 0L);
    snprintf(line, sizeof line, "%d %ld %d %d %ld %ld %d", heard == SIGUSR1, first, waited == NONE,
             interrupted / 1000000 == 20, second, list[1].result,
             (int)((now(CLOCK_MONOTONIC) - begun) / 1000000));
    say("signal", line);
    pthread_join(knocks, 0);

    for (int way = 0; way < 2; way++) {
        pthread_t one;
        memset(turns, 0, sizeof turns);
        turn = 0;
        pthread_create(&one, 0, other, 0);
        count = 0;
        for (int n = 0; n < 10; n++)
            add(SYS_sched_yield, -1, 0, 0, 0, 0, 0);
        take('b');
        way ? together() : alone();
        take('e');
        pthread_join(one, 0);
        say(way ? "turns-together" : "turns-alone", turns);
    }

    /* Programs have no lists. */
    int child = fork();
    if (!child) {
        refused = prctl(VISIT, 0L, 0L, 0L, 0L);
        snprintf(line, sizeof line, "%ld %d", refused, errno == EINVAL);
        say("program", line);
        _exit(0);
    }
    waitpid(child, 0, 0);
"""


@pytest.mark.parametrize("name", ["debian-6.1", "debian-6.12"])
def test_calls_of_a_list_are_as_if_each_were_asked_for_alone(name: str, tmp_path: Path) -> None:
    ending, files, console = guests.run(tmp_path, BODY, kernels.find(name).image, before=LISTS)
    assert ending.reason == "done", console[-2000:]
    assert files["together"] == files["alone"]
    said = files["alone"].decode().split()
    assert said[:3] == ["11", "of", "12"], "the last one is not reached: the one before had to give more"
    assert files["alone"].endswith(b"text")
    assert (files["empty"], files["nowhere"]) == (b"0", b"-1 1")
    assert files["later"] == b"-22 1"
    assert files["signal"] == b"1 1 1 1 3 0 1000"
    # In a list, too, each call makes room for others, which the second of two threads has in turn.
    assert files["turns-together"] == files["turns-alone"]
    if name == "debian-6.12":  # the scheduler of 6.1 lets the first thread go on to its end
        assert b"bo" in files["turns-alone"]
    assert files["program"] == b"-1 1"
