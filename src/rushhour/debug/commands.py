"""Commands of gdb for the network stack: read into gdb, which has its own Python and nothing of ours.

    rush time             the virtual time, since the experiment began
    rush flows            every TCP socket: window, threshold, state, what is under way
    rush skbs FLOW        what it has to send, and what it may have to send again
    rush timers           what each socket waits for

FLOW is a flow's name, or a port. Fields that a kernel does not have are left out.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import gdb  # type: ignore[import-untyped,import-not-found,unused-ignore]

FLOWS: dict[str, tuple[int, int]] = {}
BEGIN = 0
STATES = ("", "ESTABLISHED", "SYN_SENT", "SYN_RECV", "FIN_WAIT1", "FIN_WAIT2", "TIME_WAIT", "CLOSE",
          "CLOSE_WAIT", "LAST_ACK", "LISTEN", "CLOSING", "NEW_SYN_RECV")  # fmt: skip
# Functions in whose files these structures are whole. Asked without one, gdb reads every file that names a
# structure, for seconds.
KNOWN_IN = {"struct net": "dev_activate", "struct net_device": "dev_activate", "struct Qdisc": "dev_activate"}
ELSE_IN = "tcp_v4_rcv"
CA_STATES = ("Open", "Disorder", "CWR", "Recovery", "Loss")
_MOST = 100_000


def value(text: Any) -> Any:
    """An expression of C, or None where this kernel has no such thing."""
    try:
        return gdb.parse_and_eval(text)
    except gdb.error:
        return None


def field(thing: Any, path: Any, default: Any = None) -> Any:
    """A field by its path (`a.b.c`), or the default where this kernel has none."""
    try:
        for name in path.split("."):
            if thing.type.strip_typedefs().code == gdb.TYPE_CODE_PTR:
                thing = thing.dereference()
            thing = thing[name]
    except (gdb.error, gdb.MemoryError):
        return default
    return thing


def number(thing: Any, path: Any, default: Any = None) -> Any:
    found = field(thing, path)
    return default if found is None else int(found)


@lru_cache(None)
def pointer_to(kind: Any) -> Any:
    """The type of pointers to a structure."""
    function = gdb.lookup_global_symbol(KNOWN_IN.get(kind, ELSE_IN))
    near = () if function is None else (function.symtab.static_block(),)
    return gdb.lookup_type(kind, *near).pointer()


def at(address: Any, kind: Any) -> Any:
    """The structure at an address, which may be a pointer to another.

    A pointer is taken as a number first: of two pointers gdb compares the structures, for milliseconds.
    """
    return gdb.Value(int(address)).cast(pointer_to(kind))


def container(address: Any, kind: Any, member: Any) -> Any:
    """The structure that a member lies in (`container_of`)."""
    offset = int(at(0, kind).dereference()[member].address)
    return at(int(address) - offset, kind)


def now_ns() -> Any:
    """Virtual time since the kernel's start."""
    found = value("time_travel_time")
    return 0 if found is None else int(found)


def text_of(array: Any) -> Any:
    return array.string(errors="replace") if array is not None else ""


def swapped(port: Any) -> Any:
    return (port & 0xFF) << 8 | port >> 8


def ports(sk: Any) -> Any:
    """Own and other port of a socket."""
    common = sk["__sk_common"]
    return int(common["skc_num"]), swapped(int(common["skc_dport"]))


def name_of(sk: Any) -> Any:
    """The flow that a socket belongs to, with its side; else its ports."""
    own, other = ports(sk)
    for name, (sport, dport) in FLOWS.items():
        if (own, other) == (sport, dport):
            return name
        if (own, other) == (dport, sport):
            return f"{name} (receiver)"
    return f"{own} > {other}"


def is_of(sk: Any, flow: Any) -> Any:
    """Whether a socket is of a flow: by its name (its sender's), or by a port."""
    if flow in FLOWS:
        return ports(sk) == tuple(FLOWS[flow])
    return flow.isdigit() and int(flow) in ports(sk)


def sockets() -> Any:
    """Every TCP socket that is connected, as `struct tcp_sock *`."""
    table = value("&tcp_hashinfo")
    if table is None:
        return
    buckets = table["ehash"]
    for place in range(int(table["ehash_mask"]) + 1):
        node = int(buckets[place]["chain"]["first"])
        while node and not node & 1:
            common = container(gdb.Value(node), "struct sock_common", "skc_nulls_node")
            if int(common["skc_state"]) in (6, 12):  # neither TIME_WAIT nor a request is a socket
                node = int(common["skc_nulls_node"]["next"])
                continue
            yield at(common, "struct tcp_sock")
            node = int(common["skc_nulls_node"]["next"])


def inet(tp: Any) -> Any:
    return at(tp, "struct inet_connection_sock")


def sock(tp: Any) -> Any:
    return at(tp, "struct sock")


def under_way(tp: Any) -> Any:
    """Segments in flight (`tcp_packets_in_flight`)."""
    return (
        number(tp, "packets_out", 0)
        - number(tp, "sacked_out", 0)
        - number(tp, "lost_out", 0)
        + number(tp, "retrans_out", 0)
    )


def ssthresh(tp: Any) -> Any:
    found = number(tp, "snd_ssthresh", 0)
    return "-" if found >= 0x7FFFFFFF else str(found)


def ca_of(tp: Any) -> Any:
    icsk = inet(tp)
    ops = field(icsk, "icsk_ca_ops")
    name = text_of(field(ops, "name")) if ops is not None and int(ops) else ""
    state = number(icsk, "icsk_ca_state", 0)
    return name, CA_STATES[state] if state < len(CA_STATES) else str(state)


def table(rows: Any) -> None:
    """Print rows in columns."""
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())  # noqa: B905


def shown(rows: Any, none: str) -> None:
    """A table with a head, or what is said if it has no rows."""
    if len(rows) > 1:
        table(rows)
    else:
        print(none)


def one_of(flow: Any) -> Any:
    found = [tp for tp in sockets() if is_of(sock(tp), flow)]
    if not found:
        known = ", ".join(FLOWS) or "none"
        raise gdb.GdbError(f"no socket of {flow!r} is connected now; flows: {known}")
    return found[0]


class Rush(gdb.Command):  # type: ignore[misc]
    """The network stack in the lab's words: rush time, flows, tcp FLOW, skbs FLOW, qdisc [DEVICE], timers."""

    def __init__(self) -> None:
        super().__init__("rush", gdb.COMMAND_DATA, gdb.COMPLETE_NONE, prefix=True)


class Part(gdb.Command):  # type: ignore[misc]
    """One of its words."""

    def __init__(self, name: Any, work: Any) -> None:
        self.__doc__ = work.__doc__
        self.work = work
        super().__init__(f"rush {name}", gdb.COMMAND_DATA)

    def invoke(self, argument: Any, _from_tty: Any) -> None:
        self.work(argument.strip())


def time(_: Any) -> None:
    """The virtual time since the experiment began, and since the kernel's start."""
    now = now_ns()
    print(f"{(now - BEGIN) / 1e9:.6f} s ({now} ns since the kernel's start)")


def flows(_: Any) -> None:
    """Every TCP socket: window and threshold (segments), state, what is under way, smoothed RTT."""
    rows = [("flow", "state", "cc", "ca", "cwnd", "ssthresh", "in flight", "srtt")]
    for tp in sockets():
        name, ca = ca_of(tp)
        state = int(sock(tp)["__sk_common"]["skc_state"])
        rows.append((name_of(sock(tp)), STATES[state] if state < len(STATES) else str(state), name, ca,
                     str(number(tp, "snd_cwnd", 0)), ssthresh(tp), str(under_way(tp)),
                     f"{number(tp, 'srtt_us', 0) / 8000:.3f} ms"))  # fmt: skip
    shown(rows, "no TCP socket is connected now")


def seen(skb: Any) -> Any:
    control = at(skb["cb"].address, "struct tcp_skb_cb")
    return control, int(control["seq"]), int(control["end_seq"])


def in_tree(node: Any) -> Any:
    """The nodes of a red-black tree in their order."""
    stack: list[int] = []
    while node or stack:
        while node:
            stack.append(node)
            node = int(at(node, "struct rb_node")["rb_left"])
        node = stack.pop()
        yield node
        node = int(at(node, "struct rb_node")["rb_right"])


def skbs(flow: Any) -> None:
    """What a connection has under way and has still to send, in bytes from the first unacknowledged."""
    tp = one_of(flow)
    first = number(tp, "snd_una", 0)
    rows = [("queue", "from", "bytes", "segments", "marks")]

    def row(queue: Any, skb: Any) -> None:
        control, begin, end = seen(skb)
        bits = number(control, "sacked", 0)
        marks = [word for bit, word in ((1, "sacked"), (2, "retransmitted"), (4, "lost")) if bits & bit]
        count = str(number(control, "tcp_gso_segs", 1))
        rows.append(
            (
                queue,
                str((begin - first) & 0xFFFFFFFF),
                str((end - begin) & 0xFFFFFFFF),
                count,
                " ".join(marks),
            )
        )

    for node in in_tree(int(sock(tp)["tcp_rtx_queue"]["rb_node"])):
        row("sent", skb_of(node))
    head = sock(tp)["sk_write_queue"]
    skb, end = at(head["next"], "struct sk_buff"), int(head.address)
    while int(skb) != end and len(rows) < _MOST:
        row("to send", skb)
        skb = at(skb["next"], "struct sk_buff")
    shown(rows, "nothing is under way, and nothing waits")


def skb_of(node: Any) -> Any:
    """The packet whose `rbnode` this is: the first of its fields, in a union."""
    return at(node, "struct sk_buff")


def timers(_: Any) -> None:
    """When each socket's timers fire, from now on: retransmission, delayed ACK, keepalive, pacing."""
    jiffies, now = int(value("jiffies")), now_ns()
    rows = [("flow", "timer", "fires in")]
    for tp in sockets():
        icsk = inet(tp)
        for label, path in (("retransmission", "icsk_retransmit_timer"), ("delayed ACK", "icsk_delack_timer"),
                            ("keepalive", "icsk_inet.sk.sk_timer")):  # fmt: skip
            timer = field(icsk, path)
            if timer is not None and int(field(timer, "entry.pprev")):
                rows.append((name_of(sock(tp)), label, f"{int(timer['expires']) - jiffies} ms"))
        expires = number(tp, "pacing_timer.node.expires")
        if expires and number(tp, "pacing_timer.state", number(tp, "pacing_timer.is_queued", 0)):
            rows.append((name_of(sock(tp)), "pacing", f"{(expires - now) / 1000:.3f} us"))
    shown(rows, "no timer of a socket is set")


Rush()
for _name, _work in (
    ("time", time),
    ("flows", flows),
    ("skbs", skbs),
    ("timers", timers),
):
    Part(_name, _work)
