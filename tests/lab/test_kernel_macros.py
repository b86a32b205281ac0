"""Which macros differ in their values alone, and who uses them: by a real compiler."""

from pathlib import Path

import pytest

from rushhour.lab.kernel.macros import Uses, used_by, values

TEXT = """\
/* All.
 * #define OLD 1
 */
#define SCALE 3
#define STEP 4 /* of it */
#define SUM(a, b) ((a) + (b))
#define LONG 1 + \\
\t2
#ifdef SCALE
static inline int one(void) { return __LINE__; }
#endif
"""


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("SCALE 3", "SCALE 5", {"SCALE"}),
        ("SCALE 3", "SCALE", {"SCALE"}),
        ("STEP 4 /* of it */", "STEP 5 /* of it */", {"STEP"}),
        ("((a) + (b))", "((a) - (b))", {"SUM"}),
        ("OLD 1", "OLD 2", None),  # no directive
        ("x", "x", set()),
        ("SCALE 3", "SCALES 3", None),
        ("SCALE 3", "SCALE(a) 3", None),
        ("SUM(a, b)", "SUM(b, a)", None),
        ("SUM(a, b) (", "SUM (a, b) (", None),
        ("SCALE 3", "SCALE 3\n", None),  # lines have other numbers
        ("#define SCALE 3", "", None),
        ("#define SCALE 3", "#undef SCALE", None),
        ("SCALE 3", "SCALE 3 /*", None),
        ("SCALE 3", "SCALE 3 /* three */", None),
        ("/* of it */", "/* of that */", None),
        ("LONG 1 + \\", "LONG 2 + \\", None),  # goes on
        ("\t2", "#define SCALE 2", None),  # goes on with this
        ("return __LINE__", "return 2", None),
        ("OLD 1", "OLD 1 */", None),  # ends the comment that it lies in
    ],
)
def test_what_differs_in_values_alone(old: str, new: str, found: set[str] | None) -> None:
    assert values(TEXT, TEXT.replace(old, new, 1)) == found


@pytest.mark.parametrize(
    ("text", "uses"),
    [
        ("int a = SCALE;", True),
        ("#define MINE (SCALE + 1)\nint a = MINE;", True),
        ("#define MINE (SCALE + 1)\n", False),
        ("#define OF(x) x##LE\nint a = OF(SCA);", True),
        ("#define END LE\n#define PASTE(x, y) x##y\n#define OF(y) PASTE(SCA, y)\nint a = OF(END);", True),
        ("#ifdef SCALE\n#endif\n", True),
        ("#ifndef SCALE\n#define SCALE 4\n#endif\n", True),
        ("#if defined(SCALE) && SCALE > 2\n#endif\n", True),
        ("#undef SCALE\n", False),
        ('const char *a = "SCALE"; /* SCALE */', False),
        ("#define TEXT(x) #x\nconst char *a = TEXT(SCALE);", False),
        ("int a = STEP;", False),
    ],
)
def test_who_uses_a_macro_is_what_the_compiler_says(tmp_path: Path, text: str, uses: bool) -> None:
    (tmp_path / "all.h").write_text(TEXT.replace("#ifdef SCALE\n", "#if 1\n"))
    (tmp_path / "one.c").write_text(f'#include "all.h"\n{text}\n')
    command = "gcc -Wp,-MMD,.one.o.d -O2 -c -o one.o one.c"
    found = used_by(command, tmp_path)
    assert found is not None
    assert ("SCALE" in found) is uses
    assert not (tmp_path / "one.o").exists()
    (tmp_path / "one.c").write_text('#include "none.h"\n')
    assert used_by(command, tmp_path) is None


def test_what_is_known_is_known_of_one_object(tmp_path: Path) -> None:
    uses = Uses(tmp_path / "macros")
    assert uses.of("net/one.o", 7) is None
    uses.keep("net/one.o", 7, frozenset({"SCALE", "STEP"}))
    assert uses.of("net/one.o", 7) == frozenset({"SCALE", "STEP"})
    assert uses.of("net/one.o", 8) is None
    assert uses.of("net/two.o", 7) is None
    uses.keep("net/one.o", 8, frozenset())
    assert uses.of("net/one.o", 8) is not None
    for broken in (b"", b"\xff"):
        (tmp_path / "macros/net+one.o.macros").write_bytes(broken)
        assert uses.of("net/one.o", 8) is None
