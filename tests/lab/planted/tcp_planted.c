// SPDX-License-Identifier: GPL-2.0
/*
 * Planted faults: one in each congestion control, in every connection once, as an acknowledgement comes. Otherwise each is Reno.
 *
 * What has to find it: kasan p_freed and p_beyond; ubsan p_shift and p_index; lockdep p_order, p_sleeps and p_rcu; kmemleak p_leak;
 * debug-net p_device; every kernel p_refs and p_warns.
 */
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <net/tcp.h>

#define WORDS 8
#define SEGMENTS 100 /* so many a connection sends first */

static volatile unsigned int eight = WORDS, far = 40; /* the compiler is not to know them */
static volatile int got;
static int words[WORDS];
static int __rcu *kept;
static DEFINE_SPINLOCK(first);
static DEFINE_SPINLOCK(second);

static void freed(struct sock *sk)
{
	int *memory = kmalloc(sizeof(words), GFP_ATOMIC);

	kfree(memory);
	got = READ_ONCE(memory[1]);
}

static void beyond(struct sock *sk)
{
	int *memory = kmalloc(sizeof(words), GFP_ATOMIC);

	got = READ_ONCE(memory[eight]);
	kfree(memory);
}

static void shift(struct sock *sk)
{
	got = 1 << far;
}

static void out_of_bounds(struct sock *sk)
{
	got = words[eight];
}

static void in_order(spinlock_t *one, spinlock_t *other)
{
	spin_lock(one);
	spin_lock(other);
	spin_unlock(other);
	spin_unlock(one);
}

static void order(struct sock *sk)
{
	in_order(&first, &second);
	in_order(&second, &first);
}

static void sleeps(struct sock *sk)
{
	spin_lock(&first);
	might_sleep();
	spin_unlock(&first);
}

static void rcu(struct sock *sk)
{
	got = rcu_dereference_protected(kept, lockdep_is_held(&first)) != NULL;
}

static void leak(struct sock *sk)
{
	int at, *memory;

	/* The last one's address may stay on a stack, where kmemleak takes it for a pointer. */
	for (at = 0; at < WORDS; at++) {
		memory = kmalloc(sizeof(words), GFP_ATOMIC);
		got = memory != NULL;
	}
}

static void device(struct sock *sk)
{
	dev_hold(__sk_dst_get(sk)->dev);
}

static void refs(struct sock *sk)
{
	refcount_t count = REFCOUNT_INIT(0);

	refcount_inc(&count);
}

static void warns(struct sock *sk)
{
	WARN_ON(tcp_sk(sk)->data_segs_out > SEGMENTS);
}

static void planted_cong_avoid(struct sock *sk, u32 ack, u32 acked);

#define RENO                                   \
	.owner = THIS_MODULE,                  \
	.cong_avoid = planted_cong_avoid,      \
	.ssthresh = tcp_reno_ssthresh,         \
	.undo_cwnd = tcp_reno_undo_cwnd

static struct tcp_congestion_ops p_freed __read_mostly = { .name = "p_freed", RENO };
static struct tcp_congestion_ops p_beyond __read_mostly = { .name = "p_beyond", RENO };
static struct tcp_congestion_ops p_shift __read_mostly = { .name = "p_shift", RENO };
static struct tcp_congestion_ops p_index __read_mostly = { .name = "p_index", RENO };
static struct tcp_congestion_ops p_order __read_mostly = { .name = "p_order", RENO };
static struct tcp_congestion_ops p_sleeps __read_mostly = { .name = "p_sleeps", RENO };
static struct tcp_congestion_ops p_rcu __read_mostly = { .name = "p_rcu", RENO };
static struct tcp_congestion_ops p_leak __read_mostly = { .name = "p_leak", RENO };
static struct tcp_congestion_ops p_device __read_mostly = { .name = "p_device", RENO };
static struct tcp_congestion_ops p_refs __read_mostly = { .name = "p_refs", RENO };
static struct tcp_congestion_ops p_warns __read_mostly = { .name = "p_warns", RENO };

static const struct {
	struct tcp_congestion_ops *ops;
	void (*fault)(struct sock *sk);
} all[] = {
	{ &p_freed, freed }, { &p_beyond, beyond }, { &p_shift, shift }, { &p_index, out_of_bounds },
	{ &p_order, order }, { &p_sleeps, sleeps }, { &p_rcu, rcu }, { &p_leak, leak },
	{ &p_device, device }, { &p_refs, refs }, { &p_warns, warns },
};

static void planted_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	bool *done = inet_csk_ca(sk);
	int at;

	for (at = 0; !*done && tcp_sk(sk)->data_segs_out > SEGMENTS && at < ARRAY_SIZE(all); at++) {
		if (inet_csk(sk)->icsk_ca_ops != all[at].ops)
			continue;
		*done = true;
		all[at].fault(sk);
	}
	tcp_reno_cong_avoid(sk, ack, acked);
}

static int __init planted_register(void)
{
	int at, error = 0;

	for (at = 0; !error && at < ARRAY_SIZE(all); at++)
		error = tcp_register_congestion_control(all[at].ops);
	return error;
}
module_init(planted_register);

MODULE_LICENSE("GPL");
