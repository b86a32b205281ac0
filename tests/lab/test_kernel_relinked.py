"""A kernel that was linked of changed objects, as a mutant is: no command builds it, and none is named."""

from __future__ import annotations

import hashlib
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from rushhour.cli import cli
from rushhour.debug import core
from rushhour.debug.script import Asked
from rushhour.errors import KernelError
from rushhour.lab import boot
from rushhour.lab import kernel as kernels
from rushhour.lab.kernel import store
from rushhour.record.document import read
from rushhour.record.manifest import Kernel

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = "debian:6.12@6.12.117-1"


@pytest.fixture
def mutant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> kernels.Kernel:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "linux").write_text("a mutant's image")
    identity: dict[str, object] = {
        "name": "mutant-x", "release": "6.12.117", "hz": 1000, "missing": [], "compiler": "gcc",
        "source": {"kind": "debian", "package": "linux-source-6.12", "version": "6.12.117-1", "mutant": "x"},
        "source_sha256": "a" * 64, "config_sha256": "b" * 64, "host_sha256": "c" * 64,
        "image_sha256": hashlib.sha256((tmp_path / "linux").read_bytes()).hexdigest(),
    }  # fmt: skip
    origin: dict[str, object] = {"relinked": "mutant-x of debian-6.12", "aside": True}
    files = {"linux": tmp_path / "linux", "config": tmp_path / "linux"}
    return store.save("mutant-x", identity, "d" * 64, origin, files)


def test_it_is_not_found_by_the_source_of_its_base(mutant: kernels.Kernel) -> None:
    assert kernels.find("mutant-x") == mutant
    for name in (SOURCE, "None"):
        with pytest.raises(KernelError, match="there is no kernel"):
            kernels.find(name)


def test_it_is_shown_by_what_it_was_linked_of(
    mutant: kernels.Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(boot, "boot", lambda _: SimpleNamespace(seconds=0.1))
    done = CliRunner().invoke(cli, ["kernel", "show", mutant.name])
    assert done.exit_code == 0, done.output
    assert "build     relinked: mutant-x of debian-6.12" in done.output


@pytest.mark.parametrize("build", [False, True])
def test_for_gdb_nothing_is_named_that_cannot_be_built(
    mutant: kernels.Kernel, tmp_path: Path, build: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    one: Any = SimpleNamespace(
        path=tmp_path, kernel=read(Kernel, mutant.identity, "manifest.json"), begin_ns=0, failed=""
    )
    monkeypatch.setattr(core, "again", lambda *_, **__: one)
    with pytest.raises(KernelError, match="no source to build it from") as refused:
        core.debug(tmp_path, Asked(build=build))
    assert "linked of changed objects, as mutant-x of debian-6.12" in refused.value.message
    assert refused.value.hint is not None
    assert refused.value.hint.endswith("\nrushhour kernel build TREE --with symbols")
