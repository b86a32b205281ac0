"""What a build says while it goes on."""

from rushhour.lab.kernel.step import Step


def test_one_object_is_one() -> None:
    said = [str(Step("compiling", *counts)) for counts in ((), (1,), (2,), (1, 3))]
    assert said == [
        "compiling",
        "compiling: 1 object",
        "compiling: 2 objects",
        "compiling: 1 object of about 3",
    ]
