// SPDX-License-Identifier: GPL-2.0
/* Additive increase; and once a round trip, less by the part of it that packets wait too long. */
#include <linux/module.h>
#include <net/tcp.h>

#define TARGET_US 10000 /* so long packets may wait */

struct mine {
	u32 base_us;   /* the least RTT so far: that of the empty path */
	u32 round_end; /* snd_nxt as this round trip began: the ACK beyond it ends it */
};

static void mine_init(struct sock *sk)
{
	struct mine *m = inet_csk_ca(sk);

	m->base_us = U32_MAX;
	m->round_end = tcp_sk(sk)->snd_nxt;
}

static void mine_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct mine *m = inet_csk_ca(sk);

	if (sample->rtt_us > 0)
		m->base_us = min_t(u32, m->base_us, sample->rtt_us);
}

static void mine_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct mine *m = inet_csk_ca(sk);

	if (after(ack, m->round_end)) {
		u32 rtt_us = tp->srtt_us >> 3;
		s32 excess_us = rtt_us - m->base_us - TARGET_US;

		m->round_end = tp->snd_nxt;
		if (m->base_us != U32_MAX && excess_us > 0) {
			u32 excess = div_u64((u64)tp->snd_cwnd * excess_us, rtt_us);

			tp->snd_cwnd = max(tp->snd_cwnd - excess, 2U);
			tp->snd_ssthresh = tp->snd_cwnd;
			return;
		}
	}
	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked); /* one segment a round trip */
}

static u32 mine_ssthresh(struct sock *sk)
{
	return max(tcp_sk(sk)->snd_cwnd / 2, 2U);
}

static struct tcp_congestion_ops mine __read_mostly = {
	.name = "mine",
	.owner = THIS_MODULE,
	.init = mine_init,
	.pkts_acked = mine_pkts_acked,
	.cong_avoid = mine_cong_avoid,
	.ssthresh = mine_ssthresh,
	.undo_cwnd = tcp_reno_undo_cwnd,
};

static int __init mine_register(void)
{
	return tcp_register_congestion_control(&mine);
}
module_init(mine_register);

MODULE_LICENSE("GPL");
