"""A requirements file is edited between two marks; what a person wrote is never touched."""

from dataclasses import replace
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.refusals import coded
from tests.unit.client.targets import INDEX, SHA, candidate, resolution
from wheelmill.client.project.requirements import RequirementsFile, RequirementsProject, block, put_lock
from wheelmill.errors import UsageError
from wheelmill.names import project_name
from wheelmill.system.process import command_line

WHEEL = "flash_attn-2.8.3+cu130torch2.11-cp312-cp312-linux_x86_64.whl"
BY_HAND = "# mine\r\nrich>=1  # tables\r\n-r other.txt\r\ntorch>=2"


def project(tmp_path: Path, content: str) -> RequirementsProject:
    path = tmp_path / "requirements.txt"
    path.write_bytes(content.encode())
    return RequirementsProject(path=path, python=None)


def test_what_is_added_stands_between_marks_and_goes_again(tmp_path: Path) -> None:
    found = project(tmp_path, BY_HAND + "\r\n")
    chosen = [resolution(candidate(WHEEL, source=INDEX))]
    for _ in range(2):
        found.add([Requirement("flash-attn>=2")], chosen).write()
        content = found.path.read_bytes().decode()
        assert content.startswith(BY_HAND + "\r\n# >>> wheelmill add")
        assert content.count("\n") == content.count("\r\n")
        assert (
            f"#sha256={SHA} ; sys_platform == 'linux' and platform_machine == 'x86_64'\r\ntorch==2.11.* ; " in content
        )
        assert content.count("flash-attn @ https://wheels.example/simple/") == 1
    assert [str(each) for each in found.asked] == ["flash-attn>=2"]
    found.remove([project_name("flash-attn")]).write()
    assert found.path.read_bytes().decode() == BY_HAND + "\r\n"


def test_torch_stays_as_long_as_a_wheel_needs_it(tmp_path: Path) -> None:
    found = project(tmp_path, "")
    other = candidate("mamba_ssm-2.3+cu130torch2.11-cp312-cp312-linux_x86_64.whl")
    found.add([Requirement("flash-attn"), Requirement("mamba-ssm")], [resolution(candidate(WHEEL), other)]).write()
    found.remove([project_name("flash-attn")]).write()
    assert "torch==2.11.*" in found.path.read_text()
    found.remove([project_name("mamba-ssm")]).write()
    assert found.path.read_text() == ""


@pytest.mark.parametrize(
    ("content", "code", "fact"),
    [
        ("torch==2.9.0\n", "dependency-conflict", "torch==2.9.0"),
        ("rich\nflash-attn==2.7.0\n", "wheel-not-allowed", "requirements.txt:2: flash-attn==2.7.0"),
        ("rich==1 --hash=sha256:00\n", "hashes-needed", "requirements.txt"),
        ("# <<< wheelmill add\n", "marks-broken", "# <<< wheelmill add"),
    ],
)
def test_what_pip_would_refuse_is_refused_first(tmp_path: Path, content: str, code: str, fact: str) -> None:
    found = project(tmp_path, content)
    with pytest.raises(UsageError, check=coded(code, fact)):
        found.add([Requirement("flash-attn")], [resolution(candidate(WHEEL))])


def test_a_file_with_hashes_is_refused_with_the_command_that_locks_what_was_asked(tmp_path: Path) -> None:
    """It works as it stands: versions stay limited, and the file is found from any folder."""
    folder = tmp_path / "my project"
    folder.mkdir()
    found = project(folder, "rich==1 --hash=sha256:00\n")
    with pytest.raises(UsageError) as caught:
        found.add([Requirement("flash-attn[test]>=2.7,<3")], [resolution(candidate(WHEEL))])
    _, _, command = (caught.value.hint or "").partition(": ")
    words = ["wheelmill", "lock", "flash-attn[test]<3,>=2.7", "--format", "requirements", "--output", str(found.path)]
    assert command == command_line(words)


def test_what_a_person_wrote_is_not_removed(tmp_path: Path) -> None:
    found = project(tmp_path, "rich\n")
    with pytest.raises(UsageError, check=coded("not-a-dependency", "rich")):
        found.remove([project_name("rich")])


def test_a_lock_does_not_overwrite_requirements(tmp_path: Path) -> None:
    path = tmp_path / "requirements.txt"
    path.write_text("rich\n")
    with pytest.raises(UsageError, check=coded("line-not-plain", "rich")):
        put_lock(path, "demo==1 \\\n    --hash=sha256:00\n", ["demo"])
    path.write_text("rich==1 --hash=sha256:11\n")
    for locked in ("demo==1 \\\n    --hash=sha256:00\n", "demo==2 \\\n    --hash=sha256:22\n"):
        path.write_bytes(put_lock(path, locked, ["demo"]))
        assert path.read_text().startswith("rich==1 --hash=sha256:11\n# >>> wheelmill lock")
        assert locked in path.read_text()
    assert "demo==1" not in path.read_text()
    with pytest.raises(UsageError, check=coded("line-not-plain")):
        put_lock(path, "rich==2 --hash=sha256:33\n", ["rich"])


def test_lines_between_the_marks_that_are_no_requirements_are_all_named(tmp_path: Path) -> None:
    path = tmp_path / "requirements.txt"
    lines = list(block([], [], frozenset(), [], ["demo==1"]))
    path.write_bytes(RequirementsFile(path=path, command="add").with_ours(lines))
    path.write_text(path.read_text().replace("demo==1\n", "demo==1\n# asked for: @@\ndemo = 1\n-c other.txt\n# mine\n"))
    with pytest.raises(UsageError) as told:
        RequirementsFile.read(path)
    assert [line.partition(" ")[0] for line in str(told.value).splitlines()] == [f"{path}:3:", f"{path}:4:"]


COMPILED = "# This file was autogenerated by uv via the following command:\n#    uv pip compile {}\nrich==1\n"


def test_a_compiled_file_is_not_edited(tmp_path: Path) -> None:
    found = project(tmp_path, COMPILED.format("pyproject.toml"))
    with pytest.raises(UsageError, check=coded("requirements-compiled")):
        found.add([Requirement("flash-attn")], [resolution(candidate(WHEEL))])
    assert found.path.read_text() == COMPILED.format("pyproject.toml")


def test_who_adds_to_a_source_is_told_of_what_is_compiled_from_it(tmp_path: Path) -> None:
    compiled = project(tmp_path, COMPILED.format("requirements.in"))
    source = replace(compiled, path=tmp_path / "requirements.in")
    source.path.write_text("rich\n")
    edit = source.add([Requirement("flash-attn")], [resolution(candidate(WHEEL))])
    assert list(edit.contents) == [source.path]
    edit.write()
    for each in (edit, source.remove([project_name("flash-attn")])):
        assert any("requirements.txt" in note for note in each.notes)
    compiled.path.write_text("rich==1\n")
    assert not any("requirements.txt" in note for note in source.add([], []).notes)


@pytest.mark.parametrize("end", ["\n", "\r", "\f", "\x85", "\u2028"])
def test_a_comment_stays_one_line(end: str) -> None:
    file = RequirementsFile(path=Path("requirements.txt"), command="add")
    with pytest.raises(UsageError, check=coded("line-break", "requirements.txt")):
        file.with_ours([f"# source of demo: a{end}--index-url=https://evil.example/"])
    assert b"# source of demo: a b\n" in file.with_ours(["# source of demo: a b"])
