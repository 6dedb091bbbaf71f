import pytest

from wheelmill.names import (
    project_name,
    project_version,
)


@pytest.mark.parametrize(("text", "name"), [("Flash_Attn", "flash-attn"), ("a..B", "a-b"), ("torch", "torch")])
def test_a_project_has_one_name(text: str, name: str) -> None:
    assert project_name(text) == name


@pytest.mark.parametrize("text", ["", "-a", "a-", "a b", "a/b", "a\n", "größe"])
def test_other_text_names_no_project(text: str) -> None:
    with pytest.raises(ValueError, match="expected a project name"):
        project_name(text)


@pytest.mark.parametrize(("text", "version"), [("2.8.3", "2.8.3"), ("v1.0-1", "1.0.post1"), ("1.0+A_B", "1.0+a.b")])
def test_a_version_has_one_spelling(text: str, version: str) -> None:
    assert project_version(text) == version


@pytest.mark.parametrize("text", ["", "main", "1.0 or so"])
def test_other_text_is_no_version(text: str) -> None:
    with pytest.raises(ValueError, match="expected a version"):
        project_version(text)
