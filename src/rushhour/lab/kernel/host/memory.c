/*
 * The guest's memory, and where it lies.
 *
 * User-Mode Linux keeps the guest's memory in a file that it makes in $TMPDIR or /dev/shm. In a container /dev/shm is often
 * small, or mounted so that nothing in it may be executed. A file without a name (memfd_create) needs no folder, is
 * as large as memory, and ends with its last user.
 *
 * The memory begins behind the end of the C library's heap, which the host puts at a random place unless address-space
 * randomisation is off; and a container may forbid to switch it off. Then the launcher forbids the heap instead
 * (RLIMIT_DATA 0: the library allocates by mmap), and the memory begins behind the image, where it always begins.
 *
 * The guest touches its memory densely, from the lower end on. So the file has large pages where the launcher gives a file
 * system for it: one is ready in a quarter of the time that 512 small ones take, and a packet needs fewer entries of
 * the processor's table of addresses.
 *
 * One table is the kernel's alone, and large: what it knows of each page, 16 MB for 1 GB, all written at boot. Pages of a file that
 * is shared cost three times as much as those of a process, and ten times as much as large ones.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/vfs.h>
#include <unistd.h>

#define PAGE 4096ULL
#define MB (1ULL << 20)
#define LARGE_PAGE (2 * MB)
/* Tables below this are not worth a mapping of their own. */
#define LARGE (4 * MB)
/* Linux 5.14; the C library's headers may be older. */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
/* <linux/magic.h> */
#define TMPFS_MAGIC 0x01021994
#define UP(address, unit) (((uintptr_t)(address) + (unit) - 1) & -(unit))

int __real_create_mem_file(unsigned long long size);
void __real_check_tmpexec(void);
void *__real_sbrk(intptr_t increment);
int __real_os_map_memory(void *virt, int fd, unsigned long long offset, unsigned long size, int r, int w, int x);
int __wrap_create_mem_file(unsigned long long size);
void __wrap_check_tmpexec(void);
void *__wrap_sbrk(intptr_t increment);
int __wrap_os_map_memory(void *virt, int fd, unsigned long long offset, unsigned long size, int r, int w, int x);
unsigned long __wrap_get_top_address(char **environment);

__attribute__((weak)) void *__real_memblock_alloc_try_nid_raw(unsigned long long size, unsigned long long align,
							      unsigned long long least, unsigned long long most,
							      int node);
void *__wrap_memblock_alloc_try_nid_raw(unsigned long long size, unsigned long long align, unsigned long long least,
					unsigned long long most, int node);

extern char _end[];

/* Whether the memory's file has large pages. */
static bool large_pages;

/*
 * A file without a name in the file system that the launcher made for memory (`jail()` in agent/src/launch/guest.rs): what
 * is written lies elsewhere. -1 where there is none, or not room for all.
 */
static int file_of_large_pages(unsigned long long size)
{
	struct stat memory, written;
	struct statfs room;

	if (stat("mem", &memory) < 0 || stat("out", &written) < 0 || memory.st_dev == written.st_dev)
		return -1;
	if (statfs("mem", &room) < 0 || room.f_type != TMPFS_MAGIC || room.f_bfree < size / room.f_bsize)
		return -1;
	return open("mem", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

static int memory_file(unsigned long long size)
{
	int file = file_of_large_pages(size);

	large_pages = file >= 0;
	if (file < 0)
		file = memfd_create("memory", MFD_CLOEXEC);
	if (file >= 0 && ftruncate(file, size) < 0) {
		close(file);
		return -1;
	}
	return file;
}

int __wrap_create_mem_file(unsigned long long size)
{
	int file = memory_file(size);

	return file < 0 ? __real_create_mem_file(size) : file;
}

/* Would try whether files in the folder of temporary files can be executed. */
void __wrap_check_tmpexec(void)
{
	int file = memory_file(PAGE);

	if (file < 0)
		__real_check_tmpexec();
	else
		close(file);
}

/*
 * Asked twice, with nothing to add: by linux_main(), which keeps the addresses up to the next 4 MB and 4 MB more for the image and
 * the heap, and by mem_init(), which gives back what the heap left over. A constant part of it is given back here, because
 * the rest differs with the C library, and the kernel scales its limits by its memory.
 */
void *__wrap_sbrk(intptr_t increment)
{
	static bool reserved;
	uintptr_t image = UP(_end, PAGE), end = UP(image, 4 * MB) + 3 * MB;
	uintptr_t real = (uintptr_t)__real_sbrk(increment);
	struct rlimit data;

	if (increment)
		return (void *)real;
	if (getrlimit(RLIMIT_DATA, &data) < 0 || data.rlim_cur != 0)
		if (real < image || real > end)
			return (void *)real;
	if (reserved)
		return (void *)end;
	reserved = true;
	return (void *)image;
}

/*
 * The memory begins within a large page of the file, which is therefore made present by small ones: at once those up to the next
 * large one, for the kernel touches all of them. mem_init() maps them apart.
 */
int __wrap_os_map_memory(void *virt, int fd, unsigned long long offset, unsigned long size, int r, int w, int x)
{
	int error = __real_os_map_memory(virt, fd, offset, size, r, w, x);

	if (!error && virt == __wrap_sbrk(0))
		madvise(virt, UP(virt, LARGE_PAGE) - (uintptr_t)virt, MADV_POPULATE_WRITE);
	return error;
}

/*
 * Where the address space of the guest's processes ends. Kernels from 6.16 on take the end of their own stack, which
 * is at a random place and differs between processors with four and five levels of page tables; older ones this constant.
 */
unsigned long __wrap_get_top_address(char **environment)
{
	(void)environment;
	return 0x7fc0002000UL;
}

/*
 * Whole pages from here on are this process's alone from now on. Where the host refuses, they stay pages of the file. If the file has
 * large pages, only whole large ones: of one that lies partly elsewhere the rest would be made present by small ones, each when it
 * is touched.
 */
static void keep_apart(void *begin, unsigned long long size)
{
	uintptr_t unit = large_pages ? LARGE_PAGE : PAGE;
	uintptr_t first = UP(begin, unit), bytes = ((uintptr_t)begin + size - first) & -unit;
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
	void *pages = mmap((void *)first, bytes, PROT_READ | PROT_WRITE | PROT_EXEC, flags, -1, 0);

	if (pages == MAP_FAILED)
		return;
	/* Else each new process of the guest would begin with a copy, and this one pay for every page that it writes to next. */
	madvise(pages, bytes, MADV_DONTFORK);
	madvise(pages, bytes, MADV_HUGEPAGE);
	madvise(pages, bytes, MADV_POPULATE_WRITE);
}

/* Where the table of pages comes from. What is this large is never given back, so no page of it gets into a process of the guest. */
void *__wrap_memblock_alloc_try_nid_raw(unsigned long long size, unsigned long long align, unsigned long long least,
					unsigned long long most, int node)
{
	void *memory = __real_memblock_alloc_try_nid_raw(size, align, least, most, node);

	if (memory && size >= LARGE)
		keep_apart(memory, size);
	return memory;
}
