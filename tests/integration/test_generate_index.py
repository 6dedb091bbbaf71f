"""``scripts/generate_index.py`` over folders of wheels, and pip as its reader."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pypi_simple import IndexPage

from tests.commands import ROOT
from tests.integration.conftest import Command
from tests.wheels import write_wheel
from wheelmill.index.serve import serve_folder

LABELLED = "demo-1.0+cu130-py3-none-any.whl"
FOR_CUDA_128 = "demo-1.0+cu128-py3-none-any.whl"
UNLABELLED = "demo-1.0-py3-none-any.whl"
FOREIGN = "torch_scatter-2.1.2+rocm6.4-py3-none-any.whl"


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    """A folder of wheels."""
    for name in (LABELLED, FOR_CUDA_128, UNLABELLED, FOREIGN):
        write_wheel(tmp_path / "wheels" / name, files={"demo/__init__.py": name.encode()})
    return tmp_path / "wheels"


def generate(python: Command, wheels: Path, *, exit_code: int = 0) -> str:
    """Write ``site`` beside the folder of wheels; returns what was said."""
    folders = ("--wheels-dir", wheels, "--output-dir", wheels.parent / "site")
    done = python("scripts/generate_index.py", *folders, "--base-url", "../wheels", exit_code=exit_code)
    assert done.stdout == ""
    return done.stderr


def test_wheels_without_a_cuda_get_a_warning(python: Command, wheels: Path) -> None:
    assert [line.split()[:2] for line in generate(python, wheels).splitlines()] == [
        ["warning:", UNLABELLED],
        ["warning:", FOREIGN],
    ]
    projects = IndexPage.from_html((wheels.parent / "site" / "simple" / "index.html").read_bytes()).projects
    assert projects == ["demo", "torch-scatter"]


def test_a_name_that_no_release_may_have_gets_a_warning(python: Command, tmp_path: Path) -> None:
    torch = "torch-2.9.0+cu130-cp312-cp312-manylinux_2_28_x86_64.whl"
    write_wheel(tmp_path / "wheels" / torch)
    (line,) = generate(python, tmp_path / "wheels").splitlines()
    assert line.startswith(f"warning: {torch}: the name torch is reserved: installers would take this wheel for")
    assert torch.replace("+", "%2B") in (tmp_path / "site" / "cu130" / "simple" / "torch" / "index.html").read_text()


def test_an_empty_folder_gives_an_empty_index(python: Command, tmp_path: Path) -> None:
    (tmp_path / "wheels").mkdir()
    assert generate(python, tmp_path / "wheels") == ""
    assert IndexPage.from_html((tmp_path / "site" / "simple" / "index.html").read_bytes()).projects == []


def test_wheels_that_cannot_be_listed_are_left_out_and_named(python: Command, wheels: Path) -> None:
    (wheels / "broken-1.0-py3-none-any.whl").write_bytes(b"no zip")
    (wheels / "folder-1.0-py3-none-any.whl").mkdir()
    lines = generate(python, wheels, exit_code=9).splitlines()
    left_out = [line.partition(": left out ")[2].partition(":")[0] for line in lines]
    assert list(filter(None, left_out)) == ["broken-1.0-py3-none-any.whl", "folder-1.0-py3-none-any.whl"]
    projects = IndexPage.from_html((wheels.parent / "site" / "simple" / "index.html").read_bytes()).projects
    assert projects == ["demo", "torch-scatter"]


def test_wheels_that_contradict_each_other_are_named_and_nothing_written(python: Command, wheels: Path) -> None:
    write_wheel(wheels / "other" / LABELLED, files={"demo/__init__.py": b"other"})
    assert f"error: {LABELLED} has different bytes" in generate(python, wheels, exit_code=7)
    assert not (wheels.parent / "site").exists()


def test_wheels_in_folders_and_with_names_that_others_gave_them_are_listed(python: Command, tmp_path: Path) -> None:
    upstream = "flash_attn-2.8.3+cu12torch2.8cxx11abiTRUE-cp312-cp312-linux_x86_64.whl"
    write_wheel(tmp_path / "wheels" / "v2.8.3" / upstream)
    said = generate(python, tmp_path / "wheels")
    assert f"v2.8.3/{upstream}: filename: expected the version '2.8.3+cu12torch2.8cxx11abitrue'" in said
    page = (tmp_path / "site" / "simple" / "flash-attn" / "index.html").read_text()
    assert f'href="../../../wheels/v2.8.3/{upstream.replace("+", "%2B")}#sha256=' in page


def test_a_folder_that_is_not_there_is_a_usage_error(python: Command, tmp_path: Path) -> None:
    assert str(tmp_path / "wheels") in generate(python, tmp_path / "wheels", exit_code=2)


@pytest.fixture
def url(python: Command, wheels: Path) -> Iterator[str]:
    """Of the served index."""
    generate(python, wheels)
    with serve_folder(wheels.parent) as url:
        yield f"{url}site/"


def pip_download(index_url: str, requirement: str, destination: Path) -> subprocess.CompletedProcess[str]:
    """Have pip fetch one wheel, without this machine's own settings."""
    argv = [
        *(sys.executable, "-m", "pip", "download", "--no-deps", "--no-cache-dir"),
        *("--index-url", index_url, "--dest", str(destination), requirement),
    ]
    settings = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    env = settings | {"PIP_CONFIG_FILE": os.devnull}
    return subprocess.run(argv, env=env, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("tree", "requirement", "expected"),
    [
        ("", "demo==1.0+cu130", LABELLED),
        ("", "demo==1.0+cu128", FOR_CUDA_128),
        ("cu130/", "demo", LABELLED),
        ("cu128/", "demo", FOR_CUDA_128),
        ("", "torch-scatter", FOREIGN),
    ],
)
def test_pip_fetches_the_right_wheel(tree: str, requirement: str, expected: str, url: str, wheels: Path) -> None:
    destination = wheels.parent / "fetched"
    done = pip_download(f"{url}{tree}simple/", requirement, destination)
    assert done.returncode == 0, done.stderr
    (fetched,) = destination.iterdir()
    assert fetched.name == expected
    assert fetched.read_bytes() == (wheels / expected).read_bytes()


def test_pip_refuses_a_wheel_with_a_flipped_byte(url: str, wheels: Path, tmp_path: Path) -> None:
    content = bytearray((wheels / LABELLED).read_bytes())
    content[len(content) // 2] ^= 1
    (wheels / LABELLED).write_bytes(content)
    done = pip_download(f"{url}cu130/simple/", "demo", tmp_path / "fetched")
    assert done.returncode != 0
    assert "THESE PACKAGES DO NOT MATCH THE HASHES" in done.stderr


def test_an_interrupt_ends_it_without_a_traceback(wheels: Path) -> None:
    script = [str(ROOT / "scripts" / "generate_index.py"), "--wheels-dir", str(wheels), "--output-dir", "x"]
    code = (
        "import runpy, signal, sys; from wheelmill.index import collect\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a shell's background has it ignored
        "collect.site_of_folder = lambda *_, **__: signal.raise_signal(signal.SIGINT)\n"
        f"sys.argv = {[*script, '--base-url', 'x']}; runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=wheels, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.parametrize("empty", ["--wheels-dir", "--output-dir"])
def test_an_empty_path_is_refused(python: Command, wheels: Path, empty: str) -> None:
    words = {"--wheels-dir": wheels, "--output-dir": wheels.parent / "site", "--base-url": "../wheels"} | {empty: ""}
    done = python("scripts/generate_index.py", *(word for pair in words.items() for word in pair), exit_code=2)
    assert empty in done.stderr
    assert not (wheels.parent / "site").exists()
