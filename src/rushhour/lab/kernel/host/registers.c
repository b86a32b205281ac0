/*
 * The extended registers of the guest's processes, on every processor.
 *
 * Before each return to a process, User-Mode Linux writes the process's floating-point and vector registers with
 * PTRACE_SETREGSET, and after each stop it reads them with PTRACE_GETREGSET. Kernels before 6.13 use a buffer of a fixed
 * size for it: 2696 bytes, which is the area of a processor with AVX-512. A host whose area is larger (AMX: 11 008 bytes)
 * refuses to write less than the whole (EFAULT, xstateregs_set() in arch/x86/kernel/fpu/regset.c), and the kernel panics.
 *
 * So a write that is too short is completed here: components that do not fit into the kernel's buffer are in their
 * initial state. No guest can use them, because a process has to ask its kernel for AMX and this kernel does not know it.
 *
 * Writing the whole area is dear, and mostly needless: nothing has run since it was read. What a stopped process holds is
 * remembered; an equal write is left out, and one that differs in the first 512 bytes only (x87 and SSE) writes those.
 */
#include <cpuid.h>
#include <elf.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>

/* The legacy region, and the mask of components that are not in their initial state (Intel SDM 1, section 13.4). */
#define LEGACY 512
#define XSTATE_BV 512
#define X87_AND_SSE 3ULL
/* More than any processor has. */
#define MOST 65536

/* Written once for a registers.c under test, which stands on a machine that is made up. */
#ifndef COMPONENT
#define COMPONENT component
static void component(unsigned number, size_t *offset, size_t *size)
{
	unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;

	__get_cpuid_count(0xd, number, &eax, &ebx, &ecx, &edx);
	*offset = ebx;
	*size = eax;
}
#endif

long __real_ptrace(int request, pid_t pid, void *address, void *data);

/* What the process that stopped last holds, as it was read: as much as the kernel's buffer takes, or as the host has. */
static struct {
	pid_t pid;
	size_t size;
	unsigned char bytes[MOST];
} held;

/* A whole area, zero behind what the kernel knows. */
static unsigned char area[MOST];

static void read_state(pid_t pid, const struct iovec *state)
{
	held.pid = 0;
	if (state->iov_len > MOST || state->iov_len < XSTATE_BV + 8)
		return;
	memcpy(held.bytes, state->iov_base, state->iov_len);
	held.size = state->iov_len;
	held.pid = pid;
}

/* The size of this host's area; nothing if it does not tell. */
static size_t whole_size(pid_t pid)
{
	static size_t size;
	struct iovec all = { area, sizeof(area) };

	if (!size && __real_ptrace(PTRACE_GETREGSET, pid, (void *)NT_X86_XSTATE, &all) == 0)
		size = all.iov_len;
	return size;
}

/* The components that lie within the first `size` bytes. */
static uint64_t components_within(size_t size)
{
	static size_t last;
	static uint64_t within;
	size_t offset, length;

	if (last != size) {
		within = X87_AND_SSE;
		for (unsigned number = 2; number < 63; number++) {
			COMPONENT(number, &offset, &length);
			if (length && offset + length <= size)
				within |= 1ULL << number;
		}
		last = size;
	}
	return within;
}

static long write_whole(pid_t pid, const struct iovec *state, size_t whole)
{
	struct iovec all = { area, whole };
	uint64_t components;

	memset(area, 0, whole);
	memcpy(area, state->iov_base, state->iov_len);
	memcpy(&components, area + XSTATE_BV, sizeof(components));
	components &= components_within(state->iov_len);
	memcpy(area + XSTATE_BV, &components, sizeof(components));
	return __real_ptrace(PTRACE_SETREGSET, pid, (void *)NT_X86_XSTATE, &all);
}

/* The kernel's own memcmp() goes byte by byte, and this is asked before each return to a process. */
static int same(const unsigned char *one, const unsigned char *other, size_t size)
{
	uint64_t mine[4], theirs[4];

	for (; size >= sizeof(mine); size -= sizeof(mine), one += sizeof(mine), other += sizeof(mine)) {
		memcpy(mine, one, sizeof(mine));
		memcpy(theirs, other, sizeof(theirs));
		if ((mine[0] ^ theirs[0]) | (mine[1] ^ theirs[1]) | (mine[2] ^ theirs[2]) | (mine[3] ^ theirs[3]))
			return 0;
	}
	return !memcmp(one, other, size);
}

/* Whether two areas differ in nothing but x87 and SSE registers, and whether those are in use. */
static int same_beyond_legacy(const unsigned char *one, const unsigned char *other, size_t size)
{
	uint64_t mine, theirs;

	memcpy(&mine, one + XSTATE_BV, sizeof(mine));
	memcpy(&theirs, other + XSTATE_BV, sizeof(theirs));
	return (mine & ~X87_AND_SSE) == (theirs & ~X87_AND_SSE) &&
	       same(one + XSTATE_BV + 8, other + XSTATE_BV + 8, size - XSTATE_BV - 8);
}

static long write_state(pid_t pid, const struct iovec *state)
{
	const unsigned char *bytes = state->iov_base;
	int known = held.pid == pid && held.size <= state->iov_len;
	size_t whole;

	held.pid = 0;
	if (known && same(held.bytes, bytes, held.size)) {
		held.pid = pid;
		return 0;
	}
	if (known && same_beyond_legacy(held.bytes, bytes, held.size) &&
	    __real_ptrace(PTRACE_SETFPREGS, pid, 0, (void *)bytes) == 0)
		return 0;
	whole = whole_size(pid);
	if (state->iov_len < whole && whole <= MOST && state->iov_len >= XSTATE_BV + 8)
		return write_whole(pid, state, whole);
	return __real_ptrace(PTRACE_SETREGSET, pid, (void *)NT_X86_XSTATE, (void *)state);
}

long __wrap_ptrace(int request, pid_t pid, void *address, void *data);
long __wrap_ptrace(int request, pid_t pid, void *address, void *data)
{
	int state = (uintptr_t)address == NT_X86_XSTATE;
	long result;

	switch (request) {
	case PTRACE_SETREGSET:
		if (state)
			return write_state(pid, data);
		break;
	case PTRACE_GETREGSET:
		result = __real_ptrace(request, pid, address, data);
		if (state && result == 0)
			read_state(pid, data);
		return result;
	/* These leave the extended registers as they are. */
	case PTRACE_GETREGS:
	case PTRACE_SETREGS:
	case PTRACE_GETSIGINFO:
	case PTRACE_PEEKUSER:
	case PTRACE_POKEUSER:
	case PTRACE_SETOPTIONS:
		return __real_ptrace(request, pid, address, data);
	}
	/* All others let the process run, or may. */
	held.pid = 0;
	return __real_ptrace(request, pid, address, data);
}
