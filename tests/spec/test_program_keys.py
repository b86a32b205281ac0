"""Programs of a scenario: keys, names, files beside it, and what cannot be."""

from pathlib import Path

import pytest
from scenarios import scenario

from rushhour.errors import ScenarioError
from rushhour.plan import expand, lower
from rushhour.plan.programs import FOREIGN, root_places
from rushhour.spec.load import load_scenario, parse_scenario

TOP = 'duration = "5s"\ntopology = { preset = "dumbbell", rate = "10mbit", rtt = "10ms" }\n'


def program(keys: str) -> str:
    return TOP + "[[program]]\n" + keys


def test_programs_are_named_by_their_file_and_split_like_a_shells_words() -> None:
    found = parse_scenario(
        program('node = "s1"\ncommand = "curl -H \'a b\' x"\n')
        + '[[program]]\nnode = "s1"\ncommand = ["/usr/bin/curl"]\n'
    )
    assert [one.name for one in found.program] == ["curl", "curl2"]
    assert found.program[0].command == ("curl", "-H", "a b", "x")


def test_a_scenario_without_programs_has_the_hash_that_it_always_had() -> None:
    assert "program" not in scenario("").canonical()
    assert "file" not in scenario("").canonical()


@pytest.mark.parametrize(
    ("keys", "key", "words"),
    [
        ('node = "x"\ncommand = "sh"', "node", 'no node is named "x"'),
        ('node = "s1"\ncommand = "sh"\nafter = "b"', "after", 'no program is named "b"'),
        ('node = "s1"\ncommand = "sh"\nafter = "sh"', "after", "wait for each other"),
        ('node = "s1"\ncommand = "./x"', "command", "none of its files"),
        ('node = "s1"\ncommand = "a/b"', "command", "no name of a program"),
        ('node = "s1"\ncommand = "sh \'a"', "command", "no closing quotation"),
        ('node = "s1"\ncommand = "sh"\nneeds = "a/b"', "needs", "neither a program nor a whole path"),
        ('node = "s1"\ncommand = "sh"\nroot = "r"\nneeds = "ls"', "needs", "has what it uses in that root"),
        ('node = "s1"\ncommand = "sh"\nfiles = "../x"', "files", "leads out"),
        ('node = "s1"\ncommand = "sh"\nstart = "9s"', "start", "after the end of the experiment"),
        ('node = "s1"\ncommand = "sh"\nstart = "2s"\nstop = "1s"', "stop", "not after its start"),
        ('node = "s1"\ncommand = "sh"\nready = 70000', "ready", ""),
    ],
)
def test_what_cannot_be_is_said(keys: str, key: str, words: str) -> None:
    found = _faults(program(keys))
    name = next(one for one in found if one.startswith("program.") and key in one)
    assert words in found[name]


def test_a_fault_of_a_program_that_a_command_adds_names_no_line_of_the_file() -> None:
    text = program('node = "s1"\ncommand = "sh"\n')
    for file, already in ((TOP, 0), (text, 1), (text + '[[program]]\nnode = "s9"\ncommand = "ls"\n', 2)):
        with pytest.raises(ScenarioError) as caught:
            parse_scenario(file, "page.toml", program={"node": "s8", "command": "ps", "files": "../x"})
        faults = [str(fault).splitlines()[0] for fault in caught.value.faults]
        assert 'the program to run: node: no node is named "s8"' in faults
        assert any(fault.startswith("the program to run: files: ") for fault in faults)
        assert len([fault for fault in faults if fault.startswith("page.toml:")]) == (already == 2)


def _faults(text: str) -> dict[str, str]:
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(text)
    return {fault.key: fault.message for fault in caught.value.faults}


@pytest.mark.parametrize(
    ("word", "said", "hint"),
    [
        ("srever.sh", "", 'did you mean "server.sh"? there is: notes.txt, server.sh, bin/run.py'),
        ("run.py", "", 'did you mean "bin/run.py"? there is: '),
        ("other/server.sh", "", 'did you mean "server.sh"? '),
        ("bin", ": it is a folder", 'what is in it: "bin/**"'),
        ("data/*.csv", "", "there is: notes.txt, server.sh, bin/run.py"),
        ("paeg.toml", "", 'did you mean "page.toml"? '),
    ],
)
def test_a_missing_file_is_told_with_its_place_and_what_may_be_meant(
    word: str, said: str, hint: str, tmp_path: Path
) -> None:
    (tmp_path / "bin").mkdir()
    for name in ("server.sh", "notes.txt", ".hidden", "bin/run.py"):
        (tmp_path / name).write_text("x")
    file = tmp_path / "page.toml"
    file.write_text(program(f'node = "s1"\ncommand = "sh"\nfiles = "{word}"'))
    with pytest.raises(ScenarioError) as refused:
        load_scenario(file)
    (fault,) = refused.value.faults
    assert fault.message == f'there is no file "{word}" beside the scenario, in {tmp_path}{said}'
    assert (fault.hint or "").startswith(hint)
    file.write_text(program(f'node = "s1"\ncommand = "sh"\nfiles = "{"x" * 300}"'))
    with pytest.raises(ScenarioError, match="there is no file"):
        load_scenario(file)


def test_files_become_part_of_the_scenario(tmp_path: Path) -> None:
    (tmp_path / "site/deep").mkdir(parents=True)
    (tmp_path / "site/a.html").write_text("a")
    (tmp_path / "site/deep/b.html").write_text("b")
    (tmp_path / "run.sh").write_text("#!/usr/bin/env -S sh -e\n")
    file = tmp_path / "s.toml"
    file.write_text(
        program('node = "s1"\ncommand = "./run.sh"\nfiles = ["site/**", "run.sh"]\nneeds = "sleep"')
    )
    found = load_scenario(file)
    assert found.file == {"site/a.html": "a", "site/deep/b.html": "b", "run.sh": "#!/usr/bin/env -S sh -e\n"}
    plan = lower(found, 1).plan
    assert plan.tools == tuple(sorted(f"{FOREIGN}{name}" for name in ("/usr/bin/env", "sh", "sleep")))
    assert plan.programs[0].files["site/deep/b.html"] == "b"


def test_a_file_may_be_longer_than_a_word(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("x" * 400_000)
    file = tmp_path / "s.toml"
    file.write_text(program('node = "s1"\ncommand = "sh"\nfiles = "page.html"'))
    assert len(load_scenario(file).file["page.html"]) == 400_000
    (tmp_path / "page.html").write_text("x" * 2**21)
    with pytest.raises(ScenarioError, match="larger than 1 MiB"):
        load_scenario(file)


def test_a_file_that_leads_elsewhere_is_not_taken(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("s")
    (tmp_path / "here").mkdir()
    (tmp_path / "here/link").symlink_to(secret)
    file = tmp_path / "here/s.toml"
    file.write_text(program('node = "s1"\ncommand = "sh"\nfiles = "link"'))
    with pytest.raises(ScenarioError, match="leads out"):
        load_scenario(file)


def test_a_compiled_program_beside_the_scenario_is_told_once_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "server").write_bytes(b"\x7fELF\xff\0")
    file = tmp_path / "s.toml"
    file.write_text(program('node = "s1"\ncommand = "./server"\nfiles = "server"'))
    with pytest.raises(ScenarioError) as caught:
        load_scenario(file)
    assert str(caught.value).count("server") == 3, "its key, its name, and its whole path"
    assert f"`needs`: {tmp_path / 'server'}" in str(caught.value)


def test_keys_of_programs_vary() -> None:
    text = program(
        'name = "a"\nnode = "s1"\ncommand = "sh"\n[sweep]\n"program.a.command" = ["sh -c 1", "sh -c 2"]'
    )
    text += '\n"program.a.environment.X" = [1, 2]\n'
    assert parse_scenario(text).sweep.size == 4


def test_roots_have_their_places_beside_the_scenario(tmp_path: Path) -> None:
    other = tmp_path / "other"
    text = (
        program('name = "a"\nnode = "s1"\ncommand = "sh"\nroot = "images/r.tar"\n')
        + f'[[program]]\nnode = "s1"\ncommand = "/bin/sh"\nroot = "{other}/r.tar"\n'
        + f'[[program]]\nnode = "r1"\ncommand = "sh"\nroot = "{other}/new/r.tar"\n'
        + '[sweep]\n"program.a.root" = ["x.tar", "images/r.tar"]\n'
    )
    (tmp_path / "s.toml").write_text(text)
    found = load_scenario(tmp_path / "s.toml")
    assert [one.root for one in found.program] == ["x.tar", "r.tar", f"{other}/new/r.tar"]
    assert found.root == {
        "images/r.tar": f"{tmp_path}/images/r.tar",
        "r.tar": f"{other}/r.tar",
        f"{other}/new/r.tar": f"{other}/new/r.tar",
        "x.tar": f"{tmp_path}/x.tar",
    }
    cells = expand(found)
    assert [cell.scenario.program[0].root for cell in cells] == ["x.tar", "images/r.tar"]
    plan = lower(cells[0].scenario, 1).plan
    assert plan.tools == (f"root:{other}/new/r.tar", "root:r.tar", "root:x.tar")
    assert root_places(cells[0].scenario)["root:x.tar"] == f"root:{tmp_path}/x.tar"


def test_a_root_that_is_moved_is_the_same_plan(tmp_path: Path) -> None:
    plans = []
    for folder in (tmp_path / "a", tmp_path / "b"):
        folder.mkdir()
        (folder / "s.toml").write_text(program('node = "s1"\ncommand = "sh"\nroot = "r.tar"\n'))
        plans.append(lower(load_scenario(folder / "s.toml"), 1).plan)
    assert plans[0] == plans[1]
