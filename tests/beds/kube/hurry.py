"""A setting of the operator's framework: that a timer of a deleted object ended is seen within a second."""

from __future__ import annotations

from typing import Any

import kopf


@kopf.on.startup(id="hurry")
async def hurry(settings: kopf.OperatorSettings, **_: Any) -> None:
    settings.background.cancellation_polling = 1
