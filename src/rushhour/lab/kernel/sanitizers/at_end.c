/*
 * What sanitizers can see only when a run is over: compiled into kernels with `kmemleak` or `debug-net`, beside the kernel's own.
 *
 * The first process has written its results and switches the machine off. Before that happens its files are closed and it leaves
 * its namespaces, so that all that the experiment made is given back: a device that somebody still holds then says so (after 10 s,
 * net/core/dev.c). Memory to which nothing points any more is looked for after that. All of it in virtual time, after the last
 * instant of the experiment.
 */
#include <linux/delay.h>
#include <linux/fdtable.h>
#include <linux/init.h>
#include <linux/kallsyms.h>
#include <linux/kmemleak.h>
#include <linux/moduleparam.h>
#include <linux/notifier.h>
#include <linux/nsproxy.h>
#include <linux/reboot.h>
#include <linux/sched/signal.h>
#include <linux/string.h>
#include <linux/task_work.h>
#include <linux/uaccess.h>
#include <asm/sections.h>

/* Devices are complained of after 10 s, memory is looked at from an age of 5 s on. */
#define PATIENCE_MS 15000

/* One of both is there: the newer name came with 5.11, and with a later point release of 5.10, too. */
int close_fd(unsigned int file) __weak;
int __close_fd(struct files_struct *files, unsigned int file) __weak;

static void close_one(unsigned int file)
{
	if (close_fd)
		close_fd(file);
	else
		__close_fd(current->files, file);
}

/*
 * Has the process's other threads leave the calls in which they wait, as a signal does that nobody has sent. In 5.10 the reader of
 * the trace does not hear that its file is closed, and holds its pipe meanwhile.
 */
static void wake_the_others(void)
{
	struct task_struct *other;

	spin_lock_irq(&current->sighand->siglock);
	for_each_thread(current, other)
		if (other != current)
			signal_wake_up(other, false);
	spin_unlock_irq(&current->sighand->siglock);
	msleep(1);
}

static void give_back(void)
{
	unsigned int file, files;

	rcu_read_lock();
	files = files_fdtable(current->files)->max_fds;
	rcu_read_unlock();
	for (file = 3; file < files; file++)
		close_one(file);
	wake_the_others();
	switch_task_namespaces(current, &init_nsproxy);
	/* What a closed file leads to is done on the way back to the process, which does not come any more. */
	task_work_run();
	msleep(PATIENCE_MS);
}

#ifdef CONFIG_DEBUG_KMEMLEAK
extern const struct kernel_param __start___param[], __stop___param[];

/* As `echo scan` into its file, which is nowhere mounted. What is new is reported by the second scan that finds it. */
static void look_for_leaks(void)
{
	void (*scan)(void) = (void (*)(void))kallsyms_lookup_name("kmemleak_scan");
	const struct kernel_param *one;

	for (one = __start___param; one < __stop___param; one++)
		if (!strcmp(one->name, "kmemleak.verbose"))
			one->ops->set("1", one);
	if (WARN_ON_ONCE(!scan))
		return;
	scan();
	scan();
}

/*
 * kmemleak looks through all from `__bss_start` on. Where a variable of `.bss` is aligned to more than a page (the stacks for
 * interrupts, in 7.3) that section begins later, and no segment has the pages before it: reading them is fatal.
 */
static void __init leave_out_what_is_not_there(void)
{
	unsigned long begin = (unsigned long)__bss_start, there = begin;
	char byte;

	while (there < (unsigned long)__bss_stop && copy_from_kernel_nofault(&byte, (void *)there, 1))
		there += PAGE_SIZE;
	if (there > begin)
		kmemleak_free_part((void *)begin, there - begin);
}
#else
static void __init leave_out_what_is_not_there(void)
{
}

static void look_for_leaks(void)
{
}
#endif

static int at_end(struct notifier_block *self, unsigned long event, void *command)
{
	give_back();
	look_for_leaks();
	return NOTIFY_DONE;
}

static struct notifier_block ends = { .notifier_call = at_end };

static int __init wait_for_the_end(void)
{
	leave_out_what_is_not_there();
	return register_reboot_notifier(&ends);
}
late_initcall(wait_for_the_end);
