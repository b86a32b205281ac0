"""What the scenario reference says of some tables besides their keys."""

from __future__ import annotations

NOTES: dict[tuple[str, ...], str] = {
    ("program",): "Any program of this machine, on a node: [programs in the lab](programs.md).\n\n",
    ("load",): """\
Work for processors or memory while the network is measured. Computing takes no time in a virtual kernel, so
a scenario with loads says `labs = ["netns", "hosts"]`. The record says what a worker got of its share. A
quarter of the machine's memory stays free whatever is asked for.

```toml
labs = ["netns", "hosts"]

[[load]]
node = "s1"
share = 0.5       # of each processor of the node

[sweep]
"load.cpu.share" = [0, 0.5, 1]
```

""",
    ("link", "class"): """\
Classes of a preset divide the common link's rate in the direction of the data, those of a link that of either
direction (`[[link.forward.class]]`: of one). A class has its own rate whatever others do, and borrows up to
its ceiling what they leave. What no class names goes to the class without flows, else to `(rest)`, which is
added and lives by borrowing.

```toml
[[topology.class]]
name = "elephants"
rate = "800mbit"
ceil = "1gbit"
flows = ["long"]

[[topology.class]]
name = "mice"
rate = "200mbit"
flows = ["short"]
```

A factor varies one key of a class (`"topology.class.mice.rate" = ["100mbit", "200mbit"]`) or all classes at
once (`"topology.class" = [[], [{ name = "mice", … }]]`).

""",
    ("link", "class", "then"): """\
`then = { at = "500ms", weight = 1 }`, `then = { at = "500ms", gone = true }`. What a class has sent and what
waits in it stay where it becomes another. Bands of ets and prio stay to the end, and so does the class for
what no class names.

""",
    ("link", "police"): """\
At the ingress of the node that the packets reach (of a preset: with the data): a bottleneck without a queue,
`police = { rate = "10mbit", burst = "50kB" }`; with `peak = "20mbit"` the bucket passes at that rate, and no
bundle of segments that is longer than two frames. Or one that counts packets,
`police = { packets = "1000/s", packet_burst = 50 }`.

""",
    ("flow", "size"): """\
A bare size is a fixed one: `size = "100kB"`. What is drawn depends on the run's seed and the flow's name
alone: cells that differ in something else meet the same flows at the same times.

""",
    ("expect",): """\
Each may be said in words instead, in scenarios as with `rushhour exec --expect`:

```toml
expect = [
    "goodput of tcp1 > 1mbit",            # METRIC [of SCOPE] OPERATOR VALUE
    "retransmits = 0",                    # >, >=, <, <=, =
    "srtt_p95 of flow:tcp1 <= 80 ms",
    "utilization = 95% ± 2%",
]
```

The scope is the part behind the colon, or all of it; without one an expectation is about the total, and where
a metric has none about every scope that it has. A metric's unit may be left out of its name where the rest
means one metric. A value with a unit is converted to the metric's; a bare number is in the metric's own. A
tolerance without a unit has the value's.

""",
    ("judge",): """\
These metrics [decide a comparison](verdict.md#how-a-cell-is-judged) of two kernels in every cell.

```toml
guards = "After a loss {cc} would keep another share of its window (ssthresh of tcp_congestion_ops)"

[[judge]]
metric = "goodput_bps"
minimum = "2%"
```

""",
    ("flow", "on"): 'A bare duration is a fixed one: `on = "500ms"`.\n\n',
}
"""Markdown by the path of a table."""
