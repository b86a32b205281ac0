/*
 * What a system call of a program costs.
 *
 * Under `time-travel=inf-cpu` computing takes no virtual time, and neither does a system call that succeeds. A program that asks
 * again and again until something has happened, without ever sleeping or reading the clock, would ask for ever: what it waits
 * for lies in the future. So each system call of a program has a price, small and always the same. Then all others that
 * are ready have their turn: whoever runs in order (SCHED_FIFO) would otherwise never make room for what it waits for.
 *
 * times() counts ticks. Asked twice in a row, it can only answer something else after the next tick, and there the second
 * call ends: who watches a tick go by gets there in one call, not in a thousand.
 *
 * Programs do not come before others by real-time priority: that is refused (EPERM), as it is to an ordinary user. Where one
 * processor takes no time for anything, whoever comes first would wait for ever for those behind: the kernel itself spins, for
 * example, until another task has let go of an entry of /proc (shrink_dcache_parent() in fs/dcache.c).
 *
 * The first process, the laboratory's agent, pays nothing, and it says what the others pay: prctl(RUSHHOUR_PRICE, ns). Before that
 * the price is nought, and this file changes nothing.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#define STEP 256UL
#define RUSHHOUR_PRICE 0x52555348UL
/* No price makes a call last longer than a tick. */
#define MOST 1000000UL

/* x86-64: where `struct user_regs_struct` has what a system call is told, and its numbers. */
enum { RAX = 10, RSI = 13, RDI = 14, ORIG_RAX = 15 };
enum { TIMES = 100, SCHED_SETSCHEDULER = 144, PRCTL = 157, SCHED_SETATTR = 314 };
/* Scheduling policies that come before others: FIFO, RR, DEADLINE. */
#define FIRST (1UL << 1 | 1UL << 2 | 1UL << 6)

/* `struct uml_pt_regs` (arch/x86/um/shared/sysdep/ptrace.h) begins like this. */
struct registers {
	unsigned long gp[27];
};

extern volatile unsigned long jiffies;
long sys_getpid(void);
long sys_gettid(void);
long sys_sched_yield(void);
__attribute__((weak)) int get_current_pid(void);
/* On the clock's grid: clock.c. */
void __wrap_time_travel_ndelay(unsigned long ns);
void __real_handle_syscall(struct registers *registers);
/* Whether a program asks to come before others. (SCHED_SETATTR says so in memory of its own, and is seldom used for anything else.) */
static bool pushes(const unsigned long *gp)
{
	return gp[ORIG_RAX] == SCHED_SETATTR ||
	       (gp[ORIG_RAX] == SCHED_SETSCHEDULER && FIRST >> (gp[RSI] & 31) & 1);
}

void __wrap_handle_syscall(struct registers *registers);

static unsigned long price;

/* The task whose last call was times(), and which tick it saw. */
static struct {
	long task;
	unsigned long tick;
} watching;

/* Whether this is a thread of the first process; that of a process namespace within has another number outside. */
static bool is_agent(void)
{
	return sys_getpid() == 1 && (!get_current_pid || sys_gettid() == get_current_pid());
}

static long task(void)
{
	return get_current_pid ? get_current_pid() : sys_gettid();
}

/* Lets the time pass until the clock ticks, at most two ticks long. */
static void await_tick(unsigned long seen)
{
	for (unsigned long passed = 0; jiffies == seen && passed < 2 * MOST; passed += 4 * STEP)
		__wrap_time_travel_ndelay(4 * STEP);
}

static void pay(unsigned long call)
{
	bool again = call == TIMES && watching.task == task();

	__wrap_time_travel_ndelay(price);
	if (again)
		await_tick(watching.tick);
	sys_sched_yield();
	if (call == TIMES) {
		watching.task = task();
		watching.tick = jiffies;
	} else if (watching.task == task()) {
		watching.task = 0;
	}
}

void __wrap_handle_syscall(struct registers *registers)
{
	unsigned long *gp = registers->gp;

	if (!is_agent()) {
		if (price) {
			pay(gp[ORIG_RAX]);
			if (pushes(gp)) {
				gp[RAX] = -EPERM;
				return;
			}
		}
	} else if (gp[ORIG_RAX] == PRCTL && gp[RDI] == RUSHHOUR_PRICE && gp[RSI] <= MOST) {
		price = gp[RSI];
		gp[RAX] = 0;
		return;
	}
	__real_handle_syscall(registers);
}
