"""`python -m rushhour`: the same as the command `rushhour`."""

from rushhour.cli import main

main()
