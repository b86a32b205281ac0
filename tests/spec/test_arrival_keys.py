"""Arrivals, sizes and on/off sources: what makes no sense is said at the key to blame."""

import pytest
from scenarios import BASE, faults, scenario

from rushhour.quantities.units import Frequency, UnitError

MICE = """\
[[flow]]
name = "mice"
"""


@pytest.mark.parametrize(
    ("lines", "key", "says"),
    [
        ('arrivals = { rate = "5/s" }', "flow.mice.arrivals", "without size"),
        ('size = "1kB"', "flow.mice.size", "without arrivals"),
        ('arrivals = { }\nsize = "1kB"', "flow.mice.arrivals", "neither rate nor load"),
        ('arrivals = { rate = "5/s", load = 0.1 }\nsize = "1kB"', "flow.mice.arrivals", "both"),
        ('arrivals = { rate = "0/s" }\nsize = "1kB"', "flow.mice.arrivals.rate", "nothing would arrive"),
        ('arrivals = { load = 0.0 }\nsize = "1kB"', "flow.mice.arrivals.load", "greater than 0"),
        ('arrivals = { rate = "5" }\nsize = "1kB"', "flow.mice.arrivals.rate", "no unit"),
        ('arrivals = { rate = "1000/s" }\nsize = "1kB"', "flow.mice.arrivals.rate", "about 30000 flows"),
        ('arrivals = { rat = "5/s" }\nsize = "1kB"', "flow.mice.arrivals.rat", 'did you mean "rate"'),
        ('arrivals = { process = "posson" }\nsize = "1kB"', "flow.mice.arrivals.process", '"poisson"'),
        ('arrivals = { rate = "5/s", on = "1s" }\nsize = "1kB"', "flow.mice.arrivals.on", "no meaning"),
        (
            'arrivals = { process = "on-off", rate = "5/s", on = "1s" }\nsize = "1kB"',
            "flow.mice.arrivals.off",
            "is missing",
        ),
        ('arrivals = { rate = "5/s" }\nsize = "0B"', "flow.mice.size.mean", 'not between "1B"'),
        ('arrivals = { rate = "5/s" }\nsize = "lots"', "flow.mice.size.mean", "not a size"),
        ('arrivals = { rate = "5/s" }\nsize = "1kB"\nbytes = "1kB"', "flow.mice.bytes", "beside arrivals"),
        (
            'arrivals = { rate = "5/s" }\nsize = { distribution = "pareto", mean = "1kB", shape = 1.0 }',
            "flow.mice.size.shape",
            "has no mean",
        ),
        (
            'arrivals = { rate = "5/s" }\nsize = { distribution = "pareto", mean = "1kB" }',
            "flow.mice.size.shape",
            "is missing",
        ),
        (
            'arrivals = { rate = "5/s" }\nsize = { distribution = "exponential", mean = "9kB", max = "1kB" }',
            "flow.mice.size.max",
            "not above the mean",
        ),
        (
            'arrivals = { rate = "5/s" }\nsize = { distribution = "websearch", mean = "1kB" }',
            "flow.mice.size.mean",
            "has its own",
        ),
        (
            'arrivals = { rate = "5/s" }\nsize = {distribution = "table", table = [["2B", 0.5], ["1B", 1]]}',
            "flow.mice.size.table",
            "do not ascend",
        ),
        (
            'arrivals = { rate = "5/s" }\nsize = { distribution = "table", table = [["1kB", 0.5]] }',
            "flow.mice.size.table",
            "not at 1",
        ),
        ('on = "1s"\nrate = "1mbit"', "flow.mice.on", "without off"),
        ('on = "1s"\noff = "1s"', "flow.mice.on", "needs the rate"),
        ('on = "1s"\noff = "0s"\nrate = "1mbit"', "flow.mice.off", "is zero"),
        ('kind = "udp"\nrate = "1mbit"\nburst = 0', "flow.mice.burst", "greater than or equal to 1"),
        ("burst = 3", "flow.mice.burst", '"udp"'),
        (
            'kind = "udp"\nrate = "1mbit"\narrivals = { rate = "1/s" }\nsize = "1kB"',
            "flow.mice.size",
            '"tcp"',
        ),
    ],
)
def test_what_makes_no_sense(lines: str, key: str, says: str) -> None:
    found = faults(f"{BASE}{MICE}{lines}\n")
    assert key in found, found
    assert says in f"{found[key].message} {found[key].hint}"


def test_arrivals_need_a_duration_and_names_of_their_own() -> None:
    lines = f'{MICE}arrivals = {{ rate = "5/s" }}\nsize = "1kB"\n'
    assert (
        "no end of its own" in faults(f"{BASE}{lines}".replace('duration = "30s"\n', ""))["duration"].message
    )
    assert "already the name" in faults(f'{BASE}[[flow]]\nname = "mice.3"\n{lines}')["flow.mice.name"].message


def test_keys_within_a_flow_can_vary_and_be_set() -> None:
    lines = f'{MICE}arrivals = {{ load = 0.1 }}\nsize = {{ distribution = "exponential", mean = "1kB" }}\n'
    found = scenario(
        f'{lines}[sweep]\n"flow.mice.arrivals.load" = [0.5, 0.9]\n', sets=("flow.mice.size.mean=2kB",)
    )
    assert found.flow[1].arrivals is not None
    assert found.flow[1].size is not None
    assert str(found.flow[1].size.mean) == "2kB"
    assert "flow.mice.arrivals.load" in found.sweep.root


@pytest.mark.parametrize(
    ("word", "per_s", "text"), [("50/s", 50, "50/s"), ("3/ms", 3000, "3000/s"), ("30/min", 0.5, "0.5/s")]
)
def test_frequencies(word: str, per_s: float, text: str) -> None:
    assert Frequency.parse(word).per_s == per_s
    assert str(Frequency.parse(word)) == text
    assert Frequency.parse(text) == Frequency.parse(word)


@pytest.mark.parametrize("word", ["50", "50s", "50/parsec", "-1/s", "0.00001/s", "50hz"])
def test_no_frequencies(word: str) -> None:
    with pytest.raises(UnitError):
        Frequency.parse(word)
