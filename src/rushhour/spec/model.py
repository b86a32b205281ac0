"""What all models of a scenario share: frozen, no unknown keys, canonical words."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints
from pydantic_core import PydanticCustomError

from rushhour.plain import control

# A name becomes part of namespaces, devices and files; what is not in here could mean something there.
NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"
Name = Annotated[str, StringConstraints(pattern=NAME)]
Words = Annotated[str, StringConstraints(max_length=400, pattern=r"^[A-Za-z0-9 ._:%/,+=-]*$")]
Count = Annotated[int, Field(strict=True, ge=1)]

_SYSCTL = re.compile(r"net(\.[A-Za-z0-9_-]+)+")


class Model(BaseModel):
    """A frozen piece of a scenario that refuses keys it does not know."""

    # Most pieces are only read inside others; the rest get a validator of their own when they are read first.
    model_config = ConfigDict(
        extra="forbid", frozen=True, validate_by_name=False, validate_by_alias=True, defer_build=True
    )


def _sysctls(value: object) -> object:
    """Flatten `net.ipv4.tcp_sack = 0`, quoted or as TOML's nested tables, to `{"net.ipv4.tcp_sack": "0"}`."""
    if not isinstance(value, dict):
        return value
    flat = flatten(value)
    for key, setting in flat.items():
        if _SYSCTL.fullmatch(key) is None:
            raise PydanticCustomError(
                "sysctl",
                "{key} is not a sysctl of a network namespace: only names that begin with net. belong to one",
                {"key": key},
            )
        flat[key] = _sysctl_value(key, setting)
    return dict(sorted(flat.items()))


def _sysctl_value(key: str, value: object) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, int):
        return str(value)
    if isinstance(value, list) and value and all(isinstance(item, int | str) for item in value):
        return " ".join(_sysctl_value(key, item) for item in value)
    if isinstance(value, str) and value.isprintable():
        return " ".join(value.split())
    raise PydanticCustomError("sysctl", "{key}: a sysctl is a number, a text or a list of them", {"key": key})


def shown(text: str) -> str:
    """A text that people are shown: no control characters, which would speak to their terminal.

    Raises:
        PydanticCustomError: there is one.
    """
    bad = control(text)
    if bad is not None:
        raise PydanticCustomError(
            "shown", "the text holds the control character {sign}", {"sign": ascii(bad)}
        )
    return text


def flatten(table: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Join the keys of nested tables with dots: `{"a": {"b": 1}}` to `{"a.b": 1}`."""
    flat: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, dict):
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


Sysctls = Annotated[
    dict[str, str],
    BeforeValidator(
        _sysctls, json_schema_input_type=dict[str, str | int | bool | list[int | str] | dict[str, object]]
    ),
]
