"""What a release says of itself: checksums, the lock of kernels, the bill of materials."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
import zipfile
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from rushhour.lab.kernel import Kernel
from shipping import materials, notices, release
from shipping.bill import bill
from shipping.build import ROOT, build

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ("rushhour-0.1.0-py3-none-any.whl", "rushhour_kernel_6_12-6.12.117-py3-none-any.whl")


@pytest.fixture
def wheels(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / name for name in NAMES]
    for path in paths:
        with zipfile.ZipFile(path, "w") as file:
            file.writestr(materials.AGENT, path.name)
    return paths


def kernel(folder: Path) -> Kernel:
    identity = {
        "name": "debian-6.12",
        "release": "6.12.117",
        "source": {"kind": "debian", "package": "linux-source-6.12", "version": "6.12.117-1~deb12u1"},
        "source_sha256": "5" * 64,
        "image_sha256": "6" * 64,
        "compiler": "gcc 12.2.0, GNU ld 2.40, glibc 2.36",
    }
    place = folder / "debian-6.12-0123456789ab"
    return Kernel("debian-6.12", place / "linux", "6.12.117", identity, place / "config")


def test_the_checksums_are_those_that_sha256sum_checks(wheels: list[Path], tmp_path: Path) -> None:
    release.sums(tmp_path)
    check = ["sha256sum", "--check", "--strict", "SHA256SUMS"]
    done = subprocess.run(check, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [f"{name}: OK" for name in NAMES]
    wheels[1].write_bytes(b"another")
    assert subprocess.run(check, cwd=tmp_path, capture_output=True, check=False).returncode == 1


def test_the_lock_of_kernels_is_one_that_pip_takes(wheels: list[Path], tmp_path: Path) -> None:
    (tmp_path / "kernels.lock").write_text(release.lock(wheels[1:]))
    digest = sha256(wheels[1].read_bytes()).hexdigest()
    expected = f"rushhour-kernel-6.12==6.12.117 \\\n    --hash=sha256:{digest}\n"
    assert (tmp_path / "kernels.lock").read_text() == expected


def test_the_bill_names_everything_that_is_inside(wheels: list[Path], tmp_path: Path) -> None:
    text = bill(wheels, [kernel(tmp_path)])
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    whole = json.loads(text)
    parts = {one["name"]: one for one in whole["components"]}
    crates = tomllib.loads((ROOT / "agent/Cargo.lock").read_text())["package"]
    # The lock holds crates for other systems, too; what is compiled in is what cargo's tree has.
    words = ("tree", "--locked", "-e", "normal", "--prefix", "none")
    tree = materials.cargo(*words, "--target", "x86_64-unknown-linux-gnu")
    inside = {line.split()[0] for line in tree.splitlines() if line}
    assert {"rushhour-agent", "serde", "libc"} <= inside <= parts.keys()
    assert not {name for name in parts if name.startswith("windows")}
    assert parts["serde"]["purl"].startswith("pkg:cargo/serde@")
    locked = next(one for one in crates if one["name"] == "serde")
    assert parts["serde"]["hashes"] == [{"alg": "SHA-256", "content": locked["checksum"]}]
    assert parts["rushhour-agent"]["hashes"][0]["content"] == sha256(NAMES[0].encode()).hexdigest()
    assert parts["linux"]["hashes"][0]["content"] == "6" * 64
    source = parts["linux-source-6.12"]
    assert source["purl"] == "pkg:deb/debian/linux-source-6.12@6.12.117-1~deb12u1?arch=all"
    assert source["hashes"][0]["content"] == "5" * 64
    assert {"uplot", "htmx.org", "glibc", "numpy", "arro3-core", "typing-extensions", *NAMES} <= parts.keys()
    assert not {"pyarrow", "scipy", "pytest", "hatchling"} & parts.keys()
    without = [name for name, one in parts.items() if not one.get("purl") and one["type"] == "library"]
    assert without in ([], ["glibc"])


def test_the_bill_says_what_needs_what(wheels: list[Path], tmp_path: Path) -> None:
    whole = json.loads(bill(wheels, [kernel(tmp_path)]))
    references = [whole["metadata"]["component"]["bom-ref"], *(one["bom-ref"] for one in whole["components"])]
    needs = {one["ref"]: one.get("dependsOn", []) for one in whole["dependencies"]}
    assert sorted(references) == sorted(needs)
    assert {one for wanted in needs.values() for one in wanted} <= set(references)
    names = {one["bom-ref"]: one["name"] for one in whole["components"]}
    image = next(reference for reference, name in names.items() if name == "linux")
    assert sorted(names[one] for one in needs[image]) == ["glibc", "linux-source-6.12"]
    reached, waiting = set(), ["rushhour"]
    while waiting:
        reached.add(one := waiting.pop())
        waiting += [other for other in needs[one] if other not in reached]
    assert reached == set(references)


def test_the_same_release_has_the_same_bill(wheels: list[Path], tmp_path: Path) -> None:
    first = bill(wheels, [kernel(tmp_path)])
    assert bill(wheels, [kernel(tmp_path / "elsewhere")]) == first
    with zipfile.ZipFile(wheels[0], "a") as file:
        file.writestr("more", "more")
    other = bill(wheels, [kernel(tmp_path)])
    numbers = [json.loads(text)["serialNumber"] for text in (first, other)]
    assert numbers[0] != numbers[1]


def test_the_locks_of_this_checkout_have_a_hash_for_everything() -> None:
    for name in ("requirements.lock", "requirements-test.lock"):
        entries = re.split(r"\n(?=[a-z])", (ROOT / name).read_text())[1:]
        assert len(entries) > 20
        assert all(re.match(r"[a-z0-9.-]+==\S+", entry) and "--hash=sha256:" in entry for entry in entries)
    locked = [set(re.findall(r"^([a-z0-9.-]+)==", (ROOT / name).read_text(), re.MULTILINE))
              for name in ("requirements.lock", "requirements-test.lock")]  # fmt: skip
    assert not locked[0] & locked[1]
    assert not {"pyarrow", "scipy", "ruptures", "pandas", "pytest"} & locked[0]


def test_the_notices_are_of_the_crates_that_are_locked() -> None:
    assert notices.NOTICES.read_text() == notices.notices()
    assert "Permission is hereby granted" in notices.NOTICES.read_text()


def test_the_wheel_carries_all_notices(tmp_path: Path) -> None:
    with zipfile.ZipFile(build(ROOT, tmp_path)) as file:
        carried = {name.partition("/licenses/")[2] for name in file.namelist() if "/licenses/" in name}
    assert {"LICENSE", "agent/NOTICES.md"} < carried
    assert sum(name.endswith(("uplot/LICENSE", "htmx/LICENSE")) for name in carried) == 2


def test_a_kernel_of_an_index_is_taken_by_its_hash_only() -> None:
    lines = [line for line in (ROOT / "kernels.lock").read_text().splitlines() if not line.startswith("#")]
    names = [line for line in lines if "==" in line]
    assert all(re.fullmatch(r"rushhour-kernel-[0-9.]+==[0-9.a-z]+ \\", line) for line in names)
    assert sum("--hash=sha256:" in line for line in lines) >= len(names)


def test_the_agents_compiler_is_told_everything_that_cargo_tells(tmp_path: Path) -> None:
    """The script before it adds one word, and drops nothing: not the variables that shells cannot name."""
    wrapper = tomllib.loads((ROOT / "agent/.cargo/config.toml").read_text())["build"]["rustc-wrapper"]
    probe = tmp_path / "a compiler"
    probe.write_text('#!/usr/bin/env bash\nprintf "%s\\n" "$@"\nenv | grep ^CARGO_BIN_EXE\n')
    probe.chmod(0o755)
    environment = {
        "PATH": "/usr/bin:/bin",
        "CARGO_BIN_EXE_rushhour-agent": "/target/agent",
        "CARGO_MANIFEST_DIR": "/home/me/.cargo/registry/src/x/serde-1.0",
        "CARGO_PKG_NAME": "serde",
        "CARGO_PKG_VERSION": "1.0",
    }
    done = subprocess.run(
        [ROOT / "agent" / wrapper, probe, "--edition=2021", "a b.rs"],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.splitlines() == [
        "--edition=2021",
        "a b.rs",
        "--remap-path-prefix=/home/me/.cargo/registry/src/x/serde-1.0=/serde-1.0",
        "CARGO_BIN_EXE_rushhour-agent=/target/agent",
    ]
