"""Whether what a finding says is the sentence of its cause."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rushhour.causes.table import CAUSES

if TYPE_CHECKING:
    from rushhour.causes.finding import Finding


def is_said(found: Finding) -> bool:
    """Whether a title holds its cause's sentence."""
    words = (re.escape(part) for part in re.split(r"\{\w+\}", CAUSES[found.key].says))
    return re.search(".*".join(words), found.title) is not None
