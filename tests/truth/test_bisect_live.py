"""Bisecting the kernel itself: of sixteen commits one changes how CUBIC backs off, one does not compile."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from rushhour.cli import cli
from rushhour.lab import kernel as kernels

pytestmark = pytest.mark.virtual

CUBIC, VEGAS = "net/ipv4/tcp_cubic.c", "net/ipv4/tcp_vegas.c"
BAD, BROKEN = 11, 8
# tcp_cubic.c: after a loss the window is beta/1024 of what it was (RFC 9438, section 4.6: 0.7).
BETA, HALF = "beta __read_mostly = 717;", "beta __read_mostly = 512;"
SCENARIO = """
title = "Back-off"
question = "How far does CUBIC back off?"
duration = "3s"
[topology]
preset = "dumbbell"
rate = "10mbit"
rtt = "40ms"
buffer = "0.5bdp"
[[flow]]
name = "long"
cc = "cubic"
"""


def git(repository: Path, *words: str, text: bytes | None = None) -> str:
    done = subprocess.run(["git", "-C", repository, *words], check=True, capture_output=True, input=text)
    return done.stdout.decode().strip()


def commits(repository: Path) -> list[str]:
    """Sixteen commits over the packaged source, always the same ones; no branch is left."""
    files = {name: git(repository, "show", f"main:{name}") + "\n" for name in (CUBIC, VEGAS)}
    stream = []
    for place in range(1, 17):
        name = VEGAS if place % 3 == 0 else CUBIC
        # Behind the last line, so that no line of code moves and most images are equal.
        files[name] += f"/* change {place} */\n"
        if place == BAD:
            files[CUBIC] = files[CUBIC].replace(BETA, HALF)
        if place in (BROKEN, BROKEN + 1):
            line = "int broken = nonsense;\n"
            files[CUBIC] = files[CUBIC] + line if place == BROKEN else files[CUBIC].replace(line, "")
        text = f"change {place}"
        stream += ["commit refs/heads/bisect-test", f"mark :{place}"]
        stream += [
            f"committer A Person <a@example.org> {1767225600 + place} +0000",
            f"data {len(text)}",
            text,
        ]
        stream += [f"from {'refs/heads/main^0' if place == 1 else f':{place - 1}'}"]
        for path, content in files.items():
            stream += [f"M 100644 inline {path}", f"data {len(content.encode())}", content]
    git(repository, "fast-import", "--quiet", "--force", text="\n".join([*stream, ""]).encode())
    names = git(repository, "rev-list", "--reverse", "main..bisect-test").splitlines()
    git(repository, "update-ref", "-d", "refs/heads/bisect-test")
    return names


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Path, list[str]]]:
    repository = kernels.repository("debian:6.12")
    names = commits(repository)
    monkeypatch.chdir(tmp_path)
    Path("backoff.toml").write_text(SCENARIO)
    yield repository, names
    for one in kernels.installed():
        if one.name.removeprefix("bisect-") in {name[:12] for name in names}:
            kernels.remove(one.folder.name)


def test_the_commit_that_changed_cubic_is_found(history: tuple[Path, list[str]]) -> None:
    repository, names = history
    words = [
        "--tree",
        str(repository),
        "--good",
        "main",
        "--bad",
        names[-1],
        "--minimum",
        "1%",
        "--out",
        "out",
    ]
    done = CliRunner().invoke(cli, ["bisect", "backoff.toml", "utilization", *words, "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["answer"]["hash"] == names[BAD - 1]
    assert found["answer"]["files"] == [CUBIC]
    assert found["verdict"] == "worse"
    skipped = {step["commit"]: step["reason"] for step in found["steps"] if step["decision"] == "skip"}
    assert "nonsense" in skipped[names[BROKEN - 1]]
    # 0.7 and 0.5 of a window: what the first decision that differs is about.
    assert "ssthresh" in found["divergence"]["differs"]
    assert found["metric"]["bad"] < found["metric"]["good"]
    assert not kernels.default().name.startswith("bisect-")
