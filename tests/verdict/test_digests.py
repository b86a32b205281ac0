"""Checksums of a run in 32 bytes each are what they were as words."""

import hashlib

import pytest

from rushhour.verdict.digests import Digests, packed

WORDS = {f"raw/{name}.rh": hashlib.sha256(name.encode()).hexdigest() for name in ("a", "b", "c")}


def test_they_are_as_a_dictionary() -> None:
    made = packed(WORDS)
    assert isinstance(made, Digests)
    assert dict(made) == WORDS
    assert made == WORDS
    assert made == packed(dict(WORDS))
    assert made != packed({**WORDS, "raw/b.rh": "0" * 64})
    assert made != packed({name: WORDS[name] for name in [*WORDS][:2]})
    assert len(made) == 3
    assert repr(made) == repr(WORDS)
    with pytest.raises(KeyError):
        made["raw/d.rh"]


def test_of_none_there_are_none() -> None:
    assert not packed({})


@pytest.mark.parametrize("odd", ["x", "ab", "A" * 64, "00 " * 32, ""])
def test_what_is_spelled_otherwise_stays_as_it_is(odd: str) -> None:
    words = {**WORDS, "raw/d.rh": odd}
    assert packed(words) is words
