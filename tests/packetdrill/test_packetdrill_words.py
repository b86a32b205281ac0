"""What `rushhour packetdrill` refuses, before anything runs."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from rushhour.cli.packetdrill import packetdrill
from rushhour.errors import UsageError

SCRIPT = Path(__file__).parent / "data/handshake.pkt"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--binary", "/no/such/program"], "no such file"),
        ([], "none is in PATH"),
        (["--source", "/no/such/tree"], "no such file"),
        (["--source", str(SCRIPT.parent)], "no source of packetdrill"),
        (["--source", "x", "--binary", str(SCRIPT)], "one of them is enough"),
        (["--binary", str(SCRIPT), "--tolerance", "soon"], "--tolerance"),
        (["--binary", str(SCRIPT), "--tolerance", "100ns"], "whole microseconds"),
    ],
)
def test_a_wrong_word_is_refused(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("RUSHHOUR_PACKETDRILL", raising=False)
    monkeypatch.setattr("rushhour.lab.kernel.default", lambda: None)
    with pytest.raises(UsageError, match=said):
        CliRunner().invoke(packetdrill, [str(SCRIPT), *words], catch_exceptions=False, standalone_mode=False)
