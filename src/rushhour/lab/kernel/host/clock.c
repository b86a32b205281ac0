/*
 * The virtual clock, on its own grid.
 *
 * The clock that the guest reads counts steps of 256 ns (TIMER_MULTIPLIER in arch/um/kernel/time.c), but the time behind it
 * counts single ones: a timer fires one nanosecond after the instant that it was set for, a failing system call takes
 * 1000. So the time wandered within a step, and whether the next timer was seen in this step or in the next one
 * depended on everything that had ever happened, set-up included. Moreover a timer for an instant between two steps fired
 * before the clock showed that instant, was not due, and fired again half a microsecond later.
 *
 * Here the time is on the grid whenever anything can see it: a timer fires at the first step of the clock at or after its
 * instant, and delays are whole steps.
 */
#include <stdbool.h>

#define STEP 256ULL
/* Beyond all other events. */
#define FAR (1ULL << 61)

/* `struct time_travel_event` (arch/um/include/linux/time-internal.h) begins like this; room for what may follow. */
struct event {
	unsigned long long time;
	void (*fn)(struct event *event);
	unsigned char rest[128];
};

/* Kernels before 5.11 do not have these two: there the time stays as it is. */
__attribute__((weak)) void time_travel_add_event_rel(struct event *event, unsigned long long delay);
__attribute__((weak)) bool time_travel_del_event(struct event *event);
void __real_time_travel_ndelay(unsigned long ns);
void __real_deliver_alarm(void);
void __wrap_time_travel_ndelay(unsigned long ns);
void __wrap_deliver_alarm(void);
void __wrap_os_alarm_process(int pid);
long long __wrap_os_persistent_clock_emulation(void);
void __wrap_get_host_cpu_features(void *flags, void *line);

static void nothing(struct event *event)
{
	(void)event;
}

/* The virtual time in ns, which the kernel keeps to itself; but it says when an event from now on will be. */
static unsigned long long now(void)
{
	static struct event event;

	event.fn = nothing;
	time_travel_add_event_rel(&event, FAR);
	time_travel_del_event(&event);
	return event.time - FAR;
}

void __wrap_time_travel_ndelay(unsigned long ns)
{
	__real_time_travel_ndelay((ns + STEP - 1) & ~(STEP - 1));
}

/*
 * A debugger sets the instant (ns of virtual time) from which on it wants to look at the kernel, and stops in this function: before
 * anything happens at that instant. So it need not stop at each timer to ask for the time.
 */
volatile unsigned long long rushhour_stop_at = ~0ULL;

__attribute__((noinline, used)) void rushhour_stop(unsigned long long at);

void rushhour_stop(unsigned long long at)
{
	__asm__ volatile("" : : "r"(at) : "memory");
}

/* A timer of the guest is due. */
void __wrap_deliver_alarm(void)
{
	unsigned long long at = 0, over;

	if (time_travel_add_event_rel && time_travel_del_event)
		at = now();
	over = at & (STEP - 1);
	if (over) {
		__real_time_travel_ndelay(STEP - over);
		at += STEP - over;
	}
	if (at >= rushhour_stop_at)
		rushhour_stop(at);
	__real_deliver_alarm();
}

/*
 * Would signal the process that runs in the guest, so that it stops and the kernel can look at the time. In virtual time
 * the kernel is there already; the signal would only cost a round trip. (Kernels from 6.16 on leave it out.)
 */
void __wrap_os_alarm_process(int pid)
{
	(void)pid;
}

/*
 * The date at boot, where a kernel takes it from the host: some before 6.8 ignore time-travel-start=. The same as the laboratory
 * gives to the others.
 */
long long __wrap_os_persistent_clock_emulation(void)
{
	return 1700000000000000000LL;
}

/* Would read /proc/cpuinfo; a guest is the same on every processor. */
void __wrap_get_host_cpu_features(void *flags, void *line)
{
	(void)flags;
	(void)line;
}
