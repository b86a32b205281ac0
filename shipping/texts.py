"""The texts that go with what is given out: how to install it, where a kernel's source is, by whose offer."""

from __future__ import annotations

from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from rushhour.lab.kernel.training import TRAINED

if TYPE_CHECKING:
    from rushhour.lab.kernel import Kernel

_HERE = Path(__file__).parent


def source_text(kernel: Kernel, offered_by: str) -> str:
    """What a kernel is made of, where its source is, and how to make it again; in Markdown."""
    identity = kernel.identity
    libc = str(identity["compiler"]).rpartition(", ")[2]
    return filled(
        "source",
        release=kernel.release,
        folder=kernel.folder.name,
        image_sha256=identity["image_sha256"],
        libc=libc,
        origin=_origin(kernel),
        source_sha256=identity["source_sha256"],
        command=f"rushhour kernel build {_spec(kernel)} --from-nothing{_how(kernel)}",
        compiler=identity["compiler"],
        offer=filled("offer", contact=offered_by) if offered_by else filled("no-offer"),
    )


def filled(name: str, **words: object) -> str:
    """A text of this folder with its words filled in."""
    return Template((_HERE / f"{name}.md").read_text(encoding="utf-8").strip()).substitute(words)


def _spec(kernel: Kernel) -> str:
    facts = kernel.identity["source"]
    if facts["kind"] == "debian":
        return f"debian:{str(facts['package']).removeprefix('linux-source-')}@{facts['version']}"
    return str(kernel.origin()["source"])


def _how(kernel: Kernel) -> str:
    """What has to be said so that the same image comes out: that a kernel was trained."""
    return " --train" if TRAINED in kernel.identity else ""


def _origin(kernel: Kernel) -> str:
    facts = kernel.identity["source"]
    if facts["kind"] == "debian":
        package, version = facts["package"], facts["version"]
        return (
            f"The tarball in the Debian package `{package}`, version `{version}`: it is at "
            f"<https://deb.debian.org/debian/pool/main/l/linux/> as long as Debian ships it, and at "
            f"<https://snapshot.debian.org/> afterwards."
        )
    words = ", ".join(f"{key} `{value}`" for key, value in facts.items())
    return f"{words[0].upper()}{words[1:]}."
