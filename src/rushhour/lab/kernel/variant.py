"""A source with something given beside it: a tree of its own, made of the source's and never in its place.

The tree begins as the source's by hard links, and each build brings it up to date by content. All that is
given as files to one source shares one tree, in which only what differs is compiled; patches have one for
each series, for they may touch what everything depends on.
"""

from __future__ import annotations

import hashlib
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.errors import KernelError
from rushhour.lab.kernel import diff, registered, sources
from rushhour.lab.kernel.given import FOLDER

if TYPE_CHECKING:
    from rushhour.lab.kernel.given import Given

_LONGEST_NAME = 60
_MAKEFILE = "net/Makefile"
_LINE = b"\nobj-y += with/\n"
# Where the kernel's own algorithms and queue disciplines are.
_OWN = {True: ("net/ipv4", "tcp_*.c"), False: ("net/sched", "sch_*.c")}


def of(base: sources.Source, given: Given) -> sources.Source:
    """The source that is `base` with what is given."""
    facts = dict(base.facts)
    if given.tops:
        facts["with_files"] = " ".join(given.tops)
    if given.sanitizers:
        facts["sanitizers"] = " ".join(given.sanitizers)
    if given.patches:
        facts["patches"] = " ".join(patch.name for patch in given.patches)
    series = " ".join(word for word in given.words if word.startswith("--patch"))
    where = hashlib.sha256(f"{Path.cwd()} {series}".encode()).hexdigest()[:12]
    return sources.Source(
        " ".join([base.spec, *given.words]),
        _name(base, given),
        "-".join([base.key, f"patched-{where}" if given.patches else "with", *given.sanitizers]),
        hashlib.sha256(f"{base.sha256} {given.sha256}".encode()).hexdigest(),
        facts,
        base=base,
        given=given,
        edits=partial(edits_of, given=given),
    )


def _name(base: sources.Source, given: Given) -> str:
    """`debian-6.12-mine` for tcp_mine.c; of several, and of patches, what they are called."""
    tops = [re.sub(r"^(?:tcp|sch)_|\.[ch]$", "", top) for top in given.tops if not top.endswith(".h")]
    patches = [re.sub(r"^\d+-|\.(?:patch|diff)$", "", patch.name) for patch in given.patches]
    words = re.sub(r"[^A-Za-z0-9._+-]+", "-", "-".join([base.name, *patches, *tops, *given.sanitizers]))
    return words[:_LONGEST_NAME].rstrip("-.")


def edits_of(tree: Path, given: Given) -> diff.Edits:
    """What becomes of the files of a source's tree, patches first, in their order.

    Raises:
        KernelError: a patch does not fit, or a name is one of the kernel's.
    """
    made: diff.Edits = {}

    def now(name: str) -> bytes | None:
        if name in made:
            return made[name].data
        path = tree / name
        return path.read_bytes() if path.is_file() and not path.is_symlink() else None

    for patch in given.patches:
        made |= diff.apply([*patch.changes], patch.name, now, sources.is_left_out)
    ours = given.files_of_ours()
    if not ours:
        return made
    if any((tree / FOLDER).glob("*")):
        raise KernelError(f"this source has a folder {FOLDER} of its own", where=str(tree))
    makefile = now(_MAKEFILE)
    if makefile is None:
        raise KernelError(f"this kernel source has no {_MAKEFILE}", where=str(tree))
    _check_names(tree, made, given)
    return made | ours | {_MAKEFILE: diff.Edit(makefile.rstrip(b"\n") + _LINE)}


def left_out(given: Given) -> list[str]:
    """The files of patches that no build reads, and that are passed over."""
    names = {change.name for patch in given.patches for change in patch.changes}
    return sorted(name for name in names if sources.is_left_out(name))


def _check_names(tree: Path, made: diff.Edits, given: Given) -> None:
    for is_algorithm, (folder, pattern) in _OWN.items():
        asked = [(file, name) for file, name in given.names if name.is_algorithm == is_algorithm]
        if not asked:
            continue
        there = {
            name.text: str(path.relative_to(tree))
            for path in sorted((tree / folder).glob(pattern))
            if not (edit := made.get(str(path.relative_to(tree)))) or edit.data is not None
            for name in registered.of(path.read_text(encoding="utf-8", errors="replace")).names
        }
        for file, name in asked:
            if name.text in there:
                what = "a congestion control" if is_algorithm else "a queue discipline"
                raise KernelError(
                    f'the kernel has {what} "{name.text}" already ({there[name.text]})',
                    where=f"{file.path}:{name.line}",
                    hint="give yours another name; to change the kernel's own: --patch FILE",
                )
