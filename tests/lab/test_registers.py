"""Extended registers of the guest's processes, for areas of every size (`lab/kernel/host/registers.c`)."""

import subprocess
from importlib import resources
from pathlib import Path

import guests
import pytest

from rushhour.lab import kernel as kernels

# The kernel's buffer before 6.13, and what hosts have: SSE only, AVX, AVX-512 without and with protection
# keys, AMX.
BUFFER = 2696
HOSTS = {"SSE": 576, "AVX": 832, "AVX-512": 2688, "protection keys": 2696, "AMX": 11008}


@pytest.fixture(scope="module")
def made_up_host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program: Path = tmp_path_factory.mktemp("host") / "made_up_host"
    ours = resources.files("rushhour.lab.kernel.host")
    source = Path(__file__).with_name("made_up_host.c")
    words = ["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-O1", "-g", "-fsanitize=undefined", f"-I{ours}"]
    subprocess.run([*words, "-o", program, source], check=True)
    return program


@pytest.mark.parametrize("buffer", [BUFFER, 11008])
@pytest.mark.parametrize("host", HOSTS)
def test_a_process_gets_what_its_kernel_gives_it(made_up_host: Path, host: str, buffer: int) -> None:
    """Each return to a process is checked inside; the kernel's words would be `ptrace set fp regs failed`."""
    for seed in range(5):
        answer = subprocess.run(
            [made_up_host, str(buffer), str(HOSTS[host]), str(seed)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert answer.returncode == 0, answer.stderr
        writes, whole, legacy = map(int, answer.stdout.split())
        # A third of the turns changes nothing; of the rest most stay in one thread of one process.
        assert whole + legacy < 0.8 * writes
        assert legacy > 0


# Threads and processes that hold values in 256-bit registers across every kind of visit to the kernel.
WIDE = r"""
#include <pthread.h>
#include <immintrin.h>
#include <sys/wait.h>

static int wrong, rounds;

__attribute__((target("avx"))) static void *hold(void *mark)
{
    long n = (long)mark;
    __m256d kept = _mm256_set_pd(n, n + 0.25, n + 0.5, n + 0.75), now;
    for (int i = 0; i < 300; i++) {
        __asm__ volatile("vmovapd %0, %%ymm9" : : "m"(kept) : "xmm9");
        if (i % 3 == 0)
            syscall(SYS_sched_yield);
        else if (i % 3 == 1)
            syscall(SYS_getppid);
        else
            nap(1000);
        __asm__ volatile("vmovapd %%ymm9, %0" : "=m"(now));
        if (memcmp(&now, &kept, sizeof now))
            __atomic_add_fetch(&wrong, 1, __ATOMIC_SEQ_CST);
        __atomic_add_fetch(&rounds, 1, __ATOMIC_SEQ_CST);
    }
    return 0;
}
"""
HOLDING = r"""
    pthread_t threads[4];
    char line[64];
    int child = fork();
    for (long n = 0; n < 4; n++)
        pthread_create(&threads[n], 0, hold, (void *)(n + 10 * (child == 0)));
    for (int n = 0; n < 4; n++)
        pthread_join(threads[n], 0);
    snprintf(line, sizeof line, "%d wrong of %d\n", wrong, rounds);
    say(child ? "parent" : "child", line);
    if (!child)
        _exit(0);
    waitpid(child, 0, 0);
"""


@pytest.mark.virtual
@pytest.mark.parametrize("name", ["debian-6.1", "debian-6.12"])
def test_wide_registers_survive_a_switch_of_threads(name: str, tmp_path: Path) -> None:
    ending, files, console = guests.run(tmp_path, HOLDING, kernels.find(name).image, before=WIDE)
    assert ending.reason == "done", console[-2000:]
    assert files["parent"] == files["child"] == b"0 wrong of 1200\n"
