"""What a release is made of, each as a component of a bill of materials."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tomllib
import zipfile
from hashlib import sha256
from importlib import metadata
from typing import TYPE_CHECKING, Any

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.component import Component, ComponentType
from packageurl import PackageURL
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from rushhour.lab.kernel import process
from shipping.build import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from cyclonedx.model.license import License

    from rushhour.lab.kernel import Kernel

    Needs = Mapping[str, Sequence[str]]

AGENT = "rushhour/_agent/x86_64/rushhour-agent"
"""The agent in the wheel."""
# Folders of what the pages load; each has a README that begins with name and version.
_SCRIPTS = {
    "src/rushhour/report/assets/uplot": ("uplot", "MIT"),
    "src/rushhour/web/static/htmx": ("htmx.org", "0BSD"),
}


def part(
    kind: ComponentType, name: str, version: str | None = None, licence: str | None = None, **more: Any
) -> Component:
    """A component; `sha256` is of its contents, `purl` says where it is from, `ref` how others name it."""
    digest, purl = more.pop("sha256", None), more.pop("purl", None)
    return Component(
        type=kind,
        name=name,
        version=version,
        bom_ref=more.pop("ref", None) or (purl or f"{name}@{version}" if version else name),
        licenses=_licences(licence),
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=digest)] if digest else [],
        purl=PackageURL.from_string(purl) if purl else None,
        **more,
    )


def _licences(words: str | None) -> list[License]:
    return [LicenseFactory().make_from_string(words)] if words else []


def file(path: Path) -> Component:
    """A file of the release."""
    return part(ComponentType.FILE, path.name, sha256=sha256(path.read_bytes()).hexdigest())


def agent(wheel: Path) -> tuple[list[Component], Needs]:
    """The agent in a wheel, first, then its crates; and what needs what, by reference."""
    told = crates()
    locked = tomllib.loads((ROOT / "agent/Cargo.lock").read_text())["package"]
    sums = {(one["name"], one["version"]): one.get("checksum") for one in locked}
    made: dict[str, Component] = {}
    for one in told["packages"]:
        name, version, licence = one["name"], one["version"], one["license"].replace("/", " OR ")
        if one["source"]:
            checksum = sums[name, version]
            purl = f"pkg:cargo/{name}@{version}"
            made[one["id"]] = part(ComponentType.LIBRARY, name, version, licence, sha256=checksum, purl=purl)
        else:
            with zipfile.ZipFile(wheel) as packed:
                digest = sha256(packed.read(AGENT)).hexdigest()
            about = f"made by {cargo('version').strip()}"
            program = part(
                ComponentType.APPLICATION, name, version, licence, sha256=digest, description=about
            )
            made = {one["id"]: program, **made}
    needs = {
        str(made[node["id"]].bom_ref): [str(made[one].bom_ref) for one in node["dependencies"]]
        for node in told["resolve"]["nodes"]
    }
    return [*made.values()], needs


def crates() -> Any:
    """What cargo tells of the crates in the agent. The lock has those for other machines, too."""
    machines = [f"--filter-platform={machine}-unknown-linux-gnu" for machine in ("x86_64", "aarch64")]
    return json.loads(cargo("metadata", "--format-version", "1", "--locked", *machines))


def cargo(*words: str) -> str:
    """What cargo answers in the agent's folder."""
    own = ROOT / "scripts/cargo"  # finds a cargo that is new enough
    program = str(own) if own.exists() else "cargo"
    return subprocess.run(
        [program, *words], cwd=ROOT / "agent", check=True, stdout=subprocess.PIPE, text=True
    ).stdout


def scripts() -> Iterator[Component]:
    """What the pages load, unchanged from npm."""
    for folder, (name, licence) in _SCRIPTS.items():
        version = (ROOT / folder / "README.md").read_text().split(maxsplit=3)[2]
        yield part(ComponentType.LIBRARY, name, version, licence, purl=f"pkg:npm/{name}@{version}")


def packages() -> tuple[list[Component], Needs]:
    """The Python packages that Rush Hour needs, at the versions of the lock; and what needs what."""
    made: dict[str, Component] = {}
    needs: dict[str, list[str]] = {}
    waiting = ["rushhour"]
    while waiting:
        name = waiting.pop()
        found = metadata.distribution(name)
        wanted = [str(canonicalize_name(one)) for one in _required(found.requires or [])]
        if name != "rushhour":
            made[name] = part(
                ComponentType.LIBRARY, name, found.version, purl=f"pkg:pypi/{name}@{found.version}"
            )
        needs[name] = wanted
        waiting += [one for one in wanted if one not in needs and one not in waiting]
    reference = {name: str(one.bom_ref) for name, one in made.items()} | {"rushhour": "rushhour"}
    return [*made.values()], {
        reference[name]: [reference[one] for one in wanted] for name, wanted in needs.items()
    }


def _required(words: Sequence[str]) -> Iterator[str]:
    for word in words:
        wanted = Requirement(word)
        if wanted.marker is None or wanted.marker.evaluate({"extra": ""}):
            yield wanted.name


def kernel(one: Kernel) -> tuple[Component, Component]:
    """A kernel, and the source that it is made of."""
    facts = one.identity["source"]
    name, version = str(facts.get("package", "linux")), str(facts.get("version", one.release))
    purl = f"pkg:deb/debian/{name}@{version.replace('~', '%7E')}?arch=all" if "package" in facts else None
    image = part(
        ComponentType.OPERATING_SYSTEM, "linux", one.release, "GPL-2.0-only WITH Linux-syscall-note",
        sha256=one.identity["image_sha256"], ref=f"linux-{one.release}-{one.id}",
        description=f"a User-Mode Linux image, made by {one.identity['compiler']}",
    )  # fmt: skip
    origin = part(
        ComponentType.FILE, name, version, "GPL-2.0-only WITH Linux-syscall-note",
        sha256=one.identity["source_sha256"], purl=purl,
        description="the source, unchanged: the hash is of the tarball in the package",
    )  # fmt: skip
    return image, origin


def library() -> Component:
    """The C library that is linked into what is static, as this machine has it."""
    version = (os.confstr("CS_GNU_LIBC_VERSION") or "glibc unknown").partition(" ")[2]
    query = ["dpkg-query", "--show", "--showformat=${Version}", "libc6-dev"]
    packaged = process.answer(query, default="").strip()
    purl = f"pkg:deb/debian/libc6-dev@{re.sub('[~+]', _escaped, packaged)}" if packaged else None
    return part(ComponentType.LIBRARY, "glibc", packaged or version, "LGPL-2.1-or-later", purl=purl)


def _escaped(found: re.Match[str]) -> str:
    return f"%{ord(found[0]):02X}"
