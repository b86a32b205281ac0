"""The generated documents are current and name every key."""

import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rushhour.quantities.units import Buffer, Duration, Rate, Size
from rushhour.spec.explain import MODELS
from rushhour.spec.keys import fields
from rushhour.spec.reference import reference, schema

ROOT = Path(__file__).resolve().parents[2]


def test_generated_documents_are_current() -> None:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs/generate.py")
    assert spec is not None
    assert spec.loader is not None
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    for path, render in generate.GENERATED.items():
        assert path.read_text("utf-8") == render(), f"{path.name} is old: run docs/generate.py"


@pytest.mark.parametrize("path", MODELS)
def test_every_key_is_in_the_reference_and_says_what_it_means(path: Any) -> None:
    text = reference()
    for key in fields(MODELS[path]):
        row = re.search(rf"^\| `{key}` \|(.*)$", text, re.MULTILINE)
        assert row, key
        assert row[1].split("|")[-2].strip(), f"{key} has no description"


def test_the_schema_knows_the_keys_as_they_are_written() -> None:
    definitions = json.loads(schema())
    assert set(definitions["$defs"]["Flow"]["properties"]) >= {"from", "to", "cc"}
    assert definitions["additionalProperties"] is False


@given(st.integers(0, 10**12))
def test_the_patterns_of_the_schema_accept_canonical_words(number: int) -> None:
    buffers = (Buffer(packets=number % 10**9), Buffer(bdp=number % 100 + 0.5))
    for value in (Rate(number), Duration(number), Size(number), *buffers):
        assert re.fullmatch(value.pattern.strip("^$"), str(value))
