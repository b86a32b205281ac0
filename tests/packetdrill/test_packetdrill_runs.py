"""Own scripts in virtual kernels: the same outcome each time, with the line and both packets.

packetdrill itself is in no package index that this project installs from, and none of it is here: where its
program or source can be had (`RUSHHOUR_PACKETDRILL`, or `packetdrill` in PATH), these run.
`test_packetdrill_compared.py` needs neither.
"""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rushhour.cli.packetdrill import packetdrill
from rushhour.lab import kernel as kernels
from rushhour.lab.kernel import host

DATA = Path(__file__).parent / "data"
pytestmark = [pytest.mark.virtual, pytest.mark.packetdrill]


def run(*words: str | Path) -> Result:
    found = [one for one in kernels.installed() if one.identity.get("host_sha256") == host.sha256()]
    assert found, "no kernel is linked with these host functions: make kernels"
    options = ["--kernel", found[0].id]
    return CliRunner().invoke(
        packetdrill, [*options, *map(str, words)], catch_exceptions=False, standalone_mode=False
    )


def test_a_script_that_the_kernel_keeps_passes_between_all_addresses(tmp_path: Path) -> None:
    run(DATA / "handshake.pkt", "--ip", "ipv4")  # what is said of a build is said now
    first, second = (run(DATA / "handshake.pkt", "--tolerance", "50us", "--json") for _ in range(2))
    assert first.return_value == 0, first.output
    assert first.output == second.output
    whole = json.loads(first.output)
    assert [one["addresses"] for one in whole["scripts"]] == ["ipv4", "ipv6", "mapped"]
    assert len(whole["packetdrill"]["sha256"]) == 64


def test_a_failure_has_its_line_and_both_packets(tmp_path: Path) -> None:
    tap, junit = tmp_path / "out.tap", tmp_path / "out.xml"
    result = run(DATA, "--ip", "ipv4", "--tap", tap, "--junit", junit)
    assert result.return_value == 1
    assert "too-late.pkt:7 (ipv4)" in result.output
    assert "1 of 2 passed; failed: time 1" in result.output
    text = tap.read_text()
    assert "ok 1 handshake.pkt ipv4" in text
    assert "not ok 2 too-late.pkt ipv4" in text
    assert "# expected " in text
    assert "# actual " in text
    failure = ET.parse(junit).find(".//failure")
    assert failure is not None
    assert "too-late.pkt:7" in (failure.text or "")
