"""Causes that show in what a TCP flow did: in a record, or in the measurements between two hosts."""

from __future__ import annotations

from rushhour.causes.cause import Cause

IP_SYSCTL = "Documentation/networking/ip-sysctl.rst"
CHRONO = "tcp_chrono_start(), net/ipv4/tcp_output.c (RFC 4898: SndLimTime)"
FLACH = "Flach et al., SIGCOMM 2016, section 3"
MATHIS = "Mathis et al., CCR 27(3), 1997"

AT_THE_HOSTS = (
    Cause(
        "window-scaling-off",
        "tcp",
        "No window scaling: at most 64 KiB are in flight",
        f"RFC 7323, section 2; {IP_SYSCTL}, tcp_window_scaling",
        says="Window scaling is off at {hosts}: no connection has more than 64 KiB in flight{proof}.",
        leads_to=("receive-buffer-too-small",),
        word="window_scaling",
        known_by="not agreed on (`TCPI_OPT_WSCALE`), and the path holds more than 64 KiB",
        helps="`net.ipv4.tcp_window_scaling`",
    ),
    Cause(
        "receive-buffer-too-small",
        "socket",
        "The receiver's window is smaller than what the path holds",
        f"{IP_SYSCTL}, tcp_rmem; {CHRONO}; RFC 6349, 3.3.1; RFC 7323, 2.2",
        says="The receive buffer of {host} is too small: {proof}.",
        leads_to=("small-window",),
        word="receive_buffer",
        known_by="limit `receiver`",
        helps="`SO_RCVBUF`, `tcp_moderate_rcvbuf` or `tcp_rmem`, for 1.5 times what the path holds",
    ),
    Cause(
        "send-buffer-too-small",
        "socket",
        "The send buffer holds less than the path",
        f"{IP_SYSCTL}, tcp_wmem; {CHRONO}; tcp_sndbuf_expand(), net/ipv4/tcp_input.c",
        says="The send buffer of {host} is too small: {proof}.",
        word="send_buffer",
        known_by="limit `sndbuf`",
        helps="`SO_SNDBUF` or `tcp_wmem`, likewise",
    ),
    Cause(
        "slow-reader",
        "application",
        "The receiving program reads more slowly than data arrive",
        CHRONO,
        worst="warning",
        says="{program} was too slow: {held} the network waited for it.",
        word="slow_reader",
        known_by="limit `reader`",
        helps="the application",
        ours=True,
        doubtful=True,
    ),
    Cause(
        "slow-writer",
        "application",
        "The sending program writes more slowly than the path carries",
        CHRONO,
        worst="warning",
        says="{program} was too slow: {held} the network waited for it.",
        word="slow_writer",
        known_by="limit `application`",
        helps="the application",
        ours=True,
        doubtful=True,
    ),
    Cause(
        "cpu-busy",
        "host",
        "A processor is full, and the network waits for the program",
        "proc_stat(5)",
        worst="warning",
        ours=True,
    ),
    Cause(
        "cpu-quota",
        "host",
        "A CPU quota stops programs",
        "Documentation/admin-guide/cgroup-v2.rst, cpu.max, cpu.stat; Documentation/scheduler/sched-bwc.rst",
        says="A CPU quota holds programs on {host}{cpus}{proof}.",
        leads_to=("cpu-busy", "slow-reader", "slow-writer"),
        certain=True,
    ),
    Cause(
        "cpu-limited",
        "host",
        "One flow is as fast as a processor; the path is not full",
        "proc_stat(5)",
        worst="warning",
        ours=True,
        doubtful=True,
    ),
    Cause(
        "pacing",
        "tcp",
        "The sender's socket paces below what the path carries",
        "tcp_info(7); RFC 5681",
        says="The sender on {host} paces itself{at}, below what the path carries, {held}.",
        word="pacing",
        known_by="limit `pacing`",
        helps="the application",
    ),
    Cause(
        "marked",
        "tcp",
        "Congestion marks (ECN) keep the window small",
        "RFC 3168, section 6.1.2",
        says="Congestion marks (ECN) kept the window small {held}{counted}.",
        word="marks",
        known_by="limit `marks`",
        helps="mark later, DCTCP at both ends",
    ),
    Cause(
        "small-window",
        "tcp",
        "The congestion control keeps its window small without a loss",
        "tcp_info(7); RFC 5681",
        says="{cc} on {host} kept its window below what the path holds {held}, without losses or marks{why}.",
        word="window",
        known_by="limit `window`",
        helps="of algorithms that follow delay: another",
        doubtful=True,
    ),
    Cause(
        "handshake",
        "tcp",
        "Opening the connection took a good part of the time",
        "RFC 9293, 3.5; RFC 6298, section 2",
        word="handshake",
        known_by="the limit; SYNs that were sent again, by the traced events",
        helps="keep connections; with a lost SYN, repair",
    ),
    Cause(
        "slow-start",
        "tcp",
        "The transfer was over before the window had grown",
        "RFC 5681, 3.1; RFC 6928",
        word="slow_start",
        known_by="the limit",
        helps="keep connections; `initcwnd`",
    ),
)

LOSSES = (
    Cause(
        "reordering",
        "path",
        "Packets are overtaken, and TCP takes them for lost",
        f"RFC 4737, section 4; RFC 5681, 3.2; RFC 2883; {IP_SYSCTL}, tcp_reordering",
        says="Packets overtake each other on the way{way}: {proof}.",
        word="reordering",
        known_by=(
            "half of the retransmissions or more were not needed: reported by DSACK, or more than was "
            "lost on the way"
        ),
        helps="balance per flow",
    ),
    Cause(
        "corruption",
        "path",
        "Packets arrive damaged",
        "RFC 1071; RFC 9293, 3.1",
        says=("Packets arrive damaged at {host}: {proof}. A cable, a card or a device on the way is faulty."),
        leads_to=("random-loss", "datagram-loss", "losses"),
        word="corruption",
        known_by="wrong checksums at the receiver, for a fifth of the retransmissions or more",
        helps="repair the link",
        certain=True,
    ),
    Cause(
        "outages",
        "path",
        "The way is dead for a while, again and again",
        "RFC 3357, section 4; RFC 6298, section 5",
        says="The way {way} goes dead for about {dead} at a time: {proof}.",
        leads_to=("random-loss", "losses", "policer", "datagram-loss", "echo-loss", "shallow-queue"),
    ),
    Cause(
        "policer",
        "path",
        "A rate is enforced by dropping",
        FLACH,
        says=(
            "A policer {way}drops what exceeds {rate} instead of letting it wait: {proof}, and {held} the "
            "window was too small for what it lets through."
        ),
        leads_to=("asymmetric-path", "datagram-loss"),
        word="policer",
        known_by="policers dropped more than queues",
        helps="pace to 95 % of the policed rate; or a burst of one BDP, a `--set` of its own",
    ),
    Cause(
        "random-loss",
        "path",
        "Packets are lost although no queue is full",
        MATHIS,
        says=(
            "{lost} of the packets {way}were lost on the way, not in a full queue, and {cc} on {host} "
            "{answers}{theory}."
        ),
        leads_to=("datagram-loss", "losses", "echo-loss"),
        word="random_loss",
        known_by=(
            "wires and netem lost more than queues; beside it what the law of Mathis et al. or the "
            "model of Padhye et al. allows Reno"
        ),
        helps="repair; up to 10 % of loss BBR",
    ),
    Cause(
        "sack-off",
        "tcp",
        "No selective acknowledgements: of several losses one is repaired a round trip",
        f"RFC 2018; RFC 6675; {IP_SYSCTL}, tcp_sack",
        says="Selective acknowledgements (SACK) are off at {hosts}: of several losses one is "
        "repaired a round trip{proof}.",
        word="sack",
        known_by="not agreed on, and there were retransmissions",
        helps="`net.ipv4.tcp_sack`",
    ),
    Cause(
        "shallow-queue",
        "queue",
        "The queue before the bottleneck is too short",
        "Appenzeller et al., SIGCOMM 2004; tc-fq(8)",
        says=(
            "The queue {where} is too short: {proof}; {held} losses kept the window below the {bdp} that the "
            "path holds."
        ),
        word="shallow_buffer",
        known_by=(
            "drops in a queue that holds less than half a BDP, or that would drop with what is now the "
            "limit gone"
        ),
        helps="one BDP, or pacing",
    ),
    Cause(
        "impatient-queue",
        "queue",
        "CoDel's interval is shorter than the round trip: it drops or marks too early",
        "RFC 8289, section 4.3",
        says=(
            "{what} by the queue {where}, whose interval of {interval} is below the round trip of {trip}: it "
            "answers before the sender can, and {held} the window was too small."
        ),
        word="impatient_queue",
        known_by="CoDel dropped or marked, and its interval is shorter than the idle round trip",
        helps="an interval of a round trip",
    ),
    Cause(
        "timeouts",
        "path",
        "The sender waits for retransmission timeouts",
        "RFC 6298",
        word="timeouts",
        known_by="the limit",
        helps="fewer senders, a longer queue or marks, a smaller `rto_min`",
    ),
    Cause(
        "losses",
        "path",
        "Losses, of which no more is known",
        "RFC 5681",
        says=(
            "{again} of the segments {way}were sent again{when}; {held} losses kept the window small. Their "
            "origin did not show."
        ),
        word="losses",
        known_by="retransmissions, of which no more is known",
        doubtful=True,
    ),
)

PATHS = (
    Cause(
        "ack-queue",
        "queue",
        "ACKs wait in a queue on their way back",
        "RFC 3449, section 2",
        word="ack_queue",
        known_by=(
            "limit `acks`, or ACKs that wait for more than 30 % of the idle round trip, in the queue "
            "that is named, with who fills it"
        ),
        helps="that queue separates its flows",
    ),
    Cause(
        "ack-loss",
        "path",
        "Many ACKs are lost on their way back",
        "RFC 3449, section 3",
        word="ack_loss",
        known_by="5 % of the ACKs or more were lost on wires and by netem",
        helps="repair the way back",
    ),
    Cause(
        "other-algorithm",
        "path",
        "Another congestion control takes most of the path",
        "RFC 9743",
        word="other_algorithm",
        known_by=(
            "the path was full, and the flow had less than 60 % of an equal share; whoever had most "
            "has another algorithm"
        ),
        helps="one algorithm, or a queue that separates flows",
    ),
    Cause(
        "longer-path",
        "path",
        "A flow with a shorter round trip takes most of the path",
        "RFC 5166, section 2.3",
        word="longer_path",
        known_by="likewise; whoever had most has a base RTT below two thirds",
        helps="a queue that separates flows",
    ),
    Cause(
        "unequal",
        "path",
        "Equal flows have not come to equal shares",
        "RFC 5166, section 2.3",
        word="unequal",
        known_by="likewise; algorithm and round trip are alike",
    ),
    Cause(
        "bufferbloat",
        "queue",
        "A queue is much longer than the path needs",
        "RFC 8289, section 3; RFC 8290 (FQ-CoDel), section 1; tc-cake(8)",
        says=(
            "The queue {where} is far too long (bufferbloat): under load everything waits {wait} in it, on "
            "an idle round trip of {idle}."
        ),
        word="bufferbloat",
        known_by=(
            "the path was full, and the median wait in its queue is at least 20 ms and the idle round trip"
        ),
        helps="a queue that manages itself",
    ),
    Cause(
        "shaper-on-the-sender",
        "queue",
        "A shaper on the sender's own device is what limits",
        "tc(8)",
        says="A shaper on {dev} lets {rate} through{arrives}.",
        leads_to=("path-rate", "asymmetric-path", "bufferbloat", "shallow-queue", "losses"),
        word="sender_shaper",
        known_by="the bottleneck is the sender's own egress",
    ),
    Cause(
        "beside-others",
        "path",
        "Traffic that does not give way takes part of the path",
        "RFC 8085, section 3.1",
        word="others",
        known_by=(
            "the path was full, 5 % of it or more of UDP, requests, arriving flows, or TCP that was "
            "there for less than half of the time"
        ),
    ),
    Cause(
        "path-rate",
        "path",
        "The path is full, as it should be",
        "RFC 6349, section 3.3",
        worst="note",
        word="path",
        known_by="nothing else",
    ),
)
