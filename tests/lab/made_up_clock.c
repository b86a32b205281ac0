/*
 * A kernel that is made up, for clock.c: the list of events of arch/um/kernel/time.c, and a device for timers that is periodic
 * first and then set for one instant after the other.
 *
 * It sets timers at random, reads the clock and waits meanwhile, and checks that each fires at the first step of the clock at
 * or after its instant, and that nothing sees a time between two steps. Standard output says how often, for a thousand
 * timers, time was moved and the kernel was asked for it.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock.c"

#define PERIOD 1000000ULL

static unsigned long long the_time, due, fired_at, moves, asked;
static struct event *events[8];
static int count, fired;
static bool periodic = true;
static struct event timer;
static struct device device;

static unsigned long long up(unsigned long long time)
{
	return (time + STEP - 1) & ~(STEP - 1);
}

/* As the kernel's list: behind those of the same time, but the end of a wait before the end of the one around it. */
static bool is_behind(const struct event *other, const struct event *event)
{
	bool both_wait = other->fn == nothing && event->fn == nothing;

	return other->time > event->time || (other->time == event->time && both_wait);
}

static void add(struct event *event, unsigned long long time)
{
	int place = count++;

	event->time = time;
	for (; place && is_behind(events[place - 1], event); place--)
		events[place] = events[place - 1];
	events[place] = event;
}

void time_travel_add_event_rel(struct event *event, unsigned long long delay)
{
	asked++;
	add(event, the_time + delay);
}

bool time_travel_del_event(struct event *event)
{
	for (int place = 0; place < count; place++)
		if (events[place] == event) {
			for (count--; place < count; place++)
				events[place] = events[place + 1];
			return true;
		}
	return false;
}

/* Moves time to an event, the timer's on the way. */
static void move(unsigned long long to)
{
	struct event end = { .fn = nothing };

	moves++;
	add(&end, to);
	for (struct event *first; (first = events[0]) != &end;) {
		the_time = first->time;
		time_travel_del_event(first);
		first->fn(first);
	}
	the_time = to;
	time_travel_del_event(&end);
}

void __real_time_travel_ndelay(unsigned long ns)
{
	move(the_time + ns);
}

void __real_deliver_alarm(void)
{
	fired++;
	fired_at = the_time;
	assert(the_time % STEP == 0);
}

static void on_timer(struct event *event)
{
	due = event->time;
	if (periodic)
		add(&timer, the_time + PERIOD);
	__wrap_deliver_alarm();
}

/* As itimer_next_event(). */
static int set(unsigned long delay, struct device *which)
{
	(void)which;
	periodic = false;
	time_travel_del_event(&timer);
	add(&timer, the_time + delay + 1);
	return 0;
}

void __real_clockevents_register_device(struct device *which)
{
	assert(which->set_next_event != set);
	timer.fn = on_timer;
	add(&timer, the_time + PERIOD);
}

/* What a guest does: it reads the clock, which takes a step, or waits as after a failed call. */
static void pass(void)
{
	if (rand() % 2)
		__real_time_travel_ndelay(STEP);
	else
		__wrap_time_travel_ndelay(rand() % 2000);
	assert(the_time % STEP == 0);
}

static void one_timer(void)
{
	unsigned long delay = 500 + (rand() % 4 ? rand() % 3000UL : rand() % 40 * STEP + rand() % 3);
	unsigned long long at = up(the_time + delay + 1);

	fired = 0;
	assert(device.set_next_event(delay, &device) == 0);
	while (!fired && rand() % 3)
		pass();
	if (fired) {
		assert(fired == 1 && fired_at == at);
		return;
	}
	move(at);
	assert(fired == 1 && fired_at == at && the_time == at);
}

int main(int words, char **word)
{
	assert(words == 2);
	srand(atol(word[1]));
	device.set_next_event = set;
	__wrap_clockevents_register_device(&device);
	for (int turn = 0; turn < 20; turn++) {
		fired = 0;
		move(up(the_time + PERIOD));
		assert(fired == 1 && fired_at == up(due));
	}
	moves = asked = 0;
	for (int turn = 0; turn < 1000; turn++) {
		device.set_next_event(500 + rand() % 100000, &device);
		move(up(events[0]->time));
	}
	printf("%llu %llu\n", moves, asked);
	for (int turn = 0; turn < 50000; turn++)
		one_timer();
	return 0;
}
