"""A QUIC stack in Rust (quinn) in a virtual kernel: its own losses and timers, twice the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cpus
import pytest
from crates import quic

from rushhour.lab import kernel as kernels
from rushhour.lab.base import Job
from rushhour.lab.uml import UmlLab
from rushhour.plan import lower
from rushhour.record.record import Record
from rushhour.spec.load import parse_scenario

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.virtual, pytest.mark.crates]

RTT, RATE = 0.05, 10e6
BYTES, STREAMS = 50_000, 20
SCENARIO = """
duration = "60s"
topology = {{ preset = "dumbbell", rate = "10mbit", rtt = "50ms", buffer = "2bdp", loss = "{loss}" }}

[file]
"openssl.cnf" = "[req]\\ndistinguished_name = name\\n[name]\\n"
serve = '''#!/bin/sh
set -e
openssl req -x509 -newkey ed25519 -nodes -set_serial 1 -subj /CN=s1 -addext subjectAltName=DNS:s1 \
    -keyout key.pem -out cert.pem 2>/dev/null
exec {quic} serve s1:4433 cert.pem key.pem
'''

[[program]]
name = "server"
node = "s1"
command = "./serve"
files = ["serve", "openssl.cnf"]
needs = ["openssl", "{quic}"]
environment = {{ OPENSSL_CONF = "openssl.cnf" }}
ready = 4433

[[program]]
name = "page"
node = "r1"
command = "{quic} get s1:4433 /lab/server/cert.pem {bytes} {streams}"
after = "server"
until = "exit"
"""


def run(loss: str, place: Path) -> Record:
    text = SCENARIO.format(loss=loss, quic=quic(), bytes=BYTES, streams=STREAMS)
    lowered = lower(parse_scenario(text), 1)
    job = Job(lowered.plan, lowered.context, kernels.find("debian-6.12"), {})
    record = Record.open(UmlLab().run(job, place, cpus.own()))
    failed = {one.name: one.error for one in record.result.programs if one.error}
    assert not failed, [line.text for line in record.output()]
    return record


def took_s(record: Record) -> float:
    page = next(one for one in record.result.programs if one.name == "page")
    assert page.started_ns is not None
    assert page.ended_ns is not None
    return (page.ended_ns - page.started_ns) / 1e9


def test_a_page_of_streams_over_losses_by_quinn(tmp_path: Path) -> None:
    first, second = (run("1%", tmp_path / name) for name in ("first", "second"))
    assert first.manifest.files == second.manifest.files
    assert f"{BYTES * STREAMS} bytes on {STREAMS} streams" in [line.text for line in first.output()]
    opened, back = sorted(first.flows("udp"), key=lambda flow: flow.group)
    assert (opened.group, back.group) == ("page", "page.back")
    received = back.outcome.bytes_received
    assert received is not None
    assert BYTES * STREAMS < received < BYTES * STREAMS * 1.1, "with QUIC's headers and what was sent again"
    # The handshake, the request; and the rate. A loss costs no more than what was lost and a round trip.
    least = 2 * RTT + BYTES * STREAMS * 8 / RATE
    sound = took_s(run("0%", tmp_path / "sound"))
    assert least <= sound < least + 1
    assert sound < took_s(first) < sound + 5
