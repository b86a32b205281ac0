"""What no single key shows to be wrong is reported at the key to blame."""

from typing import Any

import pytest
from scenarios import BASE, faults, scenario

from rushhour.spec import parse_scenario

GRAPH = """\
duration = "10s"
[[link]]
between = ["a", "m"]
rate = "10mbit"
[[link]]
between = ["m", "b"]
"""
FLOW = "[[flow]]\n"


@pytest.mark.parametrize(
    ("line", "key", "says"),
    [
        ('delay = "1ms"', "topology.delay", "says the same as rtt"),
        ('rtts = ["1ms"]', "topology.rtts", "says the same as rtt"),
        ('access_rates = ["1gbit", "2gbit"]', "topology.access_rates", "2 values for 1"),
        ('access_rates = ["0bit"]', "topology.access_rates", "carries nothing"),
        ("hops = 3", "topology.hops", 'belongs to "chain"'),
        ('buffer = "1000B"', "topology.buffer", "less than one packet"),
        ('buffer = "0p"', "topology.buffer", "no packet"),
        ('buffer = "0bdp"', "topology.buffer", "no packet"),
        ('buffer = "1us"', "topology.buffer", "less than one packet"),
        ('reverse_buffer = "10B"', "topology.reverse_buffer", "less than one packet"),
        ('reverse_rate = "0bit"', "topology.reverse_rate", "carries nothing"),
        ('mtu = "100B"', "topology.mtu", "576B"),
        ('jitter = "5s"', "topology.jitter", "more than the wire can draw"),
        (f"drop = {list(range(4097))}", "topology.drop", "more than 4096"),
        ("reorder = true", "topology.reorder", "no jitter"),
        ('queue = "root fifo"', "topology.queue", "the plan decides"),
        ('queue = "ingress"', "topology.queue", "the plan decides"),
        ('queue = " "', "topology.queue", "is empty"),
        ('queue = "fifo; reboot"', "topology.queue", "tc's words"),
        ('loss = "101%"', "topology.loss", "more than 100"),
        ('netem = "delay -5ms"', "topology.netem", "negative"),
        ('netem = "delay 5ms -1ms"', "topology.netem", "negative"),
        ('netem = "slot 1ms -2ms"', "topology.netem", "negative"),
        ('netem = "loss 200%"', "topology.netem", "no share"),
        ('police = { rate = "1mbit", burst = "1000TB" }', "topology.police.burst", "to fill"),
        ('police = { rate = "8bit", burst = "2kB" }', "topology.police.burst", 'at most "274B"'),
        ("pairs = 3000", "topology.pairs", "less than or equal to 2000"),
        ("pairs = 1500", "topology", "more than 2000"),
    ],
)
def test_the_common_link(line: Any, key: str, says: str) -> None:
    found = faults(BASE.replace("[[flow]]", f"{line}\n[[flow]]"))
    assert says in f"{found[key].message} {found[key].hint}"


def test_a_preset_needs_a_rate_and_an_rtt() -> None:
    found = faults('duration = "1s"\n[topology]\npreset = "star"\n[[flow]]\n')
    assert set(found) == {"topology.rate", "topology.rtt"}


def test_bundles_that_arrive_whole_are_not_put_together() -> None:
    both = BASE.replace('rate = "100mbit"', 'rate = "100mbit"\noffload = true\nreceive_offload = true')
    assert "arrive whole" in faults(both)["topology.receive_offload"].message


def test_zero_rate() -> None:
    assert "carries nothing" in faults(BASE.replace("100mbit", "0bit"))["topology.rate"].message


@pytest.mark.parametrize(
    ("lines", "key", "says"),
    [
        ('kind = "udp"', "flow.udp1.rate", "needs a rate"),
        ('kind = "udp"\nrate = "1mbit"\ngso = true', "flow.udp1.gso", "no burst to cut"),
        ('kind = "udp"\nrate = "1mbit"\nburst = 129\ngso = true', "flow.udp1.gso", "cannot be cut"),
        ('kind = "udp"\nrate = "1mbit"\nburst = 1\ngso = true', "flow.udp1.gso", "cannot be cut"),
        ('kind = "udp"\nrate = "1mbit"\nburst = 60\ngso = true', "flow.udp1.gso", "more than 65507"),
        ("gso = true", "flow.tcp1.gso", 'belongs to "udp"'),
        (
            'kind = "udp"\nrate = "1mbit"\npacket = "1kB"\nlast_packet = "90B"',
            "flow.udp1.last_packet",
            "no burst",
        ),
        ('kind = "udp"\nrate = "1mbit"\nburst = 9\nlast_packet = "90B"', "flow.udp1.last_packet", "no size"),
        (
            'kind = "udp"\nrate = "1mbit"\nburst = 9\npacket = "1kB"\nlast_packet = "2kB"',
            "flow.udp1.last_packet",
            "not between",
        ),
        ("gro = true", "flow.tcp1.gro", 'belongs to "udp"'),
        ('packet = "100B"', "flow.tcp1.packet", 'belongs to "udp", "ping"'),
        ('kind = "ping"\ncc = "reno"', "flow.ping1.cc", 'belongs to "tcp", "rr", "crr"'),
        ('kind = "rr"\nbytes = "1MB"', "flow.rr1.bytes", 'belongs to "tcp"'),
        ('start = "30s"', "flow.tcp1.start", "not before the end"),
        ('start = "20s"\nduration = "15s"', "flow.tcp1.duration", "is after the end"),
        ('duration = "0s"', "flow.tcp1.duration", "is zero"),
        ('bytes = "0B"', "flow.tcp1.bytes", "is zero"),
        ('message = "2GB"', "flow.tcp1.message", "too large"),
        ('mss = "10B"', "flow.tcp1.mss", "88B"),
        ('rate = "1bit"', "flow.tcp1.rate", "carries nothing"),
        ('kind = "ping"\npacket = "66kB"', "flow.ping1.packet", "65000B"),
        ('kind = "ping"\ninterval = "0s"', "flow.ping1.interval", "zero"),
        ('name = "long"', "flow.long.name", "already the name"),
        ('from = "s1"\nto = "s1"', "flow.tcp1.to", 'both "s1"'),
        ('to = "r9"', "flow.tcp1.to", 'no node is named "r9"'),
        ("count = 20000", "flow", "more than 20000"),
        ("count = 0", "flow.tcp1.count", "greater than or equal to 1"),
        ("dscp = 64", "flow.tcp1.dscp", "less than or equal to 63"),
        ('name = "a b"', "flow.a b.name", "letters, digits"),
    ],
)
def test_flows(lines: str, key: str, says: str) -> None:
    found = faults(f"{BASE}[[flow]]\n{lines}\n")
    assert says in f"{found[key].message} {found[key].hint}"
    assert (found[key].line or 0) >= (6 if key == "flow" else 9)


def test_names_of_copies_clash_too() -> None:
    text = f'{BASE}[[flow]]\nname = "a"\ncount = 3\n[[flow]]\nname = "a.2"\n'
    assert "a.2" in faults(text)["flow.a.2.name"].message


def test_ecn_is_a_setting_of_a_host() -> None:
    two = f"{BASE}ecn = true\n[[flow]]\necn = false\n"
    assert '"s1"' in faults(two)["flow.tcp1.ecn"].message
    apart = two.replace('rtt = "20ms"', 'rtt = "20ms"\npairs = 2')
    assert parse_scenario(apart).flow[1].ecn is False


@pytest.mark.parametrize(
    ("text", "key", "says"),
    [
        ("", "duration", "no duration"),
        ('duration = "0s"', "duration", "no length"),
        ('duration = "5s"\nwarmup = "5s"', "warmup", "leaves nothing"),
        ('duration = "5s"\nsample = "1us"', "sample", "between"),
        ('duration = "5s"\nsample = "6s"', "sample", "between"),
        ('duration = "100s"\nsample = "10us"', "sample", "samples are more"),
    ],
)
def test_times(text: str, key: str, says: str) -> None:
    assert says in faults(text + BASE.replace('duration = "30s"', ""))[key].message


def test_a_duration_is_not_needed_where_every_flow_ends() -> None:
    text = BASE.replace('duration = "30s"\n', "")
    assert parse_scenario(f'{text}duration = "3s"\n').span.seconds == 3
    pings = f'{text}duration = "3s"\n[[flow]]\nkind = "ping"\ninterval = "1s"\ndatagrams = 5\n'
    assert parse_scenario(pings).span.seconds == 5
    assert '"tcp1"' in faults(f'{text}duration = "3s"\n[[flow]]\nbytes = "1MB"\n')["duration"].message


@pytest.mark.parametrize(
    ("text", "key", "says"),
    [
        ('duration = "1s"\n[[flow]]\n', "", "no topology"),
        (
            f'{GRAPH}[topology]\npreset = "star"\nrate = "1mbit"\nrtt = "1ms"\n{FLOW}',
            "link.1",
            "beside a preset",
        ),
        (GRAPH.replace('"m", "b"', '"m", "m"') + FLOW, "link.2.between", "to itself"),
        (GRAPH.replace('"m", "b"', '"m", "a"').replace("m", "m") + FLOW, "flow.tcp1.from", "needs it"),
        (GRAPH.replace('"m", "b"', '"a", "m"') + FLOW, "link.2.between", "already the name"),
        (GRAPH.replace('"m", "b"', '"c", "d"') + FLOW, "link.2.between", "no path"),
        (f'{GRAPH}[[node]]\nname = "x"\n{FLOW}', "node.x", "has no link"),
        (f'{GRAPH}[[node]]\nname = "a"\n[[node]]\nname = "a"\n{FLOW}', "node.a.name", "already the name"),
        (f'{GRAPH}[[link]]\nbetween = ["m", "c"]\n{FLOW}', "flow.tcp1.from", "hosts: a, b, c"),
        (GRAPH.replace('rate = "10mbit"', "") + FLOW, "link.1", "no link has a rate"),
        (f'{GRAPH}buffer = "10p"\n{FLOW}', "link.2.buffer", "no rate"),
        (f"{GRAPH}[link.forward]\nreorder = true\n{FLOW}", "link.2.forward.reorder", "no jitter"),
        (GRAPH, "", "no [[flow]]"),
    ],
)
def test_graphs(text: str, key: str, says: str) -> None:
    found = faults(text)
    assert says in f"{found[key].message} {found[key].hint}"


def test_a_preset_with_node_tables() -> None:
    node = '[[node]]\nname = "{}"\nsysctl.net.ipv4.tcp_sack = 0\n'
    assert scenario(node.format("s1")).node[0].sysctl == {"net.ipv4.tcp_sack": "0"}
    assert 'did you mean "left"' in (faults(BASE + node.format("lefd"))["node.lefd.name"].hint or "")


@pytest.mark.parametrize(
    ("lines", "key", "says"),
    [
        ("", "expect.1", "expects nothing"),
        ("min = 2\nmax = 1", "expect.1.min", "nothing can pass"),
        ("equals = 1\nmin = 0", "expect.1.equals", "beside"),
        ("min = 1\ntolerance = 1", "expect.1.tolerance", "no equals"),
        ('min = 1\nflow = "lon"', "expect.1.flow", "no flow"),
        ('min = 1\nwhere = {cc = "bbr"}', "expect.1.where.cc", "no factor"),
        ("min = 1\nwhere = {seed = 3}\n[sweep]\nseed = [1, 2]", "expect.1.where.seed", "no value"),
    ],
)
def test_expectations(lines: str, key: str, says: str) -> None:
    assert says in faults(f'{BASE}[[expect]]\nmetric = "goodput_bps"\n{lines}\n')[key].message


def test_only_the_cause_is_reported_not_its_consequences() -> None:
    broken = GRAPH.replace('["a", "m"]', '["a", 3]') + '[[flow]]\nfrom = "a"\nto = "b"\n'
    assert list(faults(broken)) == ["link.1.between.2"]
    assert list(faults(BASE.replace('kind = "x"', "") + 'duration = "5"\n')) == ["flow.long.duration"]


def test_a_factor_that_another_one_overrides_is_refused() -> None:
    both = '[sweep]\ncc = ["reno", "cubic"]\n"flow.long.cc" = ["bbr"]\n'
    assert "changes nothing" in faults(BASE + both)["sweep.cc"].message
    # Where there is another flow that the general factor still sets, both have a meaning.
    assert parse_scenario(BASE + FLOW + both).sweep.size == 2


FLOWS = (
    '[[flow]]\nname = "twins"\ncount = 2\n'
    '[[flow]]\nname = "short"\nsize = "10kB"\narrivals = { rate = "5/s" }\n'
)


@pytest.mark.parametrize("flow", ['"twins"', '["long", "twins", "twins.2"]'])
def test_copies_and_several_flows_may_be_expected_together(flow: str) -> None:
    text = f'{BASE}{FLOWS}[[expect]]\nmetric = "goodput_bps"\nflow = {flow}\nmin = 1\n'
    assert parse_scenario(text).expect[0].flow is not None


@pytest.mark.parametrize(
    ("more", "key", "says"),
    [
        ('metric = "godput_bps"\nmin = 1', "expect.1.metric", 'did you mean "goodput_bps"'),
        ('metric = "goodput_bps"\nflow = ["long", "twin"]\nmin = 1', "expect.1.flow", 'named "twin"'),
        ('metric = "goodput_bps"\nscope = "group:twins"\nmin = 1', "expect.1.scope", "flow, total"),
        ('metric = "goodput_bps"\nflow = "short"\nmin = 1', "expect.1.flow", "group:short"),
        ('metric = "goodput_bps"\nflow = "twins.3"\nmin = 1', "expect.1.flow", "no flow is named"),
        ('metric = "goodput_bps"\nflow = "long"\nscope = "total"\nmin = 1', "expect.1.scope", "beside flow"),
        ('metric = "utilization"\nflow = "long"\nmin = 1', "expect.1.flow", "not measured of single flows"),
    ],
)
def test_an_expectation_is_of_something_that_is_measured(more: str, key: str, says: str) -> None:
    found = faults(f"{BASE}{FLOWS}[[expect]]\n{more}\n")
    assert not (found and not key), found
    assert says in f"{found[key].message} {found[key].hint}"
    assert found[key].line is not None


def test_a_ping_is_no_larger_than_what_is_sent() -> None:
    found = faults(BASE + '[[flow]]\nname = "p"\nkind = "ping"\npacket = "65507B"\n')
    assert "65000B" in found["flow.p.packet"].message
    scenario('[[flow]]\nname = "p"\nkind = "ping"\npacket = "65000B"\n')


def test_netems_own_words_are_left_alone() -> None:
    words = "delay 5ms 1ms 25% distribution normal loss gemodel 1% 10% 70% 0.1% rate 1mbit -20"
    parse_scenario(BASE.replace("[[flow]]", f'netem = "{words}"\n[[flow]]'))


@pytest.mark.parametrize(
    ("lines", "key", "says"),
    [
        ('fastopen = true\nopen = "both"', "fastopen", "without a listener there is no Fast Open"),
        (
            'kind = "udp"\nrate = "1mbit"\nkeepalive = true',
            "keepalive",
            'a flow of kind "udp" has no keepalive',
        ),
        ('keepalive = true\nkeepalive_time = "1500ms"', "keepalive_time", '"1500ms" is not whole seconds'),
        ('keepalive = true\nkeepalive_interval = "0s"', "keepalive_interval", "1 to 32767"),
        ("keepalive_probes = 3", "keepalive_probes", "keepalive is off"),
        ("keepalive = true\nkeepalive_probes = 128", "keepalive_probes", "127"),
        ('user_timeout = "500us"', "user_timeout", '"500us" is not whole milliseconds'),
        ('user_timeout = "1500.5ms"', "user_timeout", "is not whole milliseconds"),
        ('kind = "rr"\nuser_timeout = "2s"', "user_timeout", 'a flow of kind "rr" has no user_timeout'),
        ('kind = "rr"\nfastopen = true', "fastopen", 'a flow of kind "rr" has no fastopen'),
        ('kind = "rr"\nclose = "reset"', "close", 'a flow of kind "rr" has no close'),
        ('open = "receiver"', "open", "sender"),
    ],
)
def test_how_a_connection_begins_and_ends(lines: str, key: str, says: str) -> None:
    fault = faults(f'{BASE}[[flow]]\nname = "f"\n{lines}\n')[f"flow.f.{key}"]
    assert says in f"{fault.message} {fault.hint}"
