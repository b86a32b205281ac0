/*
 * System calls: what one of a program costs, and many of the agent in one visit.
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
 * the price is nought.
 *
 * Each visit to the kernel costs the host two switches between processes and a dozen system calls, far more than most calls do
 * in it. So the agent may hand over a list: prctl(RUSHHOUR_VISIT, list, count, from). Its calls from that one on are carried out
 * one after the other, each as if asked for alone: at the same virtual time, with the same turns of others after it. A call may need
 * the result of an earlier one (a file that was opened) as its first argument; if that one failed, so does this, and is not
 * carried out. One whose result is less than those behind it need ends the list. The answer is how many calls have a result
 * now. It is less than all also where a signal came; a call that waited then has none, and is begun again when the
 * agent asks for the rest. Calls that change what registers mean (clone, execve, rt_sigreturn) have no place in a list.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define STEP 256UL
#define RUSHHOUR_PRICE 0x52555348UL
#define RUSHHOUR_VISIT 0x52555349UL
/* No price makes a call last longer than a tick. */
#define MOST 1000000UL

/* x86-64: where `struct user_regs_struct` has what a system call is told, and its numbers. */
enum { R10 = 7, R9 = 8, R8 = 9, RAX = 10, RDX = 12, RSI = 13, RDI = 14, ORIG_RAX = 15, RSP = 19 };
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
unsigned long raw_copy_from_user(void *to, const void *from, unsigned long size);
unsigned long raw_copy_to_user(void *to, const void *from, unsigned long size);
void interrupt_end(void);

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

/* One of a list, as `agent/src/kernel/sys/visit.rs` has it. */
struct call {
	int number;
	/* The earlier call of the list whose result is the first argument; less than 0: none. */
	int after;
	unsigned long arguments[6];
	/* The list ends here if the result is less. */
	long least;
	long result;
};

/* The kernel would begin such a call again, or say that it was interrupted (include/linux/errno.h). */
static bool would_begin_again(long result)
{
	return result <= -512 && result >= -516;
}

static long carry_out(struct registers *registers, const struct call *call)
{
	static const unsigned char places[] = { RDI, RSI, RDX, R10, R8, R9 };
	struct registers kept = *registers;
	long result;

	registers->gp[ORIG_RAX] = call->number;
	for (size_t place = 0; place < sizeof(places); place++)
		registers->gp[places[place]] = call->arguments[place];
	__real_handle_syscall(registers);
	result = registers->gp[RAX];
	memcpy(registers->gp, kept.gp, sizeof(kept.gp));
	return result;
}

/* Puts the result of the call before it into one that needs it; false: there is none, so this call has failed, too. */
static bool complete(struct call *call, unsigned long number, const struct call *list)
{
	long result = -EINVAL;

	if (call->after < 0)
		return true;
	if ((unsigned long)call->after < number &&
	    raw_copy_from_user(&result, &list[call->after].result, sizeof(result)))
		result = -EFAULT;
	call->arguments[0] = call->result = result;
	return result >= 0;
}

/*
 * What follows each system call on its way back: others run that are ready, files are closed. Gives whether a handler of a
 * signal comes next, for which the stack has been laid out.
 */
static bool interrupted(struct registers *registers)
{
	unsigned long stack = registers->gp[RSP];

	interrupt_end();
	return registers->gp[RSP] != stack;
}

static void visit(struct registers *registers, struct call *list, unsigned long count, unsigned long from)
{
	struct call call;

	registers->gp[RAX] = from;
	for (unsigned long number = from; number < count; number++) {
		if (raw_copy_from_user(&call, &list[number], sizeof(call))) {
			registers->gp[RAX] = -EFAULT;
			return;
		}
		if (complete(&call, number, list))
			call.result = carry_out(registers, &call);
		if (would_begin_again(call.result))
			return;
		if (raw_copy_to_user(&list[number].result, &call.result, sizeof(call.result))) {
			registers->gp[RAX] = -EFAULT;
			return;
		}
		registers->gp[RAX] = number + 1;
		if (call.result < call.least || number + 1 == count || interrupted(registers))
			return;
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
	} else if (gp[ORIG_RAX] == PRCTL && gp[RDI] == RUSHHOUR_VISIT) {
		visit(registers, (struct call *)gp[RSI], gp[RDX], gp[R10]);
		return;
	}
	__real_handle_syscall(registers);
}
