/*
 * A host that is made up, for registers.c: processes with an extended state of WHOLE bytes, of which the kernel knows KNOWN.
 *
 * It plays a kernel that switches between the threads of two processes, as User-Mode Linux does, and checks before each
 * return to a process that the process holds what the kernel gave it. Standard output says how often the host was asked what.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static void made_up_component(unsigned number, unsigned long *offset, unsigned long *size);
#define COMPONENT made_up_component
#include "registers.c"

#define PROCESSES 2
#define THREADS 3

/* Components that lie behind the kernel's buffer; a guest can claim that they are in use, as it returns from a signal. */
#define FORGED (3ULL << 17)

static unsigned char state[PROCESSES][MOST];
static unsigned long whole, known, asked_whole, asked_legacy, writes;

/* AVX, AVX-512 (three), PKRU, then AMX as processors have it; the last one ends where the area ends. */
static const struct { unsigned number; unsigned long offset, size; } parts[] = {
	{ 2, 576, 256 }, { 5, 1088, 64 }, { 6, 1152, 512 }, { 7, 1664, 1024 }, { 9, 2688, 8 }, { 17, 2752, 64 }, { 18, 2816, 8192 },
};
#define PARTS (sizeof(parts) / sizeof(*parts))

static void made_up_component(unsigned number, unsigned long *offset, unsigned long *size)
{
	*offset = *size = 0;
	for (unsigned part = 0; part < PARTS; part++)
		if (parts[part].number == number && parts[part].offset + parts[part].size <= whole) {
			*offset = parts[part].offset;
			*size = parts[part].size;
		}
}

static uint64_t *components(unsigned char *bytes)
{
	return (uint64_t *)(bytes + XSTATE_BV);
}

/* The host: what does not fit is refused as by xstateregs_set(). */
long __real_ptrace(int request, pid_t pid, void *address, void *data)
{
	unsigned char *bytes = state[pid - 1];
	struct iovec *area = data;

	(void)address;
	switch (request) {
	case PTRACE_GETREGSET:
		if (area->iov_len > whole)
			area->iov_len = whole;
		memcpy(area->iov_base, bytes, area->iov_len);
		return 0;
	case PTRACE_SETREGSET:
		asked_whole++;
		if (area->iov_len < whole) {
			errno = EFAULT;
			return -1;
		}
		memcpy(bytes, area->iov_base, whole);
		return 0;
	case PTRACE_SETFPREGS:
		asked_legacy++;
		memcpy(bytes, data, LEGACY);
		*components(bytes) |= X87_AND_SSE;
		return 0;
	}
	return 0;
}

/* A process computes: with its x87 and SSE registers, and now and then with a wider one. */
static void compute(unsigned char *bytes)
{
	bytes[rand() % LEGACY] = rand();
	*components(bytes) |= X87_AND_SSE;
	if (rand() % 4)
		return;
	unsigned part = rand() % PARTS;
	if (parts[part].offset + parts[part].size > whole || parts[part].number > 16)
		return;
	int used = rand() % 2;
	*components(bytes) &= ~(1ULL << parts[part].number);
	*components(bytes) |= (uint64_t)used << parts[part].number;
	for (unsigned long at = 0; at < parts[part].size; at++)
		bytes[parts[part].offset + at] = used ? rand() : 0;
}

static void check(const unsigned char *held_by_process, const unsigned char *given)
{
	unsigned long common = known < whole ? known : whole;
	uint64_t beyond = ~(X87_AND_SSE | FORGED);

	assert(!memcmp(held_by_process, given, LEGACY));
	assert(!memcmp(held_by_process + XSTATE_BV + 8, given + XSTATE_BV + 8, common - XSTATE_BV - 8));
	assert((*components((unsigned char *)held_by_process) & beyond) == (*components((unsigned char *)given) & beyond));
	for (unsigned long at = known; at < whole; at++)
		assert(!held_by_process[at]);
	if (known < whole)
		assert(!(*components((unsigned char *)held_by_process) & FORGED));
}

int main(int count, char **words)
{
	static unsigned char threads[PROCESSES][THREADS][MOST];

	assert(count == 4);
	known = atol(words[1]);
	whole = atol(words[2]);
	srand(atol(words[3]));
	for (int turn = 0; turn < 20000; turn++) {
		int process = rand() % PROCESSES, thread = rand() % 3 ? 0 : rand() % THREADS;
		unsigned char *mine = threads[process][thread];
		struct iovec area = { mine, known };

		if (known < whole && rand() % 50 == 0)
			*components(mine) |= FORGED;
		writes++;
		assert(__wrap_ptrace(PTRACE_SETREGS, process + 1, 0, 0) == 0);
		assert(__wrap_ptrace(PTRACE_SETREGSET, process + 1, (void *)NT_X86_XSTATE, &area) == 0);
		check(state[process], mine);
		if (rand() % 3) {
			__wrap_ptrace(rand() % 2 ? 31 : PTRACE_CONT, process + 1, 0, 0);
			compute(state[process]);
			/* The kernel's own code has run in the process, and it does not ask for its registers. */
			if (rand() % 4 == 0)
				continue;
		}
		area = (struct iovec){ mine, known };
		assert(__wrap_ptrace(PTRACE_GETREGSET, process + 1, (void *)NT_X86_XSTATE, &area) == 0);
	}
	printf("%lu %lu %lu\n", writes, asked_whole, asked_legacy);
	return 0;
}
