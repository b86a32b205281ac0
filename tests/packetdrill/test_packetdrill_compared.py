"""Scripts on two kernels: built, run, captured, compared; `tree/` is in packetdrill's stead."""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rushhour.cli.compare import compare
from rushhour.cli.packetdrill import packetdrill
from rushhour.errors import UsageError
from rushhour.lab import drill
from rushhour.packetdrill import packets

HERE = Path(__file__).parent
SOURCE = str(HERE / "tree")
pytestmark = pytest.mark.virtual


@pytest.fixture(autouse=True)
def _nothing_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(drill.VARIABLE, raising=False)


def compared(*words: str | Path) -> Result:
    options = ["--ip", "ipv4", "--source", SOURCE]
    return CliRunner().invoke(
        compare, [*options, *map(str, words)], catch_exceptions=False, standalone_mode=False
    )


def test_two_kernels_are_told_apart_at_the_first_packet(tmp_path: Path) -> None:
    one, other = (
        compared(
            "debian-6.1",
            "debian-6.12",
            "--packetdrill",
            HERE / "two",
            "--out",
            tmp_path / name,
            "--to",
            "tap",
        )
        for name in ("one", "other")
    )
    assert one.return_value == other.return_value == 1
    written = [(tmp_path / name / "packetdrill.json").read_text() for name in ("one", "other")]
    assert written[0] == written[1]
    document = json.loads(written[0])
    found = {case["script"]: case for case in document["scripts"]}
    assert {name: case["verdict"] for name, case in found.items()} == {
        "broken.pkt": "worse",
        "equal.pkt": "same",
        "later.pkt": "departs",
        "mended.pkt": "better",
    }
    assert document["verdict"] == "worse"
    assert document["packetdrill"]["source_sha256"]
    parted = found["later.pkt"]["divergence"]
    assert (parted["line"], parted["what"]) == (3, "20.000 ms later")
    assert parted["candidate_s"] - parted["base_s"] == pytest.approx(0.02, abs=2e-6)
    assert parted["base"].endswith("> udp (200)")
    assert "DEPARTS later.pkt (ipv4): both passed" in one.output
    assert "first at line 3: 20.000 ms later" in one.output
    assert "4 scripts: 1 worse, 1 departs, 1 better, 1 same" in one.output
    tap = (tmp_path / "one" / "results.tap").read_text()
    assert "not ok 3 later.pkt ipv4" in tap
    assert "# packetdrill.source_sha256: " in tap
    kept = {path.relative_to(tmp_path / "one").as_posix() for path in (tmp_path / "one").rglob("*.pcap")}
    assert len(kept) == 6  # of both sides, of what changed
    read = packets.read((tmp_path / "one/candidate/later.pkt-ipv4.pcap").read_bytes())
    assert [packet.text for packet in read] == ["udp (100)", "udp (200)", "udp (300)"]


def test_a_kernel_is_the_same_as_itself(tmp_path: Path) -> None:
    result = compared(
        "debian-6.1", "debian-6.1", "--packetdrill", HERE / "two/equal.pkt", "--out", tmp_path / "a"
    )
    assert result.return_value == 0
    assert "1 script: 1 same" in result.output
    assert not list(tmp_path.rglob("*.pcap"))


def test_what_fails_alike_is_the_same(tmp_path: Path) -> None:
    script = tmp_path / "unknown.pkt"
    script.write_text("+0 > udp (1)  // 6.: fail\n")
    result = compared("debian-6.1", "debian-6.12", "--packetdrill", script, "--out", tmp_path / "out")
    assert result.return_value == 0
    assert "1 same" in result.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--quick"], "--quick says nothing about packetdrill's scripts"),
        (["--seeds", "3"], "--seeds says nothing"),
        (["--minimum", "5%"], "with --packetdrill it is a time"),
    ],
)
def test_what_says_nothing_of_scripts_is_refused(words: list[str], said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused:
        compared("debian-6.1", "debian-6.1", "--packetdrill", HERE / "two", "--out", tmp_path / "x", *words)
    assert said in str(refused.value)


def test_a_folder_is_no_kernel_and_words_of_scripts_want_scripts(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="both sides are kernels"):
        compared(tmp_path, "debian-6.1", "--packetdrill", HERE / "two")
    with pytest.raises(UsageError, match="for packetdrill's scripts"):
        compared("debian-6.1", "debian-6.1")


def test_the_source_in_whose_tree_scripts_lie_is_built(tmp_path: Path) -> None:
    script = tmp_path / "gtests/net/tcp/one.pkt"
    script.parent.mkdir(parents=True)
    script.write_text("+0 > udp (10)\n")
    folder = tmp_path / drill.INSIDE
    shutil.copytree(HERE / "tree" / drill.INSIDE, folder)
    result = CliRunner().invoke(
        packetdrill, [str(script), "--kernel", "debian-6.12", "--ip", "ipv4"], catch_exceptions=False,
        standalone_mode=False,
    )  # fmt: skip
    assert result.return_value == 0, result.output
    assert ": it passed; " in result.output


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("exit 0", "it passes a script that no kernel can keep"),
        ("exit 1", "but: packetdrill said nothing"),
        ("cat proof.pkt; exit 1", "but: 0 close"),
        ("echo proof.pkt:2: syntax error; exit 1", "but: syntax error"),
        ("exec sleep 1000", "but: it was not done after 300 s"),
    ],
)
def test_what_is_no_packetdrill_is_named(program: str, said: str, tmp_path: Path) -> None:
    binary = tmp_path / "drill"
    binary.write_text(f"#!/bin/sh\n{program}\n")
    binary.chmod(0o755)
    words = [str(HERE / "two/equal.pkt"), "--kernel", "debian-6.12", "--ip", "ipv4", "--binary", str(binary)]
    with pytest.raises(UsageError) as refused:
        CliRunner().invoke(packetdrill, words, catch_exceptions=False, standalone_mode=False)
    assert refused.value.where == str(binary)
    assert refused.value.message.startswith("this program is no packetdrill: ")
    assert said in refused.value.message
