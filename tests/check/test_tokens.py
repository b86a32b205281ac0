"""Which changes of a C file are of comments and blank space alone."""

import subprocess
from pathlib import Path

import pytest

from rushhour.check.tokens import beginnings, renumbered, same, tokens

TEXT = """\
#define T(x) #x
int f(int a)
{
\treturn a+ 1; /* why */
}
char *s = "/* no comment */" T(a +b);
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("/* why */", ""),
        ("#define", "// first\n#define"),
        ("/* why */", "// because\n"),
        ("int f", "/* of\n * two lines */\nint f"),
        ("\treturn", "    return"),
        ("a+ 1;", "a+\n\t\t1;"),
        ("int f(int a)", "int \\\nf(int a)"),
        ("#define T(x) #x", "#define T(x) \\\n\t#x /* text\n of it */"),
    ],
)
def test_comments_and_blank_space_are_no_code(old: str, new: str) -> None:
    assert old in TEXT
    assert same(TEXT, TEXT.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("/* no comment */", "/* no */"),
        ("a+ 1", "a- 1"),
        ("a+ 1", "a++ 1"),
        ("a +b", "a + b"),  # a text is made of it
        ("T(x)", "T (x)"),
        ("#x\n", "#x "),
        ("int f", "//int f"),
        ("/* why */", "/* why"),
        ("return a", "return\\\na"),
    ],
)
def test_everything_else_is(old: str, new: str) -> None:
    assert old in TEXT
    assert not same(TEXT, TEXT.replace(old, new))


def test_tokens_are_the_compilers(tmp_path: Path) -> None:
    """Operators are taken as long as they can be; an end of a line ends a directive and nothing else."""
    said = [word.strip(" ") for word in tokens("#if A\nx<<=L'\\''--->y . . ..1e+5&&&z;\n#endif\n")]
    assert said == [
        "#", "if", "A", "\n", "x", "<<=", "L'\\''", "--", "->", "y", ".", ".", ".", ".1e+5", "&&", "&",
        "z", ";", "#", "endif", "\n",
    ]  # fmt: skip
    # The preprocessor itself is the judge: what we call the same is the same to it but for lines.
    other = TEXT.replace("\treturn", "\n\n  return").replace("/* why */", "// why")
    texts = []
    for number, text in enumerate((TEXT, other)):
        file = tmp_path / f"{number}.c"
        file.write_text(text)
        done = subprocess.run(["gcc", "-E", "-P", str(file)], check=True, capture_output=True, text=True)
        texts.append(done.stdout.split())
    assert same(TEXT, other)
    assert texts[0] == texts[1]


def test_lines_that_stay_keep_their_numbers(tmp_path: Path) -> None:
    """Judged by the preprocessor: every `__LINE__` of a line that stays is the base's."""
    before = "int a = __LINE__;\nint gone;\nint b = __LINE__;\nint c = __LINE__;\nint d = __LINE__;\n"
    come = "/* Two\nint lines */\nint come;\n"
    after = before.replace("int gone;\n", "").replace("int c =", f"{come}int c =")
    text = renumbered(after, {2}, {3, 4, 5})
    file = tmp_path / "one.c"
    said = {}
    for name, one in (("before", before), ("after", text)):
        file.write_text(one)
        done = subprocess.run(["gcc", "-E", "-P", str(file)], check=True, capture_output=True, text=True)
        said[name] = {line for line in done.stdout.splitlines() if "=" in line}
    at = {"a": 1, "b": 3, "c": 4, "d": 5}
    assert said["before"] == said["after"] == {f"int {name} = {line};" for name, line in at.items()}
    assert [line for line in text.split("\n") if not line.startswith("#line")] == after.split("\n")


def test_no_directive_comes_into_a_comment_or_a_line_that_goes_on() -> None:
    text = 'a\n/* b\nc */\n#define D \\\n  e\n// f \\\ng\n"h\\\ni";\n\'j\n'
    assert beginnings(text) == {1, 2, 4, 6, 8, 10, 11}
