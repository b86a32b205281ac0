"""The guest's memory (`lab/kernel/host/memory.c`), without a kernel: what is shared, and what is not."""

import subprocess
from pathlib import Path

import pytest

from rushhour.lab.kernel import host

MB = 1 << 20
# Stands for the kernel: memory from a file, and the allocation of a table in it, not at a page's begin.
KERNEL = r"""
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

static char *memory;

int __real_create_mem_file(unsigned long long size) { (void)size; return -1; }
void __real_check_tmpexec(void) {}
void *__real_sbrk(intptr_t increment) { (void)increment; return 0; }
void *__real_memblock_alloc_try_nid_raw(unsigned long long size, unsigned long long align,
					unsigned long long least, unsigned long long most, int node)
{
	(void)size, (void)align, (void)least, (void)most, (void)node;
	return memory + 4096 + 64;
}

int main(int count, char **words)
{
	unsigned long long size = strtoull(words[1], 0, 10), whole = 64ULL << 20;
	int file = __wrap_create_mem_file(whole);
	char *table, there = 0;

	(void)count;
	memory = mmap(0, whole, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	memory[4096 + 100] = 'b';
	table = __wrap_memblock_alloc_try_nid_raw(size, 64, 0, 0, 0);
	for (unsigned long long at = 0; at < size; at += 64)
		table[at] = 't';
	/* In the table's first page, which has neighbours, in its middle, and behind it, as the file has them. */
	for (int i = 0; i < 3; i++) {
		pread(file, &there, 1, (off_t[]){ 4096 + 64, 4096 + 64 + size / 2 / 64 * 64, 4096 + 100 }[i]);
		putchar(there ? there : '0');
	}
	fflush(stdout);
	if (fork() == 0)
		_exit(mincore((void *)(((uintptr_t)table + size / 2) & -4096UL), 1, (unsigned char *)&there) < 0);
	wait(&count);
	printf(" %d\n", WEXITSTATUS(count));
}
"""


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The host functions of memory with a made-up kernel around them."""
    folder = tmp_path_factory.mktemp("memory")
    source = folder / "kernel.c"
    source.write_text(f"#include <stdlib.h>\n{host.source('memory.c')}{KERNEL}", encoding="utf-8")
    command = ["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-Wno-builtin-declaration-mismatch"]
    subprocess.run([*command, "-o", folder / "kernel", source], check=True)
    return folder / "kernel"


def answer(kernel: Path, size: int) -> str:
    """What lies in the file, and whether a process begins without the table's middle."""
    return subprocess.run([kernel, str(size)], capture_output=True, text=True, check=True).stdout.strip()


def test_a_large_table_is_the_kernels_alone_and_no_process_begins_with_a_copy(kernel: Path) -> None:
    assert answer(kernel, 16 * MB) == "t0b 1"


def test_small_ones_stay_in_the_file_that_processes_of_the_guest_share(kernel: Path) -> None:
    assert answer(kernel, MB) == "ttb 0"
