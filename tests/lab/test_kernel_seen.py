"""What of a preprocessed file becomes code."""

import pytest

from rushhour.lab.kernel.seen import seen

HEAD = "static inline __attribute__((__gnu_inline__)) __attribute__((__unused__)) "
TEXT = f"""\
struct sock {{
 int window;
}};
{HEAD}int deep(int x)
{{
 return x + 1;
}}
{HEAD}struct sock *called(struct sock *sk, int x)
{{
 sk->window = deep(x);
 return sk;
}}
{HEAD}int idle(int x)
{{
 if (x) {{
 int __UNIQUE_ID_x_12 = x;
  x = 2;
 }}
 return x + 1;
}}
static inline __attribute__((__used__)) int held(int x)
{{
 return x + 1;
}}
{HEAD}void idle_too(void) {{ }}
_Static_assert(sizeof(struct sock) == 4, "size");
void code(struct sock *sk)
{{
 called(sk, 3);
}}
"""


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("x = 2", "x = 3", True),  # nobody calls it
        ("== 4", "== 5", True),
        ("deep(int x)\n{\n return x + 1", "deep(int x)\n{\n return x + 2", False),  # called by one that is
        ("sk->window = deep(x)", "sk->window = 2 * deep(x)", False),
        ("held(int x)\n{\n return x + 1", "held(int x)\n{\n return x + 2", False),
        ("void) { }", "void) { ; }", False),  # of one line: it is not looked into
        ("called(sk, 3)", "called(sk, 4)", False),
        ("called(sk, 3)", "called(sk, idle(3))", False),
        ("int window", "long window", False),
        (f"{HEAD}int idle(", f"{HEAD}typeof(int) idle(", False),  # a head that is not understood
    ],
)
def test_what_becomes_code(old: str, new: str, same: bool) -> None:
    assert TEXT.count(old) == 1
    before, after = seen(TEXT.encode()), seen(TEXT.replace(old, new).encode())
    assert (before.code == after.code) is same
    if same:
        assert len(after.pieces - before.pieces) == 1, "the piece that is new has to be compiled"


def test_what_is_counted_is_no_matter() -> None:
    assert seen(TEXT.replace("x_12", "x_13").encode()) == seen(TEXT.encode())
    named = TEXT.replace("called(sk, 3)", "int __UNIQUE_ID_y_7 = 3; called(sk, __UNIQUE_ID_y_7)")
    assert seen(named.replace("y_7", "y_8").encode()).code == seen(named.encode()).code
    assert seen(named.replace("y_7", "z_7").encode()).code != seen(named.encode()).code


def test_the_command_counts() -> None:
    assert seen(TEXT.encode(), [b"-O2"]).code != seen(TEXT.encode(), [b"-O1"]).code


DECLARED = """\
int called(int a);
extern struct sock *gone(struct sock *sk,
    int (*by)(int), const char *why);
u32 gone_too(void);
void here(int a);
foo *product(int a);
extern int by_name(int a) __attribute__((alias("code")));
void code(int a)
{
here(a);
return inner(a);
 called(a);
 __asm__("call there");
}
void there(void);
"""


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("const char *why", "const char *because", True),
        ("u32 gone_too(void);\n", "", True),
        ("u32 gone_too(void);\n", "u32 gone_too(void);\nbool new_one(int a);\n", True),
        ("int called(int a)", "int called(long a)", False),
        ("void here(int a)", "void here(long a)", False),
        ("void there(void)", "void there(int a)", False),  # named in what is assembled
        ("alias", "weak", False),
        ("foo *product(int a)", "foo *product(int b)", False),  # perhaps a product
        ("return inner(a)", "return inner(b)", False),  # a statement, wherever it begins
        ("here(a);\nreturn", "else there(a);\nreturn", False),
    ],
)
def test_declarations_of_what_nobody_calls_are_no_code(old: str, new: str, same: bool) -> None:
    assert DECLARED.count(old) == 1
    before, after = seen(DECLARED.encode()), seen(DECLARED.replace(old, new).encode())
    assert (before.code == after.code) is same
    if same and len(new) > len(old):
        assert after.pieces - before.pieces  # so that it is compiled once


def test_declarations_that_come_twice_are_in_the_same_place() -> None:
    text = DECLARED.replace("u32 gone_too(void);\n", "u32 gone_too(void);\n" * 2)
    assert seen(text.encode()).code == seen(DECLARED.encode()).code


STRUCTURES = """\
struct gone;
struct inside;
struct gone {
 int a;
 struct inside *inside;
 union {
  int b;
 };
};
struct inside {
 int c;
} __attribute__((packed)) __attribute__((aligned(8)));
struct holds {
 struct part { int d; } part;
};
struct used {
 struct needed needed;
};
struct needed {
 int e;
};
struct one {
 int f;
} one;
struct idle {
 int g;
};
struct asserted {
 int h;
};
struct idle *idly(void);
static inline int idle(void)
{
 return idly()->g;
}
_Static_assert(sizeof(struct asserted) == 4, "size");
int code(struct used *used)
{
 struct part part;
 return used->needed.e;
}
"""


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("int a", "long a", True),
        ("int b", "long b", True),
        ("int c;", "long c;", True),  # named by what nothing names
        ("packed", "may_alias", True),
        ("struct gone;\n", "", True),
        ("int d", "long d", False),  # a part that others name
        ("struct needed needed", "struct needed needed, more", False),
        ("int e", "long e", False),
        ("int f", "long f", False),  # of a variable
        ("int g;", "long g;", False),  # of a function that nothing calls, but that is compiled
        ("int h", "long h", False),
        ("struct part part;", "struct gone *part;", False),
    ],
)
def test_structures_that_nothing_needs_are_no_code(old: str, new: str, same: bool) -> None:
    assert STRUCTURES.count(old) == 1
    before, after = seen(STRUCTURES.encode()), seen(STRUCTURES.replace(old, new).encode())
    assert (before.code == after.code) is same
    if same and new:
        assert after.pieces - before.pieces  # so that it is compiled once
