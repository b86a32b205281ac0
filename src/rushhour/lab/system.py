"""The system that a guest with programs of a scenario finds: what is the same whatever runs there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.lab.loading import BASELINE

if TYPE_CHECKING:
    from collections.abc import Mapping

LOADING = f"GLIBC_TUNABLES={BASELINE}\nLD_BIND_NOW=1\n"
"""How every program is loaded, so that it is in the same way on each processor."""
# What programs look for on any system; the agent fills in the names of the nodes.
SYSTEM: Mapping[str, str] = {
    # A home in which it may write; sshd and others give up root for users of these names.
    "etc/passwd": "root:x:0:0:root:/lab:/bin/sh\nsshd:x:22:65534:sshd:/run/sshd:/bin/false\n"
    "nobody:x:65534:65534:nobody:/nonexistent:/bin/false\n",
    "etc/group": "root:x:0:\nnogroup:x:65534:\n",
    "etc/hosts": "",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\nservices: files\nprotocols: files\n",
    "etc/resolv.conf": "",
    "etc/protocols": "ip 0 IP\nicmp 1 ICMP\ntcp 6 TCP\nudp 17 UDP\nipv6-icmp 58 IPv6-ICMP\n",
    "etc/services": "ssh 22/tcp\ndomain 53/tcp\ndomain 53/udp\nhttp 80/tcp\nhttps 443/tcp\nhttps 443/udp\n",
    "tools/environment": LOADING,
}
FOLDERS = ("lab", "run", "var", "tools")
# The agent mounts something there: what a program has in them here is a guest's below `/host`, and linked.
COVERED = {"lab", "run", "var", "tmp", "dev", "proc", "sys", "out", "trace"}
# Since Debian 12 these lie in /usr; a guest has each file once, and the other path leads there.
LINKS = {"bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib64": "usr/lib64"}


def in_guest(place: str) -> str:
    """The path of a file in such a guest, from its path on a system where `/bin` may be a folder."""
    first, _, rest = place.partition("/")
    if first in COVERED:
        return f"host/{place}"
    return f"{LINKS[first]}/{rest}" if rest and first in LINKS else place
