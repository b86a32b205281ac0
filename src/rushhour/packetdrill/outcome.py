"""What came of a script, from what packetdrill wrote."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from rushhour.lab.commands import Ended
    from rushhour.packetdrill.scripts import Script

Status = Literal["pass", "fail", "error"]
Class = Literal[
    "", "packet", "time", "call", "assertion", "setting", "program", "script", "newer", "hang", "crash"
]

CLASSES: dict[Class, str] = {
    "packet": "a packet is not as the script says, or did not come",
    "time": "a packet or a call came at another time than the script says",
    "call": "a system call answered otherwise than the script says",
    "assertion": "an assertion in the script's Python does not hold",
    "setting": "the kernel lacks a setting, an option or a device that the script uses",
    "program": "the script calls a program or a Python module that the guest has not",
    "script": "packetdrill does not understand the script",
    "newer": "packetdrill expects fields of tcp_info that this kernel has not: take one as old as the kernel",
    "hang": "it was not done in its time",
    "crash": "packetdrill itself was ended by a signal, or could not begin",
}
"""How a script can fail, in words."""

# `fr-4pkt.pkt:27: error handling packet: …`
_FAULT = re.compile(r"^(?P<file>[^:\n]*\.pkt):(?P<line>\d+): (?P<what>.+)$", re.MULTILINE)
_PACKET = re.compile(r"^(script|actual) packet: +(.+)$", re.MULTILINE)
# What packetdrill says of each packet with --verbose.
_SEEN = re.compile(r"^(?:outbound sniffed|inbound injected) packet: +([0-9.]+) ", re.MULTILINE)
_SETTING = re.compile(
    r"cannot stat /proc/sys\S+|/proc/sys\S*: No such file|unknown key \S+|Protocol not available|"
    r"Operation not supported|Protocol not supported|RTNETLINK answers: .*|[Qq]disc kind is unknown|"
    r"Failed to \w+ AF_ALG socket.*"
)
_PROGRAM = re.compile(r"sh: \d+: (\S+): not found|(\S+): command not found|No module named '(\S+)'")


@dataclass(frozen=True)
class Outcome:
    """What came of one script between one kind of addresses.

    `line` is the failing line of the script (0: none is named), `reason` what packetdrill says of it,
    `expected` and `actual` the script's packet and the kernel's. `took_s` is virtual time, `output` all that
    was written.
    """

    script: Script
    variant: str
    status: Status
    kind: Class = ""
    line: int = 0
    reason: str = ""
    expected: str = ""
    actual: str = ""
    took_s: float = 0.0
    output: str = ""
    capture: bytes = b""
    first_ns: int | None = None

    @property
    def name(self) -> str:
        """`fast_retransmit/fr-4pkt.pkt (ipv4)`."""
        return f"{self.script.path} ({self.variant})"


def judge(script: Script, variant: str, ended: Ended) -> Outcome:
    """The outcome of a script that was run."""
    seen = _SEEN.search(ended.output)
    first_ns = round(float(seen[1]) * 1e9) if seen else None
    return replace(_judged(script, variant, ended), capture=ended.packets, first_ns=first_ns)


def _judged(script: Script, variant: str, ended: Ended) -> Outcome:
    if ended.exit == 0 and not ended.late:
        return Outcome(script, variant, "pass", took_s=ended.took_s, output=ended.output)
    fault = _fault(script, ended.output)
    line = int(fault["line"]) if fault else 0
    packets = dict(_PACKET.findall(ended.output))
    reason = fault["what"] if fault else _last(ended.output)
    kind: Class
    if ended.late:
        kind, reason = "hang", f"it was not done after {ended.took_s:.0f} s of virtual time"
    elif ended.signal is not None:
        kind, reason = "crash", reason or f"packetdrill was ended by signal {ended.signal}"
        reason = f"signal {ended.signal}: {reason}"
    else:
        kind = _kind(reason, ended.output)
    return Outcome(
        script,
        variant,
        "error" if kind in ("crash", "program") else "fail",
        kind,
        line,
        _told(kind, reason, ended.output),
        packets.get("script", ""),
        packets.get("actual", ""),
        ended.took_s,
        ended.output,
    )


def _fault(script: Script, output: str) -> re.Match[str] | None:
    """The first complaint about the script itself; warnings of other files do not count."""
    found = [one for one in _FAULT.finditer(output) if one["file"].endswith(script.file)]
    return next((one for one in found if "warning" not in one["what"]), None)


def _last(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1] if lines else "packetdrill said nothing"


# What decides the class, the first that is found in what packetdrill complains of.
_SIGNS: tuple[tuple[str, Class], ...] = (
    (r"timing error", "time"),
    (r"error in Python code", "assertion"),
    (r"sizeof\(struct _tcp_info\)", "newer"),
    (r"^(?:syntax error|semantic error|parse error|unexpected end|invalid )", "script"),
    (rf"error executing|non-zero status|{_SETTING.pattern}", "setting"),
    (r"runtime error", "call"),
)


def _kind(reason: str, output: str) -> Class:
    if _PROGRAM.search(output):
        return "program"
    return next((kind for sign, kind in _SIGNS if re.search(sign, reason)), "packet")


def _told(kind: Class, reason: str, output: str) -> str:
    if kind == "assertion":
        # The traceback's end: the assertion and what was raised.
        lines = [line.strip() for line in output.splitlines() if line.strip()]
        return ": ".join([reason, *lines[-2:]]) if len(lines) > 1 else reason
    if kind in ("program", "setting"):
        found = (_PROGRAM if kind == "program" else _SETTING).search(output)
        return f"{reason}: {found[0]}" if found and found[0] not in reason else reason
    return reason
