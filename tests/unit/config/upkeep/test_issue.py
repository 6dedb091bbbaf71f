"""A package request becomes an entry, or is refused."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from wheelmill.config.upkeep.issue import MAX_BYTES, QUESTIONS, entry_from
from wheelmill.errors import ConfigurationError

FORM = Path(__file__).parents[4] / ".github" / "ISSUE_TEMPLATE" / "package-request.yml"
ANSWERS = {
    "Project": "torch-scatter",
    "Versions": "2.1.2, 2.1.1",
    "Description": "Scatter operations",
    "Licence": "MIT",
    "Is it built in isolation?": "No: it needs --no-build-isolation",
    "Build requirements": "setuptools, wheel, torch",
    "GPU architectures": "_No response_",
    "Modules to import": "torch, torch_scatter",
    "Anything else": '`FORCE_CUDA=1` $(id) is needed\n\n- "quotes"',
    "Checked": "- [X] Its licence lets others be given the wheels",
}
ENTRY = {
    "versions": ["2.1.2", "2.1.1"],
    "description": "Scatter operations",
    "licence": "MIT",
    "build_args": "--no-build-isolation",
    "extra_deps": ["setuptools", "wheel", "torch"],
    "test_import": ["torch", "torch_scatter"],
}


def issue(folder: Path, **changed: str) -> Path:
    """Write an issue as GitHub does, with some answers changed."""
    answers = ANSWERS | {question.replace("_", " "): answer for question, answer in changed.items()}
    path = folder / "issue.md"
    path.write_text("\n\n".join(f"### {question}\n\n{answer}" for question, answer in answers.items()) + "\n")
    return path


def test_answers_become_an_entry(tmp_path: Path) -> None:
    assert entry_from(issue(tmp_path)) == ("torch-scatter", ENTRY)


def test_a_range_of_versions_stays_one(tmp_path: Path) -> None:
    assert entry_from(issue(tmp_path, Versions=">=2.1,<3"))[1]["versions"] == ">=2.1,<3"


def test_lines_may_end_as_windows_ends_them(tmp_path: Path) -> None:
    path = issue(tmp_path)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert entry_from(path)[1] == ENTRY


def test_the_form_asks_what_is_read() -> None:
    form: dict[str, Any] = yaml.safe_load(FORM.read_text())
    labels = [part["attributes"]["label"] for part in form["body"] if part["type"] != "markdown"]
    assert labels == [*ANSWERS]
    assert {*QUESTIONS} < {*labels}


@pytest.mark.parametrize(
    ("changed", "question", "message"),
    [
        ({"Project": "$(id)"}, "Project", "expected plain text without $"),
        ({"Project": "`id`"}, "Project", "expected plain text without `"),
        ({"Project": "${{ github.token }}"}, "Project", "expected plain text without $"),
        ({"Project": "Torch_Scatter"}, "Project", "expected the normalized name 'torch-scatter'"),
        ({"Project": "a\nrunner: self-hosted"}, "Project", "expected one line"),
        ({"Project": "_No response_"}, "Project", "expected a project name"),
        ({"Project": "[x](https://example.org)"}, "Project", "expected a project name"),
        ({"Project": "[key]"}, "Project", "expected a project name"),
        ({"Versions": "1.0; rm -rf /"}, "Versions", "expected a version"),
        ({"Versions": "_No response_"}, "Versions", "is required"),
        ({"Description": "two\nlines"}, "Description", "expected one line"),
        ({"Licence": "do what you like"}, "Licence", "expected an SPDX expression"),
        ({"Build_requirements": "torch @ https://example.org/x"}, "Build requirements", "not from a URL"),
        ({"GPU_architectures": "all"}, "GPU architectures", "expected a compute capability"),
        ({"Modules_to_import": "os; import sys"}, "Modules to import", "expected a module"),
    ],
)
def test_hostile_and_wrong_answers_are_refused_by_question(
    tmp_path: Path, changed: dict[str, str], question: str, message: str
) -> None:
    with pytest.raises(ConfigurationError) as refused:
        entry_from(issue(tmp_path, **changed))
    assert any(
        fault.startswith("issue.md:") and f": {question}: " in fault and message in fault
        for fault in refused.value.faults
    )


def test_an_answer_cannot_bring_a_question_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="Licence: is answered twice"):
        entry_from(issue(tmp_path, Anything_else="x\n\n### Licence\n\nGPL-3.0-only"))


@pytest.mark.parametrize("content", [b"", b"please add flash-attn", b"\xff\xfe", b"#" * (MAX_BYTES + 1)])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "issue.md").write_bytes(content)
    with pytest.raises(ConfigurationError, match=r"issue\.md:1:1: "):
        entry_from(tmp_path / "issue.md")


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        entry_from(tmp_path / "issue.md")
