// SPDX-License-Identifier: GPL-2.0
/* A queue as long as a time: what comes while the oldest packet has waited for 20 ms is dropped. */
#include <linux/module.h>
#include <net/pkt_sched.h>

#define LIMIT_NS (20 * NSEC_PER_MSEC)

struct mine {
	u64 came_ns;
};

static struct mine *mine(struct sk_buff *skb)
{
	qdisc_cb_private_validate(skb, sizeof(struct mine));
	return (struct mine *)qdisc_skb_cb(skb)->data;
}

static int mine_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct sk_buff *oldest = sch->q.head;

	if (oldest && ktime_get_ns() - mine(oldest)->came_ns > LIMIT_NS)
		return qdisc_drop(skb, sch, to_free);
	mine(skb)->came_ns = ktime_get_ns();
	return qdisc_enqueue_tail(skb, sch);
}

static struct Qdisc_ops mine_ops __read_mostly = {
	.id = "mine",
	.enqueue = mine_enqueue,
	.dequeue = qdisc_dequeue_head,
	.peek = qdisc_peek_head,
	.reset = qdisc_reset_queue,
	.owner = THIS_MODULE,
};

static int __init mine_register(void)
{
	return register_qdisc(&mine_ops);
}
module_init(mine_register);

MODULE_LICENSE("GPL");
