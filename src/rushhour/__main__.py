"""`python -m rushhour`, and the command `rushhour`: the command line, or what keeps it from starting."""

from __future__ import annotations

import sys

_INTERRUPTED = 130


def main() -> None:
    """Run the command line. Where its own packages are broken say so; `doctor` works even then."""
    try:
        from rushhour.cli import main as command
    except ImportError as error:
        if (error.name or "").startswith("rushhour"):
            raise
        sys.exit(_without(str(error)))
    except KeyboardInterrupt:  # before the command line is there to say so
        print("\ninterrupted", file=sys.stderr)
        sys.exit(_INTERRUPTED)
    command()


def _without(fault: str) -> int:
    if sys.argv[1:2] == ["doctor"]:
        from rushhour.lab.doctor import tell

        return tell.main(as_json="--json" in sys.argv)
    from rushhour.errors import DOCTOR

    print(
        f"error: a Python package that Rush Hour needs is missing or broken: {fault}\n  {DOCTOR}",
        file=sys.stderr,
    )
    return 2


if __name__ == "__main__":
    main()
