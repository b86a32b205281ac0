"""What a system lacks, in its own words: one table, read by Python and by the shell."""

import ast
import os
import re
import subprocess
from pathlib import Path

import pytest

from rushhour.lab import packages

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts/packages"
RELEASES = {
    "debian 12": "ID=debian\nVERSION_CODENAME=bookworm\nPRETTY_NAME='Debian GNU/Linux 12 (bookworm)'\n",
    "debian 13": 'ID=debian\nVERSION_CODENAME=trixie\nPRETTY_NAME="Debian GNU/Linux 13 (trixie)"\n',
    "ubuntu 24.04": 'ID=ubuntu\nID_LIKE=debian\nVERSION_CODENAME=noble\nNAME="Ubuntu"\n',
    "mint 22": 'ID=linuxmint\nID_LIKE="ubuntu debian"\nVERSION_CODENAME=wilma\nUBUNTU_CODENAME=noble\n',
    "fedora": "NAME=Fedora\nID=fedora\nVERSION_ID=42\n",
    "rocky": 'ID="rocky"\nID_LIKE="rhel centos fedora"\nVERSION_ID="9.6"\n',
    "arch": "ID=arch\n",
    "alpine": "ID=alpine\n",
    "tumbleweed": 'ID="opensuse-tumbleweed"\nID_LIKE="opensuse suse"\n',
    "nixos": "ID=nixos\n",
}
# A word that a person would type to install something; the table's own files are where they belong.
COMMAND = re.compile(
    r"\b(apt-get|apt|dnf|yum|zypper|microdnf) +(-\S+ +)*(install|add)\b|\bpacman +-S|\bapk +add"
)


def nothing(_program: str) -> None:
    return None


def system(name: str) -> packages.System:
    return packages.described(RELEASES[name], nothing)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("debian 12", "apt-get install gcc libc6-dev iproute2 cargo-web rustc-web"),
        ("debian 13", "apt-get install gcc libc6-dev iproute2 cargo rustc"),
        ("ubuntu 24.04", "apt-get install gcc libc6-dev iproute2 cargo-1.85 rustc-1.85"),
        ("mint 22", "apt-get install gcc libc6-dev iproute2 cargo-1.85 rustc-1.85"),
        ("fedora", "dnf install gcc glibc-static iproute-tc cargo rust"),
        ("rocky", "dnf install gcc glibc-static iproute-tc cargo rust"),
        ("arch", "pacman -Syu --needed gcc glibc iproute2 rust"),
        ("alpine", "apk add gcc musl-dev linux-headers iproute2-tc cargo rust"),
        ("tumbleweed", "zypper install gcc glibc-devel-static iproute2 cargo rust"),
        ("nixos", "nix-shell -p gcc glibc.static iproute2 cargo rustc"),
    ],
)
def test_a_system_is_asked_for_its_own_packages(name: str, words: str) -> None:
    assert system(name).command("gcc", "libc.a", "tc", "rust") == words


def test_an_old_python_has_a_newer_one_beside_it() -> None:
    assert system("rocky").names("python") == ["python3.12"]
    assert system("fedora").names("python") == ["python3"]


@pytest.mark.parametrize("name", RELEASES)
def test_the_shell_reads_the_same_table(name: str, tmp_path: Path) -> None:
    (tmp_path / "os-release").write_text(RELEASES[name])
    environment = os.environ | {"OS_RELEASE": str(tmp_path / "os-release")}

    def said(*words: str) -> str:
        done = subprocess.run([SCRIPT, *words], env=environment, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    needs = packages.needs()
    assert said("manager") == system(name).manager
    assert said("names", *needs).split() == system(name).names(*needs)
    assert said("lacking", *needs).split() == system(name).lacking(*needs)
    assert said("install", *needs) == system(name).command(*needs, unasked=True)


@pytest.mark.parametrize("program", ["apt-get", "dnf", "pacman", "apk", "zypper"])
def test_a_system_of_no_name_is_known_by_its_manager(program: str) -> None:
    found = packages.described("", lambda name: name == program)
    assert found.manager is not None
    assert str(found.command("gcc")).startswith(program)


def test_where_no_manager_is_known_the_need_itself_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "here", lambda: packages.described("ID=own\n", nothing))
    assert packages.command("gcc") is None
    assert packages.advice("gcc", "libc.a") == "install gcc, libc.a, as this system does it"


def test_what_a_system_has_no_package_of_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "here", lambda: system("ubuntu 24.04"))
    monkeypatch.setattr(packages, "_privilege", lambda _words: "sudo ")
    assert packages.advice("chromium") == "Ubuntu has no package of chromium"
    assert packages.advice("tc", "chromium") == (
        "sudo apt-get install iproute2; Ubuntu has no package of chromium"
    )


def test_root_is_needed_and_how_it_is_had_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(packages, "here", lambda: system("debian 13"))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert packages.advice("tc") == "as root: apt-get install iproute2"
    (tmp_path / "sudo").touch(0o755)
    assert packages.advice("tc") == "sudo apt-get install iproute2"
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert packages.advice("tc") == "apt-get install iproute2"


def test_the_scripts_ask_only_for_what_the_table_has() -> None:
    setup = (ROOT / "scripts/setup").read_text()
    asked = {word for line in re.findall(r"^ *need ([a-z].*)$", setup, re.MULTILINE) for word in line.split()}
    asked |= set(re.findall(r"lacking\+=\(([a-z].*?)\)", setup))
    assert {"gcc", "rust", "chromium"} < asked <= set(packages.needs())


def test_no_other_place_knows_how_packages_are_installed() -> None:
    places = [ROOT / "scripts", ROOT / "src", ROOT / "agent/src", ROOT / "mutants", ROOT / "benchmarks"]
    files = [path for place in places for path in place.rglob("*") if path.is_file()]
    files += [ROOT / "Makefile", ROOT / "hatch_build.py", ROOT / "tests/conftest.py"]
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in files
        if path != packages.TABLE and path.suffix not in {".pyc", ".png"}
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines()
        if COMMAND.search(line)
    ]
    assert found == []


def test_an_error_that_asks_for_a_package_points_to_doctor() -> None:
    """An error whose hint is what this machine lacks says that the machine is at fault."""
    silent = []
    for path in (ROOT / "src/rushhour").rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(call, ast.Call) or not ast.unparse(call.func).endswith("Error"):
                continue
            given = {word.arg: ast.unparse(word.value) for word in call.keywords}
            if "packages.advice" in given.get("hint", "") and given.get("machine") != "True":
                silent.append(f"{path.name}:{call.lineno}")
    assert silent == []
