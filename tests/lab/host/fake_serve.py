"""A stand-in for the agent in tests of the session alone: it answers, lingers, babbles or dies as asked."""

import json
import sys
import threading
import time

HELLO = {"format": "rushhour-serve/1", "hostname": "fake", "boot_id": "b", "uid": 0}
lock = threading.Lock()


def say(head: dict[str, object], data: bytes = b"") -> None:
    with lock:
        sys.stdout.buffer.write(json.dumps(head).encode() + b"\n" + data)
        sys.stdout.buffer.flush()


def later(number: int, seconds: float) -> None:
    time.sleep(seconds)
    say({"id": number, "ok": True, "value": {"slept": seconds}})


def cut(number: int) -> None:
    say({"id": number, "ok": True, "value": {}, "bytes": 100}, b"only this")
    sys.exit(3)


def die(_number: int) -> None:
    sys.stderr.write("a last word\n")
    sys.exit(3)


def babble(_number: int) -> None:
    sys.stdout.write("Segmentation fault\n")
    sys.stdout.flush()


def refuse(number: int) -> None:
    error = {"kind": "busy", "message": "port 5001 is in use", "where": "eth1", "hint": "choose another"}
    say({"id": number, "ok": False, "error": error})


def freeze(_number: int) -> None:
    time.sleep(60)


FAULTS = {"cut": cut, "die": die, "babble": babble, "refuse": refuse, "freeze": freeze}


def main() -> None:
    for line in sys.stdin:
        asked = json.loads(line)
        number, verb = asked["id"], asked["do"]
        done = {"id": number, "ok": True, "value": HELLO if verb == "hello" else asked}
        if verb in FAULTS:
            FAULTS[verb](number)
        elif verb == "sleep":
            threading.Thread(target=later, args=(number, asked["seconds"]), daemon=True).start()
        elif verb == "fetch":
            count = int(asked["name"])
            say(done | {"bytes": count}, bytes(range(256)) * (count // 256) + bytes(count % 256))
        else:
            say(done)
        if verb == "bye":
            return


main()
