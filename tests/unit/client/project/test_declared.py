"""The indexes of a project's tool are sources, tied to what they are tied to there."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.refusals import coded
from tests.unit.client.targets import INDEX, candidate, resolution
from wheelmill.client.project.find import find_project
from wheelmill.client.records import Source
from wheelmill.errors import UsageError
from wheelmill.names import project_name

PROJECT = '[project]\nname = "mine"\nversion = "1"\ndependencies = ["torch==2.11.*", "flash-attn==2.8.3"]\n'
UV = '[[tool.uv.index]]\nname = "kernels"\nurl = "https://a.example/simple/"\n'
NAMES_UV = '[tool.uv.sources]\nflash-attn = { index = "kernels" }\n'
POETRY = '[tool.poetry.dependencies]\nflash_attn = { source = "kernels" }\n[[tool.poetry.source]]\nname = "kernels"\n'
PDM = '[[tool.pdm.source]]\nname = "kernels"\nurl = "https://a.example/simple/"\n'
TORCH_INDEX = '[[tool.uv.index]]\nname = "torch"\nurl = "https://t.example/whl/cu130"\n'
A, FOR_ALL, FLASH = "https://a.example/simple/", frozenset[str](), frozenset({"flash-attn"})


def sources(folder: Path, files: Mapping[str, str], place: str = ".") -> list[tuple[str, frozenset[str]]]:
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return [(each.url, each.projects) for each in find_project(folder / place).sources]


@pytest.mark.parametrize(
    ("tables", "found"),
    [
        (UV, [(A, FOR_ALL)]),
        (UV + NAMES_UV, [(A, FLASH), (A, FOR_ALL)]),
        (UV + "explicit = true\n" + NAMES_UV, [(A, FLASH)]),
        ((UV + "explicit = true\n" + NAMES_UV).replace("kernels", "wheelmill-a"), []),
        (TORCH_INDEX, [("https://t.example/whl/cu130", {"torch"})]),
        (UV.replace("https://a.example/simple/", "./wheels") + 'format = "flat"\n', []),
        ('[tool.uv]\nindex-url = "https://a.example/simple/"\nfind-links = ["https://b.example/"]\n',
         [(A, FOR_ALL), ("https://b.example/", FOR_ALL)]),
        (POETRY + 'url = "https://a.example/simple/"\npriority = "explicit"\n', [(A, FLASH)]),
        (POETRY + 'url = "https://a.example/simple/"\npriority = "supplemental"\n', [(A, FLASH), (A, FOR_ALL)]),
        ('[[tool.poetry.source]]\nname = "PyPI"\npriority = "primary"\n', []),
        (PDM + 'include_packages = ["flash-attn"]\nexclude_packages = ["*"]\n', [(A, FLASH)]),
        ('[tool.wheelmill]\nsources = {flash-attn = ["github:a/b"]}\n',
         [("https://api.github.com/repos/a/b/releases", FLASH)]),
    ],
)  # fmt: skip
def test_an_index_is_for_what_names_it_or_for_all(tables: str, found: list[object], tmp_path: Path) -> None:
    assert sources(tmp_path, {"pyproject.toml": PROJECT + tables}) == found


def test_indexes_of_a_workspace_and_of_uv_toml_count(tmp_path: Path) -> None:
    root = UV + '[tool.uv.workspace]\nmembers = ["member"]\n'
    settings = '[[index]]\nname = "all"\nurl = "https://b.example/simple/"\n'
    files = {"pyproject.toml": root, "member/uv.toml": settings, "member/pyproject.toml": PROJECT + NAMES_UV}
    all_of_b = ("https://b.example/simple/", FOR_ALL)
    assert {*sources(tmp_path, files, "member")} == {(A, FLASH), (A, FOR_ALL), all_of_b}


def test_options_of_a_requirements_file_are_for_all(tmp_path: Path) -> None:
    text = "-i https://a.example/simple/\n--find-links=https://b.example/?x=1 # ours\n-f ./wheels\nflash-attn==2.8.3\n"
    assert sources(tmp_path, {"requirements.txt": text}) == [(A, FOR_ALL), ("https://b.example/?x=1", FOR_ALL)]


@pytest.mark.parametrize(
    ("tables", "key"),
    [
        ('[[tool.uv.index]]\nname = "x"\nurl = "https://[a/"\n', "tool.uv.index[0].url"),
        ('[[tool.pdm.source]]\nname = "x"\nurl = "ftp://a.example/"\n', "tool.pdm.source[0].url"),
        (f'[tool.uv]\nextra-index-url = ["https://{"a" * 5000}/"]\n', "tool.uv.extra-index-url"),
        ('[tool.wheelmill.sources]\nflash-attn = "github:x"\n', "tool.wheelmill.sources.flash-attn"),
    ],
)
def test_a_value_that_is_no_source_is_named_with_its_key(tables: str, key: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, check=coded("source-invalid", "pyproject.toml", key)):
        sources(tmp_path, {"pyproject.toml": PROJECT + tables})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", PROJECT + UV + NAMES_UV + TORCH_INDEX),
        ("pyproject.toml", PROJECT + POETRY + 'url = "https://a.example/simple/"\n'),
        ("pyproject.toml", PROJECT + PDM + 'include_packages = ["flash-attn"]\n'),
        ("pyproject.toml", PROJECT.replace("==2.8.3", "") + "[tool.uv.sources]\n"
         'flash-attn = { url = "https://a.example/flash_attn-2.8.3+cu130-cp312-cp312-linux_x86_64.whl" }\n'),
        ("requirements.txt", "--only-binary flash-attn\ntorch==2.11.0\nflash-attn==2.8.3\n"),
        ("requirements.txt", "flash-attn @ https://a.example/flash_attn-2.8.3+cu130-cp312-cp312-linux_x86_64.whl\n"),
    ],
)  # fmt: skip
def test_wheels_that_are_pinned_by_hand_are_asked_for(name: str, text: str, tmp_path: Path) -> None:
    sources(tmp_path, {name: text})
    assert [str(each) for each in find_project(tmp_path).asked] == ["flash-attn==2.8.3"]


@pytest.mark.parametrize("name", ["pyproject.toml", "requirements.txt"])
def test_the_source_of_a_wheel_is_kept_replaced_and_removed_with_it(name: str, tmp_path: Path) -> None:
    sources(tmp_path, {name: PROJECT.replace(', "flash-attn==2.8.3"', "") if name == "pyproject.toml" else ""})

    def add(source: Source) -> list[tuple[str, frozenset[str]]]:
        wheel = candidate("flash_attn-2.8.3+cu130torch2.11-cp312-cp312-linux_x86_64.whl", source=source)
        find_project(tmp_path).add([Requirement("flash-attn")], [resolution(wheel)]).write()
        return [(each.url, each.projects) for each in find_project(tmp_path).sources]

    for given in ("https://a.example/simple/", "https://b.example/simple/"):
        assert (given, FLASH) in add(Source(name="x", kind=INDEX.kind, url=given, given=given))
        assert (given, FLASH) in add(INDEX)  # it was not named by an option
    find_project(tmp_path).remove([project_name("flash-attn")]).write()
    assert "b.example" not in (tmp_path / name).read_text()
