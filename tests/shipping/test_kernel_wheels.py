"""Kernels as packages: the same bytes anywhere, found once installed, the same as those built here."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import zipfile
from importlib.metadata import PathDistribution
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from little_tree import make_tree

from rushhour.cli import cli
from rushhour.errors import KernelError
from rushhour.lab import kernel as kernels
from rushhour.lab.kernel import store
from shipping import kernels as shipped

if TYPE_CHECKING:
    from collections.abc import Callable

    from rushhour.lab.kernel import Kernel

    Install = Callable[[Path], Path]


@pytest.fixture(autouse=True)
def private_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def source(folder: Path, release: str = "6.99.0") -> Path:
    """A little tree with the licences that every kernel has."""
    folder.parent.mkdir(exist_ok=True)
    tree = make_tree(folder)
    text = (tree / "Makefile").read_text().replace("echo 6.99.0", f"echo {release}")
    (tree / "Makefile").write_text(text)
    for name in shipped.LICENCES:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(f"{name}\n")
    return tree


def made(folder: Path, release: str = "6.99.0", name: str | None = None) -> Kernel:
    return kernels.build(str(source(folder, release)), name or folder.name)


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Installs wheels with pip where this process finds them; the folder is read-only afterwards."""
    site = tmp_path / "site"
    monkeypatch.syspath_prepend(str(site))

    def install(wheel: Path) -> Path:
        words = ["install", "-q", "--no-index", "--no-deps", "--target", str(site), str(wheel)]
        subprocess.run([sys.executable, "-m", "pip", "--disable-pip-version-check", *words], check=True)
        for path in [site, *site.rglob("*")]:
            path.chmod(path.stat().st_mode & 0o555)
        return site

    return install


def pack(kernel: Kernel, tree: Path, out: Path, contact: str = "") -> Path:
    return shipped.pack(kernel, tree, out, contact)


def test_an_installed_kernel_is_the_one_that_was_built(tmp_path: Path, install: Install) -> None:
    built = made(tmp_path / "a/k")
    wheel = pack(built, tmp_path / "a/k", tmp_path / "dist")
    kernels.remove("k", sources=True)
    site = install(wheel)
    (found,) = kernels.installed()
    assert found.identity == built.identity
    assert found.id == built.id
    assert found.image.is_relative_to(site)
    assert found.image.read_bytes() == built_image(wheel)
    assert os.access(found.image, os.X_OK)
    assert found.package is not None
    assert str(found.package) == "rushhour-kernel-6.99 6.99.0"
    assert kernels.default() == found
    for word in ("k", found.folder.name, found.id, found.origin()["source"]):
        assert kernels.find(word) == found


def built_image(wheel: Path) -> bytes:
    with zipfile.ZipFile(wheel) as file:
        return next(file.read(name) for name in file.namelist() if name.endswith("/linux"))


def test_what_was_built_here_goes_before_packages_and_the_latest_of_these_first(
    tmp_path: Path, install: Install
) -> None:
    for release in ("6.9.10", "6.12.9", "6.12.10"):
        name = f"p{release}"
        kernel = made(tmp_path / release / name, release)
        wheel = pack(kernel, tmp_path / release / name, tmp_path / release)
        kernels.remove(name)
        if release != "6.12.9":
            install(wheel)
    assert [one.release for one in kernels.installed()] == ["6.12.10", "6.9.10"]
    assert kernels.default().release == "6.12.10"
    aside = kernels.build(str(source(tmp_path / "b/step", "6.1.1")), aside=True)
    assert kernels.default().release == "6.12.10"
    made(tmp_path / "b/old", "6.1.2")
    assert kernels.default().release == "6.12.10"
    mine = made(tmp_path / "b/mine", "6.12.10")
    assert kernels.default() == mine
    assert [one.release for one in kernels.installed()] == ["6.12.10", "6.1.2", "6.1.1", "6.12.10", "6.9.10"]
    assert aside.package is None


def test_a_kernel_that_is_there_both_ways_is_there_once(tmp_path: Path, install: Install) -> None:
    built = made(tmp_path / "a/k")
    install(pack(built, tmp_path / "a/k", tmp_path / "dist"))
    assert kernels.installed() == [built]
    kernels.remove("k")
    (packaged,) = kernels.installed()
    assert packaged.package
    again = kernels.build(str(tmp_path / "a/k"), "k")  # is known: nothing is compiled
    assert again.origin()["objects"] == packaged.origin()["objects"]
    assert again.package is None
    assert kernels.installed() == [again]
    other = kernels.build(str(tmp_path / "a/k"), "other")
    assert other.identity == {**built.identity, "name": "other"}


def test_a_packages_kernel_is_removed_by_pip(tmp_path: Path, install: Install) -> None:
    kernel = made(tmp_path / "a/k")
    wheel = pack(kernel, tmp_path / "a/k", tmp_path / "dist")
    kernels.remove("k")
    site = install(wheel)
    with pytest.raises(KernelError, match=r"pip uninstall rushhour-kernel-6\.99"):
        kernels.remove("k")
    done = CliRunner().invoke(cli, ["kernel", "list"])
    assert "package" in done.stdout
    shown = json.loads(CliRunner().invoke(cli, ["kernel", "show", "k", "--json"]).stdout)
    assert shown["package"] == {"name": "rushhour-kernel-6.99", "version": "6.99.0"}
    assert "package rushhour-kernel-6.99" in CliRunner().invoke(cli, ["kernel", "show", "k"]).stdout
    identity = next(site.rglob("identity.json"))
    identity.chmod(0o644)
    identity.write_text("{")
    with pytest.raises(KernelError, match=r"pip install --force-reinstall rushhour-kernel-6\.99"):
        kernels.installed()


def test_a_package_that_is_half_gone_is_none(tmp_path: Path, install: Install) -> None:
    kernel = made(tmp_path / "a/k")
    wheel = pack(kernel, tmp_path / "a/k", tmp_path / "dist")
    kernels.remove("k")
    site = install(wheel)
    for path in [site, *site.rglob("*")]:
        path.chmod(0o755)
    shutil.rmtree(site / "rushhour_kernel_6_99")
    assert kernels.installed() == []


def test_the_same_kernel_gives_the_same_wheel_wherever_it_was_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source(tmp_path / "k")
    archive = tmp_path / "k.tar"
    subprocess.run(["tar", "-C", tmp_path, "-cf", archive, "k"], check=True)
    wheels = []
    for number, mask in enumerate((0o022, 0o077)):
        place = tmp_path / f"place-{number}"
        (place / "tmp").mkdir(parents=True)
        monkeypatch.setenv("XDG_CACHE_HOME", str(place / "cache"))
        monkeypatch.setenv("TMPDIR", str(place / "tmp"))
        monkeypatch.setenv("TZ", ["UTC", "Asia/Kolkata"][number])
        before = os.umask(mask)
        try:
            kernel = kernels.build(str(archive), "k")
            tree = store.cache("sources", kernel.origin()["key"])
            wheels.append(pack(kernel, tree, place / "dist"))
        finally:
            os.umask(before)
    assert wheels[0].name == wheels[1].name
    assert wheels[0].read_bytes() == wheels[1].read_bytes()


def test_a_wheel_says_what_it_holds(tmp_path: Path) -> None:
    kernel = made(tmp_path / "a/k")
    log = kernel.folder / "build.log"
    place = "/home/me/.cache/rushhour/sources/linux-source-6.99-0123456789ab"
    moved = f"make[1]: Entering directory '{place}'"
    log.write_text(f"debian:6.99\n{moved}\n  CC      z.o\n  CC      a.o\n{place}/x.c:1\n")
    wheel = pack(kernel, tmp_path / "a/k", tmp_path / "dist", "Ada L. <ada@example.org>")
    assert wheel.name == "rushhour_kernel_6_99-6.99.0-py3-none-manylinux_2_17_x86_64.musllinux_1_1_x86_64.whl"
    with zipfile.ZipFile(wheel) as file:
        names = {Path(name).name: name for name in file.namelist()}
        modes = {name: stat.S_IMODE(file.getinfo(place).external_attr >> 16) for name, place in names.items()}
        texts = {name: file.read(place).decode() for name, place in names.items()}
        dates = {entry.date_time for entry in file.infolist()}
    assert {"COPYING", "GPL-2.0", "um.config", "hz.Kconfig", "config", "identity.json"} <= names.keys()
    assert not {"linux.debug", "pyproject.toml"} & names.keys()
    assert texts["build.log"].splitlines() == [
        "  CC      a.o",
        "  CC      z.o",
        "SOURCES/x.c:1",
        "debian:6.99",
    ]
    assert "seconds" not in json.loads(texts["origin.json"])
    assert "Ask\nAda L. <ada@example.org>." in texts["SOURCE.md"]
    assert kernel.identity["source_sha256"] in texts["SOURCE.md"]
    assert "License-Expression: GPL-2.0-only AND LGPL-2.1-or-later" in texts["METADATA"]
    assert 'Author-email: "Ada L." <ada@example.org>' in texts["METADATA"]
    assert modes["linux"] == 0o755
    assert {mode for name, mode in modes.items() if name != "linux"} == {0o644}
    assert len(dates) == 1


def test_without_an_address_a_wheel_is_for_its_makers_use(tmp_path: Path) -> None:
    wheel = pack(made(tmp_path / "a/k"), tmp_path / "a/k", tmp_path / "dist")
    with zipfile.ZipFile(wheel) as file:
        text = next(file.read(name).decode() for name in file.namelist() if name.endswith("SOURCE.md"))
    assert "Do not pass it on" in text


@pytest.mark.parametrize(
    ("release", "version"), [("6.12.117", "6.12.117"), ("7.0.0-rc3", "7.0.0rc3"), ("6.1.0", "6.1.0")]
)
def test_versions_of_packages(release: str, version: str) -> None:
    assert shipped.version(release) == version


def test_a_release_that_is_no_version_is_refused() -> None:
    with pytest.raises(KernelError, match="cannot be the version"):
        shipped.version("6.12.0-my own")


def test_looking_for_kernels_runs_nothing_of_a_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    (site / "evil").mkdir(parents=True)
    (site / "evil/__init__.py").write_text("raise SystemExit('was run')\n")
    information = site / "evil-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Name: evil\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[rushhour.kernels]\n6.1 = evil\n")
    monkeypatch.syspath_prepend(str(site))
    assert PathDistribution(information).name == "evil"
    assert kernels.installed() == []
