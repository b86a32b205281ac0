"""Puts the static agent into the wheel.

Built wheels carry the agent as package data (`rushhour/_agent/x86_64/rushhour-agent`), so that a user
needs no Rust. An editable installation uses the one in the checkout.
"""

import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

AGENT = Path("agent/target/x86_64-unknown-linux-gnu/release/rushhour-agent")
INSIDE = "rushhour/_agent/x86_64/rushhour-agent"


class AgentHook(BuildHookInterface[Any]):
    """Builds the agent and names the platform it runs on."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Adds the agent to a standard wheel; leaves editable ones alone."""
        if self.target_name != "wheel" or version == "editable":
            return
        root = Path(self.root)
        subprocess.run(["cargo", "build", "--release", "--locked"], cwd=root / "agent", check=True)
        build_data["pure_python"] = False
        # Static, so it asks nothing of the C library.
        build_data["tag"] = "py3-none-manylinux_2_17_x86_64.musllinux_1_1_x86_64"
        build_data["force_include"][str(root / AGENT)] = INSIDE
