"""Read into gdb after `commands.py`: what a connection, its algorithm or a queue discipline remembers.

rush tcp FLOW         one connection's fields, and its algorithm's own memory
rush qdisc            the disciplines of all devices, with those within them
rush qdisc DEVICE     of one device, each with its own memory: tokens, averages, times
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gdb  # type: ignore[import-untyped,import-not-found,unused-ignore]

if TYPE_CHECKING:
    from rushhour.debug.commands import (
        Part,
        ca_of,
        container,
        field,
        inet,
        name_of,
        number,
        one_of,
        shown,
        sock,
        table,
        text_of,
        value,
    )

SHOWN = (
    *("snd_una", "snd_nxt", "write_seq", "rcv_nxt", "snd_wnd", "snd_cwnd", "snd_cwnd_cnt", "snd_ssthresh"),
    *("prior_cwnd", "packets_out", "sacked_out", "lost_out", "retrans_out", "delivered", "delivered_ce"),
    *("lost", "app_limited", "srtt_us", "mdev_us", "rttvar_us", "reordering", "high_seq"),
    *("undo_marker", "undo_retrans", "prr_delivered", "prr_out"),
)
# What an `init` may look at besides its own memory.
NOT_OWN = ("sock", "tcp_sock", "inet_connection_sock", "dst_entry", "Qdisc", "net_device", "netdev_queue",
           "net", "nlattr", "netlink_ext_ack")  # fmt: skip
NUMBERS = (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_CHAR, gdb.TYPE_CODE_BOOL)
# Deeper is what a timer, a lock or a table is made of.
DEPTH = 2
ROOT = 0xFFFFFFFF


def own_kind(init: Any) -> Any:
    """The structure that an `init` fills, so what an algorithm or a discipline remembers; None without one.

    Its name follows no rule (`bictcp` is of two algorithms): so the function itself is asked. Its first local
    pointer to a structure that is no part of the stack (`NOT_OWN`) points to it.
    """
    block = gdb.block_for_pc(int(init)) if int(init) else None
    while block is not None and block.superblock is not None and not block.superblock.is_static:
        block = block.superblock
    for symbol in block or ():
        kind = symbol.type.strip_typedefs()
        if symbol.is_argument or kind.code != gdb.TYPE_CODE_PTR:
            continue
        kind = kind.target().strip_typedefs().unqualified()
        if kind.code == gdb.TYPE_CODE_STRUCT and kind.tag not in NOT_OWN:
            return kind
    return None


def leaves(thing: Any, path: str = "", depth: int = 0) -> Any:
    """Numbers of a structure and of those within it, with their paths; no pointers and no tables."""
    for part in thing.type.strip_typedefs().fields():
        if part.name is None:
            continue
        kind = part.type.strip_typedefs()
        name = f"{path}{part.name}"
        if kind.code in NUMBERS:
            yield name, str(int(thing[part]))
        elif kind.code == gdb.TYPE_CODE_ENUM:
            yield name, str(thing[part])
        elif kind.code == gdb.TYPE_CODE_STRUCT and depth + 1 < DEPTH:
            yield from leaves(thing[part], f"{name}.", depth + 1)


def remembered(address: Any, kind: Any) -> None:
    """Print what lies there, with the expression that names it."""
    thing = gdb.Value(int(address)).cast(kind.pointer())
    print(f"({kind} *){int(address):#x}")
    if rows := list(leaves(thing.dereference())):
        table(rows)


def tcp(flow: Any) -> None:
    """One connection's fields, its address for expressions, and the congestion control's own memory."""
    tp = one_of(flow)
    icsk = inet(tp)
    name, ca = ca_of(tp)
    print(f"{name_of(sock(tp))}: (struct tcp_sock *){int(tp):#x}, {name}, {ca}")
    rows = [(name, str(found)) for name in SHOWN if (found := number(tp, name)) is not None]
    rows += [("icsk_rto", str(number(icsk, "icsk_rto"))), ("icsk_backoff", str(number(icsk, "icsk_backoff")))]
    table(rows)
    ops = field(icsk, "icsk_ca_ops")
    if ops is not None and int(ops) and (kind := own_kind(ops["init"])) is not None:
        print(f"\n{name}", end="  ")
        remembered(icsk["icsk_ca_priv"].address, kind)


def devices() -> Any:
    """Every device of every network namespace."""
    head = value("&net_namespace_list")
    if head is None:
        return
    link = head["next"]
    while int(link) != int(head):
        net = container(link, "struct net", "list")
        first = net["dev_base_head"].address
        entry = first["next"]
        while int(entry) != int(first):
            yield container(entry, "struct net_device", "dev_list")
            entry = entry["next"]
        link = link["next"]


def disciplines(dev: Any) -> Any:
    """The disciplines of a device: at its root, and those within it."""
    root = dev["_tx"][0]["qdisc"]
    if not int(root) or text_of(root["ops"]["id"]) in ("noqueue", "noop"):
        return
    yield root
    buckets = field(dev, "qdisc_hash")
    if buckets is None:
        return
    first, last = buckets.type.range()
    within = []
    for place in range(first, last + 1):
        node = buckets[place]["first"]
        while int(node):
            within.append(container(node, "struct Qdisc", "hash"))
            node = node["next"]
    yield from sorted((one for one in within if int(one) != int(root)), key=lambda one: int(one["parent"]))


def handle_of(handle: int) -> str:
    minor = handle & 0xFFFF
    return "root" if handle == ROOT else f"{handle >> 16:x}:" + (f"{minor:x}" if minor else "")


def qdisc(device: Any) -> None:
    """Queue disciplines, with what waits in them and what they dropped; of one device with their memory."""
    rows = [("device", "kind", "handle", "parent", "packets", "bytes", "dropped", "overlimits")]
    found = []
    for dev in devices():
        name = text_of(dev["name"])
        for queue in disciplines(dev) if device in ("", name) else ():
            found.append(queue)
            rows.append((name, text_of(queue["ops"]["id"]), handle_of(int(queue["handle"])),
                         handle_of(int(queue["parent"])), *counted(queue)))  # fmt: skip
    shown(rows, f"{device} has no queue" if device else "no device has a queue")
    for queue in found if device else ():
        if (kind := own_kind(queue["ops"]["init"])) is not None:
            print(f"\n{text_of(queue['ops']['id'])} {handle_of(int(queue['handle']))}", end="  ")
            remembered(queue["privdata"].address, kind)


def counted(queue: Any) -> Any:
    paths = ("q.qlen", "qstats.backlog", "qstats.drops", "qstats.overlimits")
    return tuple(str(number(queue, path, 0)) for path in paths)


Part("tcp", tcp)
Part("qdisc", qdisc)
