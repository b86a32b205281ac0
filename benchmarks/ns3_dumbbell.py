"""One CUBIC flow over a bottleneck in ns-3, for an interpreter that has its wheel; prints one JSON object.

`python ns3_dumbbell.py SECONDS`: on the path of `benchmarks/simulators.py`; packets are those that
leave the queue. Only the event loop is timed: neither ns-3's start nor what it compiles for Python.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from ns import ns  # type: ignore[import-not-found,unused-ignore] # of ns-3's own environment

RATE, ACCESS, DELAY, BUFFER_BYTES, SEGMENT = "100Mbps", "10Gbps", "10ms", 250_000, 1448


def joined(first: Any, second: Any, rate: str, delay: str) -> Any:
    link = ns.PointToPointHelper()
    link.SetDeviceAttribute("DataRate", ns.StringValue(rate))
    link.SetChannelAttribute("Delay", ns.StringValue(delay))
    nodes = ns.NodeContainer()
    nodes.Add(first)
    nodes.Add(second)
    return link.Install(nodes)


def main() -> None:
    seconds = float(sys.argv[1])
    ns.Config.SetDefault("ns3::TcpL4Protocol::SocketType", ns.StringValue("ns3::TcpCubic"))
    ns.Config.SetDefault("ns3::TcpSocket::SegmentSize", ns.UintegerValue(SEGMENT))
    for buffer in ("SndBufSize", "RcvBufSize"):
        ns.Config.SetDefault(f"ns3::TcpSocket::{buffer}", ns.UintegerValue(6 << 20))
    nodes = ns.NodeContainer()
    nodes.Create(4)
    sender, left, right, receiver = (nodes.Get(number) for number in range(4))
    cables = [
        joined(sender, left, ACCESS, "0ms"),
        joined(left, right, RATE, DELAY),
        joined(right, receiver, ACCESS, "0ms"),
    ]
    ns.InternetStackHelper().Install(nodes)
    queue = ns.TrafficControlHelper()
    queue.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", ns.StringValue(f"{BUFFER_BYTES}B"))
    fifo = queue.Install(cables[1].Get(0)).Get(0)
    addresses = ns.Ipv4AddressHelper()
    for number, cable in enumerate(cables):
        addresses.SetBase(ns.Ipv4Address(f"10.0.{number}.0"), ns.Ipv4Mask("255.255.255.0"))
        last = addresses.Assign(cable)
    ns.Ipv4GlobalRoutingHelper.PopulateRoutingTables()
    to = ns.InetSocketAddress(last.GetAddress(1), 5000).ConvertTo()
    sink = ns.PacketSinkHelper("ns3::TcpSocketFactory", to).Install(receiver)
    ns.BulkSendHelper("ns3::TcpSocketFactory", to).Install(sender).Start(ns.Seconds(0))
    sink.Start(ns.Seconds(0))
    ns.Simulator.Stop(ns.Seconds(seconds))
    cpu, wall = time.process_time(), time.perf_counter()
    ns.Simulator.Run()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    packets = fifo.GetStats().nTotalDequeuedPackets
    print(json.dumps({"packets": packets, "cpu_s": cpu, "wall_s": wall}))


if __name__ == "__main__":
    main()
