"""Causes where the path is full: of a flow as it should be, of others, of what stands in a queue."""

from __future__ import annotations

from rushhour.causes.cause import Cause

HAD = "{flow} had {had}, and an equal share is {fair}: {other} had {most}."

PATHS = (
    Cause(
        "ack-queue",
        "queue",
        "ACKs wait in a queue on their way back",
        "RFC 3449, section 2",
        says=(
            "Its ACKs waited {wait} in the queue {where}, on an idle round trip of {idle}; its data {data}."
        ),
        word="ack_queue",
        known_by=(
            "limit `acks`, or ACKs that wait for more than 30 % of the idle round trip, in the queue "
            "that is named, with who fills it"
        ),
        helps="that queue separates its flows",
        shown_by=("record",),
    ),
    Cause(
        "ack-loss",
        "path",
        "Many ACKs are lost on their way back",
        "RFC 3449, section 3",
        says=(
            "{lost} of its ACKs were lost {where}. A small window, or the end of a transfer, then "
            "waits for the next one, or for a timeout."
        ),
        word="ack_loss",
        known_by="5 % of the ACKs or more were lost on wires, by netem and by the sender's `drop_input`",
        helps="repair the way back, or take the filter's rule away",
        shown_by=("record",),
    ),
    Cause(
        "other-algorithm",
        "path",
        "Another congestion control takes most of the path",
        "RFC 9743",
        says=f"{HAD} {{mine}} gives way to {{theirs}}.",
        word="other_algorithm",
        known_by=(
            "the path was full, and the flow had less than 60 % of an equal share; whoever had most "
            "has another algorithm"
        ),
        helps="one algorithm, or a queue that separates flows",
        shown_by=("record",),
    ),
    Cause(
        "longer-path",
        "path",
        "A flow with a shorter round trip takes most of the path",
        "RFC 5166, section 2.3",
        says=f"{HAD} Its round trip is longer ({{trip}}, not {{short}}), so its window grows more slowly.",
        word="longer_path",
        known_by="likewise; whoever had most has a base RTT below two thirds",
        helps="a queue that separates flows",
        shown_by=("record",),
    ),
    Cause(
        "unequal",
        "path",
        "Equal flows have not come to equal shares",
        "RFC 5166, section 2.3",
        says=f"{HAD} The flows had not come to equal shares.",
        word="unequal",
        known_by="likewise; algorithm and round trip are alike",
        shown_by=("record",),
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
        shown_by=("record", "measurements"),
    ),
    Cause(
        "cpu-limited",
        "host",
        "One flow is as fast as a processor; the path is not full",
        "proc_stat(5)",
        worst="warning",
        says=(
            "A processor of {host} is full ({busy}{soft}), the path is not: one flow is as fast as this "
            "machine."
        ),
        ours=True,
        doubtful=True,
        shown_by=("measurements",),
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
        shown_by=("record", "hosts"),
    ),
    Cause(
        "beside-others",
        "path",
        "Traffic that does not give way takes part of the path",
        "RFC 8085, section 3.1",
        says="{flow} had {had}: {how}. What is beside it leaves {left}.",
        word="others",
        known_by=(
            "the path was full, 5 % of it or more of UDP, requests, arriving flows, or TCP that was "
            "there for less than half of the time"
        ),
        shown_by=("record",),
    ),
    Cause(
        "path-rate",
        "path",
        "The path is full, as it should be",
        "RFC 6349, section 3.3",
        worst="note",
        says="{flow} had {had}: {how}.",
        word="path",
        known_by="nothing else",
        shown_by=("record", "measurements"),
    ),
    Cause(
        "several-paths",
        "tcp",
        "A connection of several paths (MPTCP)",
        "RFC 8684; Documentation/networking/mptcp-sysctl.rst, scheduler",
        "note",
        says=(
            "{flow} had {had} over {count}: {each} (scheduler: {scheduler}). What follows is of the subflows "
            "only: for which of them the connection waited, nothing tells."
        ),
        word="several_paths",
        known_by="every MPTCP connection",
        shown_by=("record",),
    ),
    Cause(
        "subflow",
        "tcp",
        "What held one path of a connection of several",
        "RFC 8684, 3.3",
        "note",
        says="{flow} carried {had}: {held}{backup}.",
        word="subflow",
        known_by="the limits of the subflow's own socket; whether it is a backup, by the plan",
        shown_by=("record",),
    ),
)
