"""Wheels in a folder with all that they need."""

import base64
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.refusals import coded
from tests.unit.build.conftest import package_index_of
from tests.wheels import write_wheel
from wheelmill.errors import IntegrityError, NetworkError, ProcessError
from wheelmill.installers.environments import another_system, mirror
from wheelmill.installers.uv import PYLOCK, compile_requirements
from wheelmill.names import Platform, PythonVersion
from wheelmill.system.files import sha256_of

INTEL = Platform.parse("linux_x86_64")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of this test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)  # which pip takes half a second to read
    return tmp_path / "cache" / "wheelmill" / "mirror"


@pytest.fixture
def wheels(tmp_path: Path) -> Iterator[Path]:
    """All that there is."""
    with package_index_of(tmp_path / "wheels") as folder:
        needs = "Metadata-Version: 2.1\nName: torch\nVersion: 2.11.0\nRequires-Dist: runtime\n"
        write_wheel(folder / "torch-2.11.0-py3-none-any.whl", metadata=needs)
        for name in (
            "runtime-1.0-cp312-cp312-manylinux_2_28_x86_64",
            "runtime-1.0-cp313-cp313-manylinux_2_17_x86_64",
            "runtime-0.9-cp312-cp312-manylinux_2_17_aarch64",
            "runtime-2.0-cp312-cp312-manylinux_2_34_x86_64",
        ):
            write_wheel(folder / f"{name}.whl")
        yield folder


def mirrored(folder: Path, *requirements: str, python: str = "3.12", platform: Platform = INTEL) -> set[str]:
    written = mirror(requirements, folder, python=PythonVersion.parse(python), platform=platform)
    assert set(written) == set(folder.iterdir())
    return {path.name for path in written}


@pytest.mark.parametrize(
    ("python", "platform", "runtime"),
    [
        ("3.12", "linux_x86_64", "runtime-1.0-cp312-cp312-manylinux_2_28_x86_64.whl"),
        ("3.13", "linux_x86_64", "runtime-1.0-cp313-cp313-manylinux_2_17_x86_64.whl"),
        ("3.12", "linux_aarch64", "runtime-0.9-cp312-cp312-manylinux_2_17_aarch64.whl"),
    ],
)
@pytest.mark.usefixtures("wheels")
def test_what_is_needed_comes_along_for_that_python_and_platform_and_an_old_glibc(
    python: str, platform: str, runtime: str, tmp_path: Path
) -> None:
    found = mirrored(tmp_path / "mirror", "torch==2.11.*", python=python, platform=Platform.parse(platform))
    assert found == {"torch-2.11.0-py3-none-any.whl", runtime}


@pytest.mark.usefixtures("wheels")
def test_what_is_for_an_extra_stays_away(tmp_path: Path) -> None:
    assert mirrored(tmp_path / "mirror", 'torch; extra == "all"') == set()


def test_who_needs_nothing_asks_no_index(tmp_path: Path) -> None:
    assert mirrored(tmp_path / "mirror") == set()


@pytest.mark.usefixtures("wheels")
def test_what_no_wheel_offers_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(ProcessError) as caught:
        mirrored(tmp_path / "mirror", "torch==2.99.*")
    assert "torch==2.99.*" in caught.value.tail


@pytest.mark.usefixtures("wheels")
def test_nothing_is_downloaded_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = mirrored(tmp_path / "first", "torch")
    monkeypatch.delattr(shutil, "copyfile")
    assert mirrored(tmp_path / "second", "torch") == first


def test_a_kept_wheel_whose_bytes_changed_is_downloaded_again(wheels: Path, cache: Path, tmp_path: Path) -> None:
    mirrored(tmp_path / "first", "torch")
    (kept,) = cache.glob("*/torch-*.whl")
    kept.write_bytes(b"changed")
    mirrored(tmp_path / "second", "torch")
    assert sha256_of(tmp_path / "second" / kept.name) == sha256_of(wheels / kept.name)


@contextmanager
def serving_with_password(folder: Path) -> Iterator[str]:
    expected = "Basic " + base64.b64encode(b"user:pass/word").decode()

    class Guarded(SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.headers["Authorization"] == expected:
                super().do_GET()
            else:
                self.send_error(HTTPStatus.UNAUTHORIZED)

        def do_HEAD(self) -> None:
            self.do_GET()

        def log_message(self, *_arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Guarded, directory=str(folder))) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://user:pass%2Fword@127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A wheel on an index that asks for a password; the folder with its one page is returned."""
    wheel = write_wheel(tmp_path / "site" / "torch-2.11.0-py3-none-any.whl")
    page = tmp_path / "site" / "torch" / "index.html"
    page.parent.mkdir()
    page.write_text(f'<a href="../{wheel.name}#sha256={sha256_of(wheel)}">{wheel.name}</a>')
    with serving_with_password(tmp_path / "site") as url:
        monkeypatch.setenv("UV_DEFAULT_INDEX", url)
        yield tmp_path / "site"


@pytest.mark.usefixtures("served")
def test_the_password_of_the_index_serves_its_files(tmp_path: Path) -> None:
    assert mirrored(tmp_path / "mirror", "torch") == {"torch-2.11.0-py3-none-any.whl"}


def test_other_bytes_than_the_index_says_are_not_kept(served: Path, cache: Path, tmp_path: Path) -> None:
    page = served / "torch" / "index.html"
    (said,) = (part[7:71] for part in page.read_text().split("#") if part.startswith("sha256="))
    page.write_text(page.read_text().replace(said, "0" * 64))
    with pytest.raises(IntegrityError, check=coded("hash-differs", "torch-2.11.0-py3-none-any.whl", "000", said)):
        mirrored(tmp_path / "mirror", "torch")
    assert not list(cache.rglob("*.whl"))


def test_a_file_that_is_gone_is_an_error_without_the_password(served: Path, tmp_path: Path) -> None:
    metadata = "torch-2.11.0-py3-none-any.whl.metadata"  # so that uv need not open the wheel
    (served / metadata).write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.11.0\n")
    page = served / "torch" / "index.html"
    page.write_text(page.read_text().replace("<a ", '<a data-core-metadata="true" '))
    (served / "torch-2.11.0-py3-none-any.whl").unlink()
    with pytest.raises(NetworkError, check=coded("status", "404")) as caught:
        mirrored(tmp_path / "mirror", "torch")
    assert "word" not in str(caught.value)


def test_uv_may_download_a_free_threaded_python_to_ask_for_its_tags() -> None:
    asked: list[str | Path] = []

    def run(arguments: Sequence[str | Path], folder: Path) -> str:
        asked.extend(arguments)
        (folder / PYLOCK).touch()
        return ""

    options = another_system(PythonVersion(3, 14, free_threaded=True), INTEL)
    compile_requirements(["demo"], *options, run=run)
    assert asked[asked.index("--python") + 1] == "3.14t"
    assert not any("downloads" in str(word) for word in asked)
