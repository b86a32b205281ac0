"""The guest's memory (`lab/kernel/host/memory.c`), without a kernel: what is shared, and what is not."""

import os
import shutil
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
void *__real_sbrk(intptr_t increment) { (void)increment; return (void *)UP(_end, PAGE); }
int __real_os_map_memory(void *virt, int fd, unsigned long long offset, unsigned long size,
				int r, int w, int x)
{
	(void)r, (void)w, (void)x;
	return mmap(virt, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, offset) == MAP_FAILED;
}

/* How many of the first `size` bytes' pages are present in this process. */
static int present(const char *from, unsigned long long size)
{
	int pages = open("/proc/self/pagemap", O_RDONLY), count = 0;
	uint64_t entry;

	for (unsigned long long at = 0; at < size; at += PAGE)
		count += pread(pages, &entry, 8, ((uintptr_t)from + at) / PAGE * 8) == 8 && entry >> 63;
	close(pages);
	return count;
}

/* 3 MB of memory from where it begins, 1 MB elsewhere: which pages are present before they are touched. */
static void map_the_first(int file)
{
	char *begin;

	__wrap_sbrk(0);
	begin = __wrap_sbrk(0);
	__wrap_os_map_memory(begin, file, 0, 3 * MB, 1, 1, 0);
	__wrap_os_map_memory(begin + 64 * MB, file, 4 * MB, MB, 1, 1, 0);
	printf("%d %d %d\n", (int)(UP(begin, 2 * MB) - (uintptr_t)begin) / 4096, present(begin, 3 * MB),
		present(begin + 64 * MB, MB));
}

/* Where the table's part that is apart begins and ends, in bytes behind a large page. */
static void tell_apart(const char *table)
{
	unsigned long long first, end;
	char line[256];
	FILE *maps = fopen("/proc/self/maps", "r");

	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%llx-%llx rwxp", &first, &end) == 2 && strstr(line, " rwxp ") &&
			first >= (uintptr_t)table && first < (uintptr_t)table + 16 * MB)
			printf("%llu %llu\n", first % (2 * MB), end % (2 * MB));
	fclose(maps);
}

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

	if (count > 2 && !strcmp(words[2], "first")) {
		map_the_first(file);
		return 0;
	}
	if (count > 2 && !strcmp(words[2], "where")) {
		struct stat found, folder;

		fstat(file, &found);
		stat("mem", &folder);
		printf("%s %lld\n", found.st_dev == folder.st_dev ? "mem" : "memfd", (long long)found.st_size);
		return 0;
	}
	memory = mmap((void *)0x10000000000, whole, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	memory[4096 + 100] = 'b';
	table = __wrap_memblock_alloc_try_nid_raw(size, 64, 0, 0, 0);
	for (unsigned long long at = 0; at < size; at += 64)
		table[at] = 't';
	if (count > 2) {
		tell_apart(table);
		return 0;
	}
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


def test_the_pages_up_to_the_first_large_one_are_present_at_once(kernel: Path) -> None:
    """Memory begins 1 MB before a large page, wherever the image ends. What is mapped elsewhere waits."""
    told = subprocess.run([kernel, "0", "first"], capture_output=True, text=True, check=True).stdout
    assert told == "256 256 0\n"


def test_what_is_apart_begins_and_ends_with_a_page(kernel: Path) -> None:
    told = subprocess.run([kernel, str(16 * MB), "apart"], capture_output=True, text=True, check=True).stdout
    assert told == "8192 4096\n"


def test_what_is_apart_of_a_file_with_large_pages_begins_and_ends_with_one(
    kernel: Path, tmp_path: Path
) -> None:
    assert place(kernel, tmp_path, "mount -t tmpfs -o size=64m none mem", words=f"{16 * MB} apart") == "0 0"


def place(kernel: Path, folder: Path, *mounts: str, words: str = "0 where") -> str:
    """What the kernel says in a sandbox with these mounts: where its memory lies, and its size."""
    for name in ("mem", "out"):
        (folder / name).mkdir()
    script = " && ".join(["cd " + str(folder), *mounts, f"exec {kernel} {words}"])
    apart = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"])]
    if shutil.which("unshare") is None or subprocess.run([*apart, "true"], check=False).returncode != 0:
        pytest.skip("this machine gives no mounts of its own")
    done = subprocess.run([*apart, "sh", "-c", script], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_memory_lies_in_the_launchers_file_system(kernel: Path, tmp_path: Path) -> None:
    assert place(kernel, tmp_path, "mount -t tmpfs -o size=64m none mem") == f"mem {64 * MB}"


@pytest.mark.parametrize(
    "mounts",
    [
        [],
        ["mount -t tmpfs -o size=63m none mem"],
        ["mount -t tmpfs none .", 'cd "$PWD"', "mkdir mem out"],
    ],
    ids=["there is none", "it has no room for all", "results lie there too"],
)
def test_memory_is_in_no_folder_otherwise(kernel: Path, tmp_path: Path, mounts: list[str]) -> None:
    assert place(kernel, tmp_path, *mounts) == f"memfd {64 * MB}"
