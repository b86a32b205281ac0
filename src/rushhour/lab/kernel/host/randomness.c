/*
 * The kernel's random numbers follow from the seed on its command line, and from nothing else.
 *
 * The generator is the kernel's own. What is kept from it are inputs that differ where nothing should: the host's
 * random numbers; the instants of interrupts and the addresses of what they interrupt, which follow from the
 * compiler, from the build of the agent, from what is read and from all that set-up did; and the clock, which it mixes in when it
 * renews its key. A real kernel has such inputs on purpose, to be unpredictable.
 */
#include <errno.h>
#include <sys/types.h>

ssize_t __wrap_os_getrandom(void *buffer, size_t size, unsigned flags);
void __wrap_add_interrupt_randomness(int irq);
void __wrap_add_device_randomness(const void *buffer, size_t size);
unsigned long __wrap_random_get_entropy_fallback(void);

ssize_t __wrap_os_getrandom(void *buffer, size_t size, unsigned flags)
{
	(void)buffer;
	(void)size;
	(void)flags;
	return -ENOSYS;
}

void __wrap_add_interrupt_randomness(int irq)
{
	(void)irq;
}

/* Hardware addresses, at the instant when a device is switched on. */
void __wrap_add_device_randomness(const void *buffer, size_t size)
{
	(void)buffer;
	(void)size;
}

/* Not zero: the kernel warns of a machine without a clock. */
unsigned long __wrap_random_get_entropy_fallback(void)
{
	return 1;
}
