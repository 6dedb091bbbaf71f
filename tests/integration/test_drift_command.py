"""``wheelmill config drift`` and ``wheelmill config schema`` as a person meets them."""

import json
import os
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.integration.conftest import Command
from tests.torch_index import write_torch_index
from wheelmill.config.load import load_images
from wheelmill.config.model.container_builder import installed_builder
from wheelmill.index.serve import serve_folder
from wheelmill.names import Platform
from wheelmill.system import own_installation

Wheels = dict[str, tuple[str, ...] | None]

COMPATIBILITY = """\
cuda: {checked: 2026-11-21, source: "https://example.org/cuda", releases: {}}
torch:
  checked: 2026-11-21 # by hand
  source: "https://example.org/torch"
  index: "https://torch.example/cu{cuda}"
  releases:
    "2.11":
      release: "2.11.0"
      cuda: {linux_x86_64: ["12.8", "13.0"]}
      python: ["3.12"]
      default_cuda: "13.0"
      glibc: "2.28"
# What packages without torch are built for.
pythons: ["3.12"]
platforms: [linux_x86_64]
"""
BUILDER = installed_builder()
assert BUILDER
X86 = Platform.parse("linux_x86_64")
NEWEST_PYTHON = max(BUILDER.pythons(X86))
COMPATIBILITY = COMPATIBILITY.replace("\npythons: [", f'\npythons: ["{NEWEST_PYTHON}", ')
CUDA = '"{cuda}": {{toolkit: "{cuda}.1", host_gcc: 14, minimum_driver: "525.60.13", architectures: ["9.0"]}}'
CURRENT: Wheels = {"torch-2.11.0-cp312-cp312-manylinux_2_28_x86_64.whl": ("cuda-toolkit==13.0.2",)}
NEWER: Wheels = {"torch-2.12.1-cp312-cp312-manylinux_2_28_x86_64.whl": ("cuda-toolkit==13.2.1",)}
UNKNOWN: Wheels = {"torch-2.12.1-cp312-cp312-manylinux_2_28_x86_64.whl": None}
MISSING = "torch 2.12: missing (release 2.12.1, Python 3.12, CUDA 13.2)"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    directory = tmp_path / "config"
    directory.mkdir()
    (directory / "packages.yml").write_text("packages: {}\n")
    (directory / "compatibility.yml").write_text(COMPATIBILITY)
    return directory


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of the index that commands are set to."""
    root = tmp_path / "index"
    with serve_folder(root) as url:
        monkeypatch.setenv("UV_DEFAULT_INDEX", f"{url}simple/")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        yield root


@pytest.fixture
def run(python: Command) -> Command:
    """Run a command of ``wheelmill config``."""
    return partial(python, "-m", "wheelmill", "config")


def test_no_drift_is_silence(run: Command, index: Path, folder: Path) -> None:
    write_torch_index(index, CURRENT)
    done = run("drift", "--config", folder, exit_code=0)
    assert (done.stdout, done.stderr) == ("", "")


def test_a_name_that_was_free_and_is_taken_now_is_a_finding(run: Command, index: Path, folder: Path) -> None:
    claims = {"taken": "absent", "free": "absent", "gone": "same", "there": "same", "stranger": "other"}
    entries = [
        f'  {name}: {{versions: ["1.0"], source: {{git: "https://git.example/{name}", ref: main}}, pypi: {claim}}}\n'
        for name, claim in claims.items()
    ]
    (folder / "packages.yml").write_text(f"packages:\n{''.join(entries)}")
    write_torch_index(index, CURRENT)
    for name in ("taken", "there", "stranger"):
        (index / "simple" / name).mkdir()
        (index / "simple" / name / "index.html").write_text("<!DOCTYPE html><html><body></body></html>")
    done = run("drift", "--config", folder, exit_code=9)
    assert done.stdout.splitlines() == [
        "taken: pypi says 'absent', the package index has a project of this name: look whose it is",
        "gone: pypi says 'same', the package index has no project of this name: write 'absent'",
    ]
    told = json.loads(run("drift", "--config", folder, "--json", exit_code=9).stdout)["names"]
    assert told == [
        {"project": "taken", "file": "absent", "alias_of": None, "index": "a project"},
        {"project": "gone", "file": "same", "alias_of": None, "index": "no project"},
    ]


def test_a_name_of_an_alias_that_is_taken_is_a_finding(run: Command, index: Path, folder: Path) -> None:
    releases = ", ".join(CUDA.format(cuda=cuda) for cuda in ("12.8", "13.0"))
    (folder / "compatibility.yml").write_text(COMPATIBILITY.replace("releases: {}", f"releases: {{{releases}}}"))
    aliases = {"demo": "{suffix: true, extras: demo-gpu}", "mine": "{suffix: true, pypi: same}"}
    entries = (f'  {name}: {{versions: ["1.0"], aliases: {text}}}\n' for name, text in aliases.items())
    (folder / "packages.yml").write_text(f"packages:\n{''.join(entries)}")
    write_torch_index(index, CURRENT)
    for name in ("demo-cu13", "mine-cu12"):
        (index / "simple" / name).mkdir()
        (index / "simple" / name / "index.html").write_text("<!DOCTYPE html><html><body></body></html>")
    assert run("drift", "--config", folder, exit_code=9).stdout.splitlines() == [
        "demo-cu13: aliases.pypi of demo says 'absent', the package index has a project of this name: look whose it is",
        "mine-cu13: aliases.pypi of mine says 'same', the package index has no project of this name: write 'absent'",
    ]


def test_drift_is_one_line_a_difference_and_what_is_unknown_is_talk(run: Command, index: Path, folder: Path) -> None:
    write_torch_index(index, NEWER)
    done = run("drift", "--config", folder, exit_code=9)
    assert done.stdout == f"{MISSING}\n"
    assert done.stderr == "torch 2.11: the index has no wheels of it for linux x86_64\n"
    assert (folder / "compatibility.yml").read_text() == COMPATIBILITY


def test_drift_as_json(run: Command, index: Path, folder: Path) -> None:
    write_torch_index(index, NEWER)
    assert json.loads(run("drift", "--config", folder, "--json", exit_code=9).stdout) == {
        "schema": "wheelmill.config-drift/1",
        "differences": [
            {
                "torch": "2.12",
                "fact": "missing",
                "file": None,
                "index": {
                    "release": "2.12.1",
                    "cuda": {"linux_x86_64": ["13.2"]},
                    "python": ["3.12"],
                    "default_cuda": "13.2",
                    "glibc": "2.28",
                },
            }
        ],
        "names": [],
        "releases": [],
        "images": [],
        "unknown": ["torch 2.11: the index has no wheels of it for linux x86_64"],
    }


def test_what_was_written_is_no_drift_any_more(run: Command, index: Path, folder: Path) -> None:
    write_torch_index(index, CURRENT | NEWER)
    done = run("drift", "--config", folder, "--write", exit_code=0)
    first, *to_look_up = done.stdout.splitlines()
    assert first == f"{MISSING}; written with CUDA 13.2 on linux_x86_64"
    assert [line.split()[1].strip(",") for line in to_look_up] == ["index", "cxx", "glibc", "old_cxx_abi"]
    assert run("drift", "--config", folder, exit_code=0).stdout == ""
    run("check", folder, exit_code=0)
    assert "# by hand\n" in (folder / "compatibility.yml").read_text()


@pytest.mark.parametrize("own", ["3.13t", None])
def test_a_python_only_in_torchs_indexes_stays(run: Command, own: str | None, index: Path, folder: Path) -> None:
    """Nor is it lost where those indexes do not answer."""
    write_torch_index(index, CURRENT)
    path = folder / "compatibility.yml"
    url = f"{os.environ['UV_DEFAULT_INDEX'].removesuffix('simple/')}own/cu{{cuda}}/simple"
    cuda = '{"13.0": {toolkit: "13.0.2", minimum_driver: "580.65.06", host_gcc: 15, architectures: ["9.0"]}}'
    text = COMPATIBILITY.replace("releases: {}", f"releases: {cuda}", 1).replace('["3.12"]', '["3.12", "3.13t"]')
    path.write_text(text.replace("https://torch.example/cu{cuda}", url if own else "http://127.0.0.1:9/cu{cuda}"))
    write_torch_index(index / "own" / "cu130", {"torch-2.11.0+cu130-cp313-cp313t-manylinux_2_28_x86_64.whl": None})
    assert run("drift", "--config", folder, exit_code=0).stdout == ""


def test_a_new_torch_gets_the_cudas_and_platforms_of_its_own_indexes(run: Command, index: Path, folder: Path) -> None:
    write_torch_index(index, CURRENT | NEWER)
    path = folder / "compatibility.yml"
    url = f"{os.environ['UV_DEFAULT_INDEX'].removesuffix('simple/')}KIND/cu{{cuda}}/simple"
    release = '{toolkit: "%s", minimum_driver: "580.65.06", host_gcc: 15, architectures: ["9.0"]}'
    cudas = "".join(f'    "{cuda}": {release % f"{cuda}.1"}\n' for cuda in ("12.8", "13.0", "13.2"))
    text = COMPATIBILITY.replace("https://torch.example/cu{cuda}", url.replace("KIND", "own"))
    text = text.replace("  releases:", f'  test_index: "{url.replace("KIND", "test")}"\n  releases:', 1)
    head, tail = 'cuda:\n  checked: 2026-11-21\n  source: "https://example.org/cuda"\n', text.partition("\n")[2]
    path.write_text(f"{head}  releases:\n{cudas}{tail.replace('[linux_x86_64]', '[linux_x86_64, linux_aarch64]')}")
    for cuda in ("cu130", "cu132"):
        names = [
            f"torch-{version}+{cuda}-cp312-cp312-manylinux_2_28_{machine}.whl"
            for version in ("2.12.1", "2.11.0")
            for machine in ("x86_64", "aarch64")
        ]
        write_torch_index(index / "own" / cuda, dict.fromkeys(names))
    write_torch_index(index / "test" / "cu132", {"torch-2.13.0rc2+cu132-cp313-cp313-manylinux_2_28_x86_64.whl": None})

    done = run("drift", "--config", folder, "--write", exit_code=0)
    assert f"{MISSING}; written with CUDA 13.0, 13.2 on linux_x86_64 and 13.0, 13.2 on linux_aarch64\n" in done.stdout
    assert "torch 2.13rc2: missing (release 2.13.0rc2, Python 3.13, CUDA 13.2); written" in done.stdout
    run("check", folder, exit_code=0)
    assert run("drift", "--config", folder, exit_code=0).stdout == ""
    assert '  "candidates":\n    2.13rc2: {release: "2.13.0rc2", cuda: {linux_x86_64: ["13.2"]}' in path.read_text()


def test_what_was_written_reaches_the_facts_for_the_client(run: Command, index: Path, folder: Path) -> None:
    write_torch_index(index, CURRENT | NEWER)
    facts = folder / "compatibility.json"
    facts.touch()
    run("drift", "--config", folder, "--write", exit_code=0)
    assert json.loads(facts.read_text())["torch"]["releases"].keys() == {"2.11", "2.12"}


def test_what_cannot_be_written_stays_drift(run: Command, index: Path, folder: Path) -> None:
    write_torch_index(index, CURRENT | UNKNOWN)
    done = run("drift", "--config", folder, "--write", exit_code=9)
    assert done.stdout == (
        "torch 2.12: missing (release 2.12.1, Python 3.12, CUDA unknown);"
        " not written: the index does not tell all of it\n"
    )
    assert (folder / "compatibility.yml").read_text() == COMPATIBILITY


def test_newer_toolkits_and_images_are_drift(run: Command, index: Path, folder: Path) -> None:
    write_torch_index(index, CURRENT)
    releases = ", ".join(CUDA.format(cuda=cuda) for cuda in ("12.6", "12.8", "13.0"))
    (folder / "compatibility.yml").write_text(COMPATIBILITY.replace("releases: {}", f"releases: {{{releases}}}"))
    images = (own_installation.CONFIG / "images.yml").read_text()
    own = load_images(own_installation.CONFIG).manylinux.images[X86]
    old = images.replace(str(own), f"{own.name}:2026.01.01-1@sha256:{'0' * 64}")
    (folder / "images.yml").write_text(old)
    toolkits = ("12.6.9", "12.8.1", "13.0.1.0", "13.0.3.0", "13.1.0rc1", "13.1.0", "11.7.9")
    names = [*(f"cuda_toolkit-{each}-py2.py3-none-any.whl" for each in toolkits), "cuda_toolkit-99.0.tar.gz"]
    page = index / "simple" / "cuda-toolkit"
    page.mkdir()
    links = [f'<a href="{name}">{name}</a>' for name in names]
    yanked = '<a href="x" data-yanked="broken">cuda_toolkit-13.2.0-py3-none-any.whl</a>'
    (page / "index.html").write_text(f"<!DOCTYPE html><html><body>{''.join(links)}{yanked}</body></html>")
    lines = [
        "CUDA 13.0: 13.0.1, the package index has 13.0.3",
        "CUDA 13.0: 13.0.2, the package index has 13.0.3",  # of images.yml
        "CUDA 13.1: missing, the package index has 13.1.0",
    ]
    *told, image = run("drift", "--config", folder, exit_code=9).stdout.splitlines()
    assert told == lines
    assert image.startswith("manylinux.images.linux_x86_64: ")
    assert image.endswith(f" has {own}")
    assert run("drift", "--config", folder, "--write", exit_code=9).stdout.splitlines() == [*lines, f"{image}; written"]
    assert load_images(folder).manylinux.images[X86] == own
    assert run("drift", "--config", folder, exit_code=9).stdout.splitlines() == lines


def test_an_index_without_torch_is_an_error(run: Command, index: Path, folder: Path) -> None:
    index.mkdir()
    run("drift", "--config", folder, exit_code=2).check_refused("torch-not-in-index", "torch")


def test_facts_without_torch_have_no_drift_to_find(run: Command, folder: Path) -> None:
    head, _, rest = COMPATIBILITY.partition("  releases:\n")
    (folder / "compatibility.yml").write_text(f"{head}  releases: {{}}\n{rest[rest.index('# What') :]}")
    done = run("drift", "--config", folder, exit_code=2)
    done.check_refused("no-torch-listed", folder / "compatibility.yml")


@pytest.mark.parametrize(("command", "name"), [("drift", "compatibility.yml"), ("symbols", "torch-symbols.gz")])
def test_a_shipped_file_is_not_updated_elsewhere(run: Command, command: str, name: str, folder: Path) -> None:
    (folder / "compatibility.yml").unlink()
    done = run(command, "--config", folder, "--write", exit_code=2)
    done.check_refused("file-absent", folder / name)
    assert [path.name for path in folder.iterdir()] == ["packages.yml"]


def test_schemas_are_checked_and_written(run: Command, tmp_path: Path) -> None:
    directory = tmp_path / "[config]"
    shutil.copytree(own_installation.CONFIG, directory)
    (directory / "packages.schema.json").write_text("{}\n")
    done = run("schema", directory, exit_code=9)
    done.check_refused("schema-outdated", f"error: {directory}/packages.schema.json", "wheelmill config schema --write")
    done = run("schema", "--write", directory, exit_code=0)
    assert f"{directory}/packages.schema.json" in done.stderr
    run("schema", directory, exit_code=0)
