"""A package request becomes an entry, or is refused."""

import codecs
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.git_repositories import Commit, repository
from tests.refusals import coded, faults_of
from wheelmill.config.load import load_compatibility, load_config
from wheelmill.config.maintenance.request import (
    BOXES,
    MAX_BYTES,
    QUESTIONS,
    TORCHES,
    own_text,
    read_request,
    workflow_text,
)
from wheelmill.config.survey.entry import survey_checkout
from wheelmill.errors import ConfigurationError, UsageError
from wheelmill.names import TorchVersion, project_name
from wheelmill.system import own_installation

FORM = Path(__file__).parents[4] / ".github" / "ISSUE_TEMPLATE" / "package-request.yml"
ANSWERS = {
    "Project": "torch-scatter",
    "Versions": "2.1.2, 2.1.1",
    "Git repository": "_No response_",
    "Its name on the package index": "_No response_",
    "Description": "Scatter operations",
    "Licence": "MIT",
    "Is it built in isolation?": "No: it needs --no-build-isolation",
    "Build requirements": "setuptools, wheel, torch",
    "NVIDIA's libraries": "_No response_",
    "GPU architectures": "_No response_",
    "Modules to import": "torch, torch_scatter",
    "Anything else": '`FORCE_CUDA=1`\n$(id) is needed\n\n- "quotes"\n- export A_B=x=y C=2',
    "Checked": "\n".join(f"- [X] {box}" for box in BOXES),
}
ENTRY = {
    "versions": ["2.1.2", "2.1.1"],
    "description": "Scatter operations",
    "licence": "MIT",
    "build_args": "--no-build-isolation",
    "extra_deps": ["setuptools", "wheel", "torch"],
    "test_import": ["torch", "torch_scatter"],
    "env": {"FORCE_CUDA": "1", "A_B": "x=y", "C": "2"},
}


def issue(folder: Path, **changed: str) -> Path:
    """Write an issue as GitHub does, with some answers changed."""
    answers = ANSWERS | {question.replace("_", " "): answer for question, answer in changed.items()}
    path = folder / "issue.md"
    path.write_text("\n\n".join(f"### {question}\n\n{answer}" for question, answer in answers.items()) + "\n")
    return path


def test_answers_become_an_entry_and_the_rest_is_for_a_person(tmp_path: Path) -> None:
    request = read_request(issue(tmp_path))
    assert (request.name, request.entry) == ("torch-scatter", ENTRY)
    assert request.left == ("$(id) is needed", '- "quotes"')


def test_a_repository_and_libraries_become_keys(tmp_path: Path) -> None:
    changed = {
        "Git_repository": "https://git.example/o/r@v{version}",
        "Its_name_on_the_package_index": "other: it is another project's, or a placeholder",
        "NVIDIA's_libraries": "cublas, nccl",
    }
    entry = read_request(issue(tmp_path, **changed)).entry
    assert entry["pypi"] == "other"
    assert entry["source"] == {"git": "https://git.example/o/r", "ref": "v{version}"}
    assert entry["toolkit"] == ["cublas", "nccl"]


@pytest.mark.parametrize("ticked", [0, 1])
def test_a_box_that_is_not_ticked_is_refused_by_name(ticked: int, tmp_path: Path) -> None:
    boxes = "\n".join(f"- [{'x' if place == ticked else ' '}] {box}" for place, box in enumerate(BOXES))
    (fault,) = faults_of(read_request, issue(tmp_path, Checked=boxes))
    assert fault.endswith(f": Checked: is not ticked: {BOXES[1 - ticked]}")


def test_lines_may_end_as_windows_ends_them_and_a_range_of_versions_stays_one(tmp_path: Path) -> None:
    path = issue(tmp_path, Versions=">=2.1,<3")
    path.write_bytes(codecs.BOM_UTF8 + path.read_bytes().replace(b"\n", b"\r\n"))
    assert read_request(path).entry == ENTRY | {"versions": ">=2.1,<3"}


@pytest.mark.parametrize("written", ["8.0;9.0", "8.0 9.0", "8.0, 9.0"])
def test_architectures_are_separated_as_torch_separates_them_or_by_commas(written: str, tmp_path: Path) -> None:
    assert read_request(issue(tmp_path, GPU_architectures=written)).entry["architectures"] == ["8.0", "9.0"]


def test_a_requirement_may_have_two_bounds(tmp_path: Path) -> None:
    entry = read_request(issue(tmp_path, Build_requirements="setuptools>=64, <80, ninja\ntorch")).entry
    assert entry["extra_deps"] == ["setuptools>=64, <80", "ninja", "torch"]


def test_the_form_asks_what_is_read() -> None:
    form: dict[str, Any] = yaml.safe_load(FORM.read_text())
    labels = [part["attributes"]["label"] for part in form["body"] if part["type"] != "markdown"]
    assert labels == [*ANSWERS]
    assert {*QUESTIONS} < {*labels}
    (boxes,) = (part["attributes"]["options"] for part in form["body"] if part["type"] == "checkboxes")
    assert [box["label"] for box in boxes] == [*BOXES]


@pytest.mark.parametrize(
    ("changed", "question", "fact"),
    [
        ({"Project": "$(id)"}, "Project", "$"),
        ({"Project": "`id`"}, "Project", "`"),
        ({"Project": "${{ github.token }}"}, "Project", "$"),
        ({"Project": "Torch_Scatter"}, "Project", "'torch-scatter'"),
        ({"Project": "a\nrunner: self-hosted"}, "Project", ""),
        ({"Project": "_No response_"}, "Project", ""),
        ({"Project": "[x](https://example.org)"}, "Project", ""),
        ({"Project": "[key]"}, "Project", ""),
        ({"Versions": "1.0; rm -rf /"}, "Versions", ""),
        ({"Versions": "_No response_"}, "Versions", ""),
        ({"Description": "two\nlines"}, "Description", ""),
        ({"Licence": "do what you like"}, "Licence", ""),
        ({"Build_requirements": "torch @ https://example.org/x"}, "Build requirements", "https://example.org/x"),
        ({"GPU_architectures": "all"}, "GPU architectures", ""),
        ({"Modules_to_import": "os; import sys"}, "Modules to import", ""),
        ({"Is it built in isolation?": "perhaps"}, "Is it built in isolation?", ""),
        ({"Git_repository": "https://git.example/o/r@1"}, "Its name on the package index", "same"),
        ({"Git_repository": "git.example/o/r"}, "Git repository", "https://"),
        ({"Git_repository": "https://git.example/o/r"}, "Git repository", "v{version}"),
        ({"Anything_else": "PATH=/tmp"}, "Anything else", "PATH"),
        ({"Anything_else": "X=$(id)"}, "Anything else", "$"),
        ({"Colour": "green"}, "Colour", ""),
    ],
)
def test_bad_answers_are_refused_by_question(tmp_path: Path, changed: dict[str, str], question: str, fact: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        read_request(issue(tmp_path, **changed))
    assert any(it.startswith("issue.md:") and f": {question}: " in it and fact in it for it in refused.value.faults)


def test_an_answer_cannot_bring_a_question_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, check=coded("configuration-invalid", "Licence: ")):
        read_request(issue(tmp_path, Anything_else="x\n\n### Licence\n\nGPL-3.0-only"))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        *((content, "issue.md:1:1") for content in (b"", b"please add flash-attn", b"\xff\xfe")),
        (b"#" * (MAX_BYTES + 1), "issue.md:1:1"),
        (None, "cannot be read"),
    ],
    ids=["empty", "no form", "no text", "too large", "not there"],
)
def test_other_files_are_refused(tmp_path: Path, content: bytes | None, said: str) -> None:
    if content is not None:
        (tmp_path / "issue.md").write_bytes(content)
    with pytest.raises(ConfigurationError, check=coded("configuration-invalid", said)):
        read_request(tmp_path / "issue.md")


DEMO = project_name("my-kernels")
PYPROJECT = (
    '[build-system]\nrequires = ["setuptools", "ninja>=1.11"]\n[project]\nname = "My_Kernels"\nversion = "1.2"\n'
)
SETUP = """
import os
from torch.utils.cpp_extension import CUDAExtension
raise SystemExit("was run")
forced = os.getenv("FORCE_CUDA", "0") == "1"
flags = ["-gencode=arch=compute_80,code=sm_80"]
setuptools.setup(name="my_kernels", version="1.10", ext_modules=[CUDAExtension("my_kernels._C", ["ops.cu"])])
"""
PLAIN = 'setup(ext_modules=[Extension("my_kernels._C", ["ops.cu"])])'


def content_of(folder: Path, *, setup: str = SETUP, pyproject: str = PYPROJECT, **given: str) -> dict[str, Any]:
    """What is written for a source, once it was read back."""
    for name, text in {"setup.py": setup, "ops.cu": "", "LICENSE": "Apache License\nVersion 2.0"}.items():
        (folder / name).write_text(text)
    if pyproject:
        (folder / "pyproject.toml").write_text(pyproject)
    text = own_text(survey_checkout(folder, **given), load_compatibility(own_installation.CONFIG))
    (folder / "wheelmill.yml").write_text(text)
    assert load_config(folder / "wheelmill.yml", check_ranges=True).packages.keys() == {DEMO}
    content: dict[str, Any] = yaml.safe_load(text)
    return content


def test_an_own_package_has_the_keys_that_a_survey_gives(tmp_path: Path) -> None:
    assert content_of(tmp_path)["packages"] == {
        "my-kernels": {
            "source": ".",
            "licence": "Apache-2.0",
            "build_args": "--no-build-isolation",
            "extra_deps": ["ninja>=1.11", "setuptools", "wheel", "torch"],
            "env": {"FORCE_CUDA": "1"},
            "gencode": "replace",
            "test_import": ["torch", "my_kernels._C"],
        }
    }


@pytest.mark.parametrize(
    ("dependency", "admitted"),
    [
        ("", lambda torches: torches[-TORCHES:]),
        ('"torch<=2.9"', lambda torches: [t for t in torches if t <= TorchVersion(2, 9)]),
    ],
)
def test_torches_are_the_newest_that_the_package_admits(
    dependency: str, admitted: Callable[[list[TorchVersion]], list[TorchVersion]], tmp_path: Path
) -> None:
    content_of(tmp_path, pyproject=f"{PYPROJECT}dependencies = [{dependency}]\n")
    config = load_config(tmp_path / "wheelmill.yml")
    window = config.packages[DEMO].window.torch
    assert window
    built = [torch for torch in sorted(config.compatibility.torch) if str(torch) in window]
    assert built == admitted(sorted(config.compatibility.torch))[-TORCHES:]
    assert config.packages[DEMO].versions == ("1.2",)


@pytest.mark.parametrize("required", [">=3.12", ">=3.12.4"])
def test_pythons_are_those_that_the_package_admits(required: str, tmp_path: Path) -> None:
    content = content_of(tmp_path, pyproject=f'{PYPROJECT}requires-python = "{required}"\n')
    assert content["defaults"]["python"] == ">=3.12"


def test_a_package_without_torch_is_built_in_isolation(tmp_path: Path) -> None:
    content = content_of(tmp_path, setup=PLAIN)
    entry = content["packages"]["my-kernels"]
    assert (entry["needs"], entry.get("build_args")) == ("cuda", None)
    assert "torch" not in content["defaults"]


def test_a_package_that_needs_a_driver_has_torches_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "my_kernels").mkdir()
    (tmp_path / "my_kernels" / "__init__.py").write_text("SM = torch.cuda.get_device_capability()\n")
    content = content_of(tmp_path)
    assert (content["packages"]["my-kernels"]["needs"], "torch" in content["defaults"]) == ("driver", True)


def test_torch_may_be_what_its_build_requires(tmp_path: Path) -> None:
    content = content_of(tmp_path, setup=PLAIN, pyproject=PYPROJECT.replace("ninja>=1.11", "torch"))
    assert content["packages"]["my-kernels"]["extra_deps"][-1] == "torch"


def test_setup_py_is_read_and_not_run(tmp_path: Path) -> None:
    assert content_of(tmp_path, pyproject="")["packages"]["my-kernels"]["versions"] == ["1.10"]


def test_a_version_that_is_read_from_git_is_not_written_down(tmp_path: Path) -> None:
    by_tags = PYPROJECT.replace("ninja>=1.11", "setuptools-scm").replace('version = "1.2"', 'dynamic = ["version"]')
    assert "versions" not in content_of(tmp_path, setup=PLAIN, pyproject=by_tags)["packages"]["my-kernels"]


@pytest.mark.parametrize(
    ("given", "code"), [({"version": "1.0"}, "project-name-unknown"), ({"name": "my-kernels"}, "version-unknown")]
)
def test_what_a_source_computes_must_be_said(given: dict[str, str], code: str, tmp_path: Path) -> None:
    computed = {"setup": PLAIN.replace("setup(", "setup(name=NAME, version=read('VERSION'), "), "pyproject": ""}
    with pytest.raises(UsageError, check=coded(code)):
        content_of(tmp_path, **computed, **given)
    entry = content_of(tmp_path, **computed, name="my-kernels", version="1.0")["packages"]["my-kernels"]
    assert entry["versions"] == ["1.0"]


@pytest.mark.parametrize("content", ["setup(", "\0", "(" * 10_000])
def test_a_setup_py_that_is_no_python_is_named(content: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, check=coded("setup-script-invalid", "setup.py")):
        content_of(tmp_path, setup=content)


def test_a_package_for_the_cpu_is_refused_before_anything_is_compiled(tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text('setup(name="demo", version="1", ext_modules=[Extension("a", ["a.cpp"])])')
    with pytest.raises(UsageError, check=coded("no-build-needed", "setup.py:1")):
        survey_checkout(tmp_path)


def test_ignored_files_of_a_checkout_are_not_read(tmp_path: Path) -> None:
    files = {".gitignore": "env\n", "setup.py": PLAIN, "ops.cu": "", "pyproject.toml": PYPROJECT}
    checkout = repository(Commit(files), checkout=True).copy(tmp_path / "demo")
    (checkout / "env").mkdir()
    (checkout / "env" / "other.cu").write_text("#include <torch/extension.h>")
    assert survey_checkout(checkout).entry["needs"] == "cuda"


def test_a_name_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, check=coded("project-name-invalid")):
        content_of(tmp_path, name="a b")


def test_the_workflow_calls_ours_at_one_commit() -> None:
    content = yaml.safe_load(workflow_text("me/wheelmill", "0" * 40))
    (job,) = content["jobs"].values()
    assert job["uses"] == f"me/wheelmill/.github/workflows/package.yml@{'0' * 40}"
    assert content["permissions"] == {}
