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
#define NEVER (~0ULL)

/* `struct time_travel_event` (arch/um/include/linux/time-internal.h) begins like this; room for what may follow. */
struct event {
	unsigned long long time;
	void (*fn)(struct event *event);
	unsigned char rest[128];
};

/* `struct clock_event_device` (include/linux/clockchips.h) begins like this. */
struct device {
	void (*handler)(struct device *device);
	int (*set_next_event)(unsigned long delay, struct device *device);
};

/* Kernels before 5.11 do not have these two: there the time stays as it is. */
__attribute__((weak)) void time_travel_add_event_rel(struct event *event, unsigned long long delay);
__attribute__((weak)) bool time_travel_del_event(struct event *event);
void __real_time_travel_ndelay(unsigned long ns);
void __real_deliver_alarm(void);
void __real_clockevents_register_device(struct device *device);
void __wrap_time_travel_ndelay(unsigned long ns);
void __wrap_deliver_alarm(void);
void __wrap_clockevents_register_device(struct device *device);
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
volatile unsigned long long rushhour_stop_at = NEVER;

__attribute__((noinline, used)) void rushhour_stop(unsigned long long at);

void rushhour_stop(unsigned long long at)
{
	__asm__ volatile("" : : "r"(at) : "memory");
}

static void stop_if_asked(unsigned long long at)
{
	if (at >= rushhour_stop_at)
		rushhour_stop(at);
}

static int (*set_next_event)(unsigned long delay, struct device *device);
/* The timer that is set is for a step of the clock: nothing is to be done when it is due. */
static bool on_grid;

/*
 * The time is on the grid whenever a timer is set, and the kernel adds one nanosecond: so a timer that is set with the last
 * nanosecond of a step is due at the first of the next one.
 */
static int set_on_grid(unsigned long delay, struct device *device)
{
	on_grid = true;
	return set_next_event(delay | (STEP - 1), device);
}

void __wrap_clockevents_register_device(struct device *device)
{
	if (time_travel_add_event_rel && time_travel_del_event) {
		set_next_event = device->set_next_event;
		device->set_next_event = set_on_grid;
	}
	__real_clockevents_register_device(device);
}

/* The end of the step in which a timer is due that was not set on the grid: periodic ones, at boot. */
static void go_on_grid(void)
{
	unsigned long long over = now() & (STEP - 1);

	if (over)
		__real_time_travel_ndelay(STEP - over);
}

/* A timer of the guest is due. */
void __wrap_deliver_alarm(void)
{
	if (time_travel_add_event_rel && time_travel_del_event) {
		if (!on_grid)
			go_on_grid();
		on_grid = false;
		if (rushhour_stop_at != NEVER)
			stop_if_asked(now());
	}
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
