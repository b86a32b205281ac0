"""Faulty cells by the number: a seeded generator of paths that have one cause of trouble, or two.

`fault(number)` gives the same cell every time: rate, RTT, buffer, queue and algorithm are drawn first, then
the causes, each of which changes the scenario's document so that it matters on this path.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rushhour.spec import toml

if TYPE_CHECKING:
    from collections.abc import Callable

PACKETS = 12_000
"""About as many packets of data a cell has at most: what bounds the time of a run."""
FRAME = 1514 * 8


@dataclass(frozen=True)
class Fault:
    """A cell: its number, the names of its causes, the scenario as TOML."""

    number: int
    causes: tuple[str, ...]
    text: str


class Cell:
    """A scenario in the making. `rate` in bit/s, `rtt` in s; `path` is the topology's table."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.rate: float = draw.choice([1, 2, 4, 8, 16, 30, 60, 100]) * 1e6
        self.rtt: float = draw.choice([5, 10, 20, 40, 80, 150, 250]) * 1e-3
        # A path that is filled within a tenth of the time, so that not only slow start is seen.
        while self.packets_in_flight > PACKETS / 30 or self.rate * 30 * self.rtt / FRAME > PACKETS:
            self.rate /= 2
        self.duration = max(3.0, min(10.0, PACKETS * FRAME / self.rate), 30 * self.rtt)
        self.path: dict[str, Any] = {
            "preset": "dumbbell",
            "rate": f"{self.rate / 1e6:g}mbit",
            "rtt": f"{self.rtt * 1e3:g}ms",
        }
        buffer = draw.choice([None, "1bdp", "2bdp", "100p", "60ms"])
        if buffer:
            self.path["buffer"] = buffer
        self.path["queue"] = draw.choice(["fifo", "fifo", "fifo", "codel", "fq_codel", "pie", "fq"])
        self.bulk: dict[str, Any] = {"name": "bulk", "cc": draw.choice(["cubic", "cubic", "reno", "bbr"])}
        self.others: list[dict[str, Any]] = []
        self.sysctl: dict[str, Any] = {}
        self.links: list[dict[str, Any]] = []

    @property
    def packets_in_flight(self) -> float:
        return self.rate * self.rtt / FRAME

    @property
    def bdp(self) -> int:
        """In bytes."""
        return int(self.rate * self.rtt / 8)

    def part(self, low: float = 0.1, high: float = 0.6) -> float:
        """How much of what the path needs a cause leaves."""
        return self.draw.uniform(low, high)

    def beside(self, **flow: Any) -> None:
        """Another flow, on a pair of its own."""
        self.others.append(flow)
        self.path["pairs"] = 1 + len(self.others)

    def text(self) -> str:
        """The scenario."""
        document: dict[str, Any] = {
            "title": "Faulty",
            "question": "Why is this flow slow?",
            "duration": f"{self.duration:g}s",
        }
        document |= {"link": self.links} if self.links else {"topology": self.path}
        document["flow"] = [self.bulk, *self.others]
        if self.sysctl:
            document["sysctl"] = self.sysctl
        return toml.dumps(document)


def _rcvbuf(cell: Cell) -> None:
    cell.bulk["rcvbuf"] = f"{max(4096, int(cell.part() * cell.bdp))}B"


def _sndbuf(cell: Cell) -> None:
    cell.bulk["sndbuf"] = f"{max(8192, int(cell.part() * cell.bdp))}B"


def _rmem(cell: Cell) -> None:
    most = max(8192, int(2 * cell.part() * cell.bdp))
    cell.sysctl["net.ipv4.tcp_rmem"] = f"4096 {min(most, 65536)} {most}"


def _wmem(cell: Cell) -> None:
    most = max(16384, int(2 * cell.part() * cell.bdp))
    cell.sysctl["net.ipv4.tcp_wmem"] = f"4096 16384 {most}"


def _unscaled(cell: Cell) -> None:
    cell.sysctl["net.ipv4.tcp_window_scaling"] = 0


def _writer(cell: Cell) -> None:
    cell.bulk["rate"] = f"{int(cell.part(0.1, 0.8) * cell.rate)}bit"


def _reader(cell: Cell) -> None:
    cell.bulk["read_rate"] = f"{int(cell.part(0.1, 0.8) * cell.rate)}bit"


def _pacing(cell: Cell) -> None:
    cell.bulk["pacing"] = f"{int(cell.part(0.1, 0.8) * cell.rate)}bit"


def _loss(cell: Cell) -> None:
    cell.path["loss"] = f"{cell.draw.choice([0.1, 0.3, 1, 2, 5])}%"


def _ack_loss(cell: Cell) -> None:
    cell.path["reverse_loss"] = f"{cell.draw.choice([1, 5, 20])}%"


def _without_sack(cell: Cell) -> None:
    cell.sysctl["net.ipv4.tcp_sack"] = 0
    cell.path.setdefault("loss", "1%")


def _shallow(cell: Cell) -> None:
    cell.path["buffer"] = f"{cell.draw.choice([3, 5, 10, 20])}p"
    cell.path["queue"] = "fifo"


def _bloat(cell: Cell) -> None:
    cell.path["buffer"] = f"{cell.draw.choice([200, 400, 800])}ms"
    cell.path["queue"] = "fifo"


def _policer(cell: Cell) -> None:
    part = cell.part(0.3, 0.8)
    burst = cell.draw.choice([8_000, 20_000, 60_000])
    cell.path["police"] = {"rate": f"{int(part * cell.rate)}bit", "burst": f"{burst}B"}


def _rival(cell: Cell) -> None:
    cell.beside(name="rival", cc=cell.draw.choice(["cubic", "bbr", "reno", "vegas"]))
    cell.bulk["cc"] = cell.draw.choice(["cubic", "reno", "vegas"])


def _rivals(cell: Cell) -> None:
    cell.beside(name="rival", count=cell.draw.choice([2, 4]), cc="cubic")


def _far(cell: Cell) -> None:
    cell.beside(name="near")
    del cell.path["rtt"]
    near = max(2.0, 1e3 * cell.rtt / cell.draw.choice([3, 6, 10]))
    cell.path["rtts"] = [f"{1e3 * cell.rtt:g}ms", f"{near:g}ms"]
    cell.bulk["cc"] = cell.draw.choice(["cubic", "reno"])


def _udp(cell: Cell) -> None:
    cell.beside(name="video", kind="udp", rate=f"{int(cell.part(0.2, 0.8) * cell.rate)}bit")


def _short(cell: Cell) -> None:
    cell.bulk["bytes"] = f"{max(3000, int(cell.part(0.3, 3) * cell.bdp))}B"


def _syn(cell: Cell) -> None:
    cell.path["drop"] = list(range(cell.draw.choice([1, 2])))
    cell.duration = max(cell.duration, 6.0)


def _tail(cell: Cell) -> None:
    cell.bulk["bytes"] = "20kB"
    cell.path["drop"] = list(range(2, 14))


def _marks(cell: Cell) -> None:
    cell.bulk["ecn"] = True
    cell.path["queue"] = "codel ecn target 1ms interval 4ms"


def _vegas(cell: Cell) -> None:
    cell.bulk["cc"] = "vegas"


def _at_sender(cell: Cell) -> None:
    cell.path["shape_at"] = "sender"


def _room(rate: float, time_ms: int) -> str:
    """A buffer of so many ms, of four packets at least."""
    return f"{max(time_ms, int(1e3 * 4 * FRAME / rate))}ms"


def _access_line(cell: Cell) -> None:
    """An access line that is much slower upwards, full in both directions; the download is `bulk`."""
    up = cell.rate / cell.draw.choice([5, 10, 20])
    there = {"rate": f"{int(up)}bit", "buffer": _room(up, cell.draw.choice([200, 500, 1000]))}
    back = {"rate": f"{int(cell.rate)}bit", "buffer": _room(cell.rate, cell.draw.choice([50, 100, 300]))}
    one_way = f"{1e3 * cell.rtt / 2:g}ms"
    cell.links = [
        {"between": ["home", "isp"], "forward": there, "reverse": back},
        {"between": ["isp", "server"], "delay": one_way},
    ]
    cell.bulk |= {"from": "server", "to": "home", "cc": cell.draw.choice(["cubic", "reno"])}
    if cell.draw.random() < 0.3:
        upload: dict[str, Any] = {"name": "up", "kind": "udp", "rate": f"{int(1.2 * up)}bit"}
    else:
        upload = {"name": "up", "count": cell.draw.choice([1, 1, 2])}
    cell.others = [{**upload, "from": "home", "to": "server"}]
    cell.duration = max(cell.duration, 6.0)


def _busy_way_back(cell: Cell) -> None:
    """The other direction of a path is full of somebody else's transfer."""
    back = cell.rate / cell.draw.choice([1, 4, 10])
    cell.path["reverse_rate"] = f"{int(back)}bit"
    cell.path["reverse_buffer"] = _room(back, cell.draw.choice([200, 400]))
    cell.path["reverse_queue"] = "fifo"
    cell.path["pairs"] = 2
    cell.others.append({"name": "back", "from": "r2", "to": "s2"})


CAUSES: dict[str, Callable[[Cell], None]] = {
    "rcvbuf": _rcvbuf,
    "sndbuf": _sndbuf,
    "rmem": _rmem,
    "wmem": _wmem,
    "unscaled": _unscaled,
    "writer": _writer,
    "reader": _reader,
    "pacing": _pacing,
    "loss": _loss,
    "ack_loss": _ack_loss,
    "no_sack": _without_sack,
    "shallow": _shallow,
    "bloat": _bloat,
    "policer": _policer,
    "rival": _rival,
    "rivals": _rivals,
    "far": _far,
    "udp": _udp,
    "short": _short,
    "syn": _syn,
    "tail": _tail,
    "marks": _marks,
    "vegas": _vegas,
    "at_sender": _at_sender,
    "busy_way_back": _busy_way_back,
    "access_line": _access_line,
}
"""Name → what makes a cell suffer from it. One that replaces the whole path comes last."""
HOSTS = ("rcvbuf", "sndbuf", "rmem", "wmem", "unscaled", "writer", "reader", "pacing")


ALONE = (
    {"rival", "rivals"},
    {"far", "rival"},
    {"far", "rivals"},
    {"far", "udp"},
    {"far", "busy_way_back"},
    {"udp", "busy_way_back"},
    {"rivals", "busy_way_back"},
    {"rival", "busy_way_back"},
    {"shallow", "bloat"},
    {"shallow", "marks"},
    {"bloat", "marks"},
)
"""Pairs of causes that do not go together: they set the same key, or need the same pair of hosts."""


def causes(number: int) -> tuple[str, ...]:
    """The causes of this number's cell: every other one has two."""
    draw = random.Random(f"causes {number}")
    names = list(CAUSES)
    first = names[number // 2 % len(names)]
    others = [*HOSTS, "loss", "shallow", "bloat", "udp", "policer", "rivals", "busy_way_back"]
    if first == "access_line":
        others = list(HOSTS)
    fitting = [name for name in others if name != first and {name, first} not in ALONE]
    found = [first, draw.choice(fitting)] if number % 2 else [first]
    return tuple(sorted(found, key=names.index))


def fault(number: int, without: str = "") -> Fault:
    """The cell of this number; the same path `without` one of its causes."""
    found = causes(number)
    cell = Cell(random.Random(f"path {number}"))
    for name in found:
        # Every cause draws for itself: what one draws does not depend on whether another is there.
        cell.draw = random.Random(f"{name} {number}")
        if name != without or name == "access_line":
            CAUSES[name](cell)
    if without == "access_line":
        cell.others = []
    return Fault(number, found, cell.text())
