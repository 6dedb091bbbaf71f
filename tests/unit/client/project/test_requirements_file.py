"""Requirements files with lines of wheelmill that somebody changed."""

from pathlib import Path

import pytest

from wheelmill.client.project.requirements_file import RequirementsFile, block
from wheelmill.errors import UsageError


def test_lines_between_the_marks_that_are_no_requirements_are_all_named(tmp_path: Path) -> None:
    path = tmp_path / "requirements.txt"
    path.write_bytes(RequirementsFile(path=path, command="add").with_ours(list(block([], [], [], ["demo==1"]))))
    path.write_text(path.read_text().replace("demo==1\n", "demo==1\n# asked for: @@\ndemo = 1\n-c other.txt\n# mine\n"))
    with pytest.raises(UsageError) as told:
        RequirementsFile.read(path)
    assert [line.partition(" ")[0] for line in str(told.value).splitlines()] == [f"{path}:3:", f"{path}:4:"]
