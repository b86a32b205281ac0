"""The notices of others whose work is in the wheel: of the agent's crates, of the libraries in it.

Their licences ask that these go with the program. `agent/NOTICES.md` is made by this and kept, so that a
wheel can be built without asking anybody.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rushhour.errors import RushHourError
from shipping.build import ROOT
from shipping.materials import crates

if TYPE_CHECKING:
    from collections.abc import Mapping

NOTICES = ROOT / "agent/NOTICES.md"
_HEAD = """\
# Notices

Made by `make locks`. The agent is one static program. In it are, besides its own code:

* these crates, each with its notice below;
* the standard library of Rust (MIT or Apache-2.0, The Rust Project Contributors);
* the GNU C Library (LGPL-2.1-or-later); `make agent` in the source links the agent again, with yours.
"""
# Of several licences to choose from, the shortest to carry.
_CHOICE = ("LICENSE-MIT", "LICENSE-MIT.txt", "LICENSE", "LICENSE.txt", "LICENSE-UNICODE", "COPYING")


def notices() -> str:
    """The notices of all crates in the agent, in Markdown.

    Raises:
        RushHourError: a crate says nothing of its licence.
    """
    return _HEAD + "".join(_notice(one) for one in crates()["packages"] if one["source"])


def _notice(crate: Mapping[str, Any]) -> str:
    folder = Path(crate["manifest_path"]).parent
    texts = [(folder / name).read_text().strip() for name in _CHOICE if (folder / name).is_file()]
    if not texts:
        raise RushHourError(f"the crate {crate['name']} has no licence with it", where=str(folder))
    unicode = [text for text in texts if "UNICODE LICENSE" in text.upper()]
    chosen = "\n\n".join(dict.fromkeys([texts[0], *unicode]))
    return f"\n## {crate['name']} {crate['version']}: {crate['license']}\n\n```\n{chosen}\n```\n"
