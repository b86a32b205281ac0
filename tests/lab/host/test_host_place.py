"""Places: what is one, what is none, and that none becomes a shell's word or an option."""

import shlex
import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rushhour.errors import UsageError
from rushhour.lab.host import ssh
from rushhour.lab.host.place import Place


@pytest.mark.parametrize(
    ("text", "kind", "target"),
    [
        ("local", "local", ""),
        ("netns:blue", "netns", "/run/netns/blue"),
        ("netns:/tmp/x/ns net", None, None),
        ("netns:/tmp/x/ns", "netns", "/tmp/x/ns"),
        ("netns:0042", "netns", "/proc/42/ns/net"),
        ("alice", "ssh", "alice"),
        ("user@host.example", "ssh", "user@host.example"),
        ("CORP\\ann@corp@host", "ssh", "CORP\\ann@corp@host"),
        ("ssh://user@host:2222", "ssh", "ssh://user@host:2222"),
        ("ssh://[::1]:22", "ssh", "ssh://[::1]:22"),
        ("fe80::1%eth0", "ssh", "fe80::1%eth0"),
        ("bücher", "ssh", "bücher"),
    ],
)
def test_what_a_place_is(text: str, kind: str | None, target: str | None) -> None:
    if kind is None:
        with pytest.raises(UsageError):
            Place.parse(text)
        return
    place = Place.parse(text)
    assert (place.kind, place.target, str(place)) == (kind, target, text)


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "-oProxyCommand=id", "--", "user@-oX=1", "-l@host", "a b", "a\nb", "a\0b", "a\u202eb",
        "host;id", "$(id)", "`id`", "a|b", "user$(id)@host", "'", '"', "host\\", "user\\@host",
        "ssh://", "ssh://a/b", "ssh://a:0", "ssh://a:70000",
        "ssh://-oX", "http://a", "netns:", "netns:..", "netns:a/b", "netns:-x",
        "@host", "user@",
    ],
)  # fmt: skip
def test_what_is_no_place(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        Place.parse(text)
    assert caught.value.hint


@given(st.text(alphabet=string.printable + "äß\u202e\0@-$`'\"\\;|&<>(){}*?!~#%:[]/", max_size=40))
def test_no_place_becomes_an_option_or_a_word_of_a_shell(text: str) -> None:
    try:
        place = Place.parse(text)
    except UsageError:
        return
    if place.kind != "ssh":
        assert "\0" not in place.target
        assert not place.target.startswith("-")
        return
    words = ssh.command(place, Path("/c"), b"script")
    assert words[-3:-1] == ["--", text]
    # The client's configuration may hand host and user to a shell (ProxyCommand %h): there they are one word.
    assert not text.startswith("-")
    assert not set(text) & set("\"'`$;&<>|(){}*?!~# \t\n\r\0")
    assert "@-" not in text
    # What the other side's shell reads holds no letter of it.
    assert shlex.split(words[-1]) == ["exec", "/bin/sh", "-c", 'eval "$(head -c 6)"']


def test_the_script_is_constant_but_for_numbers_and_a_hash() -> None:
    script = Path(ssh.__file__).with_name("bootstrap.sh").read_text()
    names = {"size": "1", "digest": "ab", "machine": "x86_64", "patience": "30", "sudo": "no"}
    assert all(f"${name}" in script for name in names)
    # It is handed to `eval "$(…)"`, which cuts newlines at its end and nothing else.
    assert script.endswith("\n")
