"""What iperf3 has no words for is a fault at the key."""

import pytest
from scenarios import faults, scenario

BY_IPERF3 = '[[flow]]\nname = "x"\ngenerator = "iperf3"\n'


@pytest.mark.parametrize(
    ("lines", "key", "says"),
    [
        ('kind = "ping"', "generator", '"ping" has no generator'),
        ('receiver_cc = "dctcp"', "receiver_cc", "iperf3 has no receiver_cc"),
        ('read_rate = "1mbit"', "read_rate", "iperf3 has no read_rate"),
        ("keepalive = true", "keepalive", "iperf3 has no keepalive"),
        ('user_timeout = "2s"', "user_timeout", "iperf3 has no user_timeout"),
        ("fastopen = true", "fastopen", "iperf3 has no fastopen"),
        ("zerocopy = true", "zerocopy", "iperf3 has no zerocopy"),
        ('open = "both"', "open", "iperf3 has no open"),
        ('close = "leave"', "close", "iperf3 has no close"),
        ('rcvbuf = "100kB"', "rcvbuf", "sndbuf and rcvbuf to one size"),
        ('message = "2MiB"', "message", "more than iperf3 takes"),
        ('kind = "udp"\nrate = "1mbit"\npacket = "15B"', "packet", "less than iperf3 takes"),
        ('duration = "1500ms"', "duration", "whole seconds, not for 1.5"),
        ('start = "300ms"', "generator", "whole seconds, not for 29.7"),
        ('bytes = "1MB"\nduration = "1s"', "duration", "by bytes or by time"),
    ],
)
def test_what_it_cannot_do(lines: str, key: str, says: str) -> None:
    base = 'duration = "30s"\n[topology]\npreset = "dumbbell"\nrate = "1mbit"\nrtt = "9ms"\n'
    found = faults(base + BY_IPERF3 + lines)
    assert says in found[f"flow.x.{key}"].message


@pytest.mark.parametrize(
    "lines",
    [
        "",
        'bytes = "1MB"\nstart = "300ms"',
        'cc = "reno"\nrate = "5mbit"\nmessage = "8KiB"\nmss = "1000B"\nnodelay = true\ndscp = 10',
        'sndbuf = "100kB"\nrcvbuf = "100kB"\npacing = "9mbit"',
        'kind = "udp"\nrate = "1mbit"\ndatagrams = 100\npacket = "500B"',
        'start = "500ms"\nduration = "3s"\ncount = 3',
    ],
)
def test_what_it_can(lines: str) -> None:
    assert scenario(BY_IPERF3 + lines).flow[1].generator == "iperf3"


def test_another_generator_is_answered_with_those_there_are() -> None:
    base = 'duration = "3s"\n[topology]\npreset = "dumbbell"\nrate = "1mbit"\nrtt = "9ms"\n'
    found = faults(base + '[[flow]]\ngenerator = "iperf"\n')
    assert "allowed: agent, iperf3" in str(found["flow.tcp1.generator"].hint)
