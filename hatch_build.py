"""Puts the static agent into the wheel.

Built wheels carry the agent as package data (`rushhour/_agent/x86_64/rushhour-agent`), so that a user
needs no Rust. An editable installation uses the one in the checkout.
"""

import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

AGENT = Path("agent/target/x86_64-unknown-linux-gnu/release/rushhour-agent")
INSIDE = "rushhour/_agent/x86_64/rushhour-agent"
_NO_CARGO = 127


def _advice(root: Path) -> str:
    sys.path.insert(0, str(root / "src"))
    from rushhour.lab import packages  # noqa: PLC0415 - of the tree that is built

    return (
        "Rush Hour's agent is written in Rust: building it takes cargo 1.85 or newer.\n"
        f"  {packages.advice('rust', 'libc.a')}\n"
        "  or install a wheel, which has the agent in it; or Rust from https://rustup.rs"
    )


class AgentHook(BuildHookInterface[Any]):
    """Builds the agent and names the platform it runs on."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Adds the agent to a standard wheel; leaves editable ones alone."""
        if self.target_name != "wheel" or version == "editable":
            return
        root = Path(self.root)
        # Its standard output is the path, which pip would show.
        command = [root / "scripts/agent"]
        if code := subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode:
            # An exit, not an error: pip would show a page of its own calls instead of the words.
            sys.exit(
                _advice(root) if code == _NO_CARGO else "Rush Hour's agent could not be built; see above."
            )
        build_data["pure_python"] = False
        # Static, so it asks nothing of the C library.
        build_data["tag"] = "py3-none-manylinux_2_17_x86_64.musllinux_1_1_x86_64"
        build_data["force_include"][str(root / AGENT)] = INSIDE
