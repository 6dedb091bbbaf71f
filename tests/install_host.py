"""A host with what the pages on installing a wheel install, and a person who follows them."""

import base64
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from http.server import ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import BinaryIO, Final

from tests.commands import ROOT
from tests.machine_folders import BASE
from tests.releases import store_in
from tests.unit.release.conftest import NOW, certified_wheel
from tests.wheel_site import add_wheel
from wheelmill.config.load import load_config
from wheelmill.config.model.files import Listing
from wheelmill.index.serve import Files, serve_folder
from wheelmill.index.tree import Catalogue
from wheelmill.installers.uv import own_uv
from wheelmill.names import ProjectName
from wheelmill.pipeline.site import Stores, build_index, catalogue_of
from wheelmill.release.directory import DirectoryStore
from wheelmill.release.ledger.ledger import LedgerSummary
from wheelmill.release.publish import publish

HOST: Final = "https://HOST/"
"""In the pages, where the site of somebody's index is."""
PRIVATE: Final = "index.example"
"""In the pages, the host of an index that asks for a user and a password."""
PYTHON: Final = f"{sys.version_info.major}.{sys.version_info.minor}"
TAG: Final = f"cp{PYTHON.replace('.', '')}"
PLATFORM: Final = f"manylinux_2_28_{platform.machine()}"
OURS: Final = (("flash_attn-2.8.3", ("einops",)), ("apex-0.1", ("packaging",)))
"""What the index has for each of some labels, and what it requires."""
LABELS: Final = ("cu126torch2.11", "cu128torch2.11", "cu130torch2.11")
USUAL: Final = ("torch-2.11.0", "torch-2.12.0", "einops-0.8.1", "filelock-3.20.0", "apex-9.9")
"""What the package index has; its apex is another project."""
RIGHT: Final = {"flash-attn": "2.8.3+cu130torch2.11", "torch": "2.11.0"}
APEX: Final = {"apex": "0.1+cu130torch2.11", "torch": "2.11.0"}
"""What somebody with torch 2.11 for CUDA 13.0 has to get."""


class Asking(Files):
    """Gives files to those who say who they are."""

    known = f"Basic {base64.b64encode(b'me:s3cret').decode()}"

    def send_head(self) -> BinaryIO | None:
        if self.headers.get("Authorization") == self.known:
            return super().send_head()
        self.send_response(HTTPStatus.UNAUTHORIZED)
        self.send_header("WWW-Authenticate", 'Basic realm="wheels"')
        self.send_header("Content-Length", "0")
        self.end_headers()
        return None


@dataclass(frozen=True, kw_only=True)
class Host:
    """An index of wheels with the names in the pages, the usual package index, and torch's own ones, served here."""

    url: str
    private: str
    """Host and port of the same for those alone who say who they are."""
    store: DirectoryStore
    catalogue: Catalogue
    torch_index: str
    """Of torch's builds for a CUDA, as compatibility.yml has it, with ``{cuda}``."""
    cudas: tuple[str, ...]
    """Those of which torch's index is here: ``cu126``."""

    @property
    def usual(self) -> str:
        return f"{self.url}usual/simple/"

    def filled(self, text: str) -> str:
        """Put what is here into a text of a page."""
        for cuda in self.cudas:
            own = self.torch_index.format(cuda=cuda.removeprefix("cu")).rstrip("/")
            text = text.replace(own, f"{self.url}{cuda}/simple")
        text = text.replace(HOST, f"{self.url}site/").replace(f"machine {PRIVATE}", "machine 127.0.0.1")
        text = re.sub(rf"https://(\S*){PRIVATE}/", rf"http://\g<1>{self.private}/site/", text)
        return text.replace("3.12", PYTHON)

    def variables(self, home: Path, *, programs: tuple[Path, ...] = (), wheels: Path | None = None) -> dict[str, str]:
        """Those of a person with this package index, empty caches and ``programs`` beside uv, wheelmill and Python."""
        foreign = ("UV_", "PIP_", "VIRTUAL_", "CONDA_", "POETRY_", "PDM_", "HATCH_", "XDG_", "WHEELMILL_")
        (own := home / "bin").mkdir(parents=True, exist_ok=True)
        for program in (own_uv(), Path(sys.executable).with_name("wheelmill")):
            (own / program.name).symlink_to(program)  # and no more: nothing may be installed into the tests' own .venv
        path = (*programs, own, BASE.parent, "/usr/bin", "/bin")
        found = {"PIP_FIND_LINKS": str(wheels), "UV_FIND_LINKS": str(wheels)} if wheels else {}
        return {
            **{name: value for name, value in os.environ.items() if not name.startswith(foreign)},
            **found,
            "HOME": str(home),
            "PATH": os.pathsep.join(map(str, path)),
            "PIP_INDEX_URL": self.usual,
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "UV_DEFAULT_INDEX": self.usual,
            "UV_PYTHON_DOWNLOADS": "never",
            "POETRY_VIRTUALENVS_IN_PROJECT": "true",
            "PDM_CHECK_UPDATE": "0",
            "NO_COLOR": "1",
        }


@contextmanager
def host_of_the_pages(folder: Path, labels: Sequence[str] = LABELS) -> Iterator[Host]:
    """Release wheels with these labels, build the index of them with the shipped configuration, and serve it."""
    store = store_in(folder / "releases")
    torch_of = dict(label.split("torch") for label in labels)
    wheels = [
        certified_wheel(
            folder / "wheels" / f"{name}+{cuda}torch{torch}-{tag}-{tag}-{PLATFORM}.whl",
            requires=(f"torch=={torch}.*", *needs),
        )
        for name, needs in OURS
        for cuda, torch in torch_of.items()
        for tag in sorted({TAG, "cp311", "cp313"})  # of Debian's Python in an image, and of a second machine
    ]
    publish(store, wheels, now=NOW)
    shipped = load_config(ROOT / "config")
    names = {ProjectName(name.partition("-")[0].replace("_", "-")) for name, _ in OURS}
    config = replace(shipped, packages={name: shipped.packages[name] for name in names})  # all others take seconds
    catalogue = catalogue_of(config, LedgerSummary())
    stores = Stores(store=store, base_url="../releases", listing=Listing(), facts=config.compatibility)
    build_index(stores, folder / "site", catalogue=catalogue)
    for name in (*USUAL, "packaging-26.0"):
        is_torch = name.startswith("torch")
        requires, code = (("filelock",), "from torch.version import __version__") if is_torch else ((), "")
        add_wheel(folder / "usual", f"{name}-py3-none-any.whl", requires=requires, code=code)
    _add_source(folder / "usual", "flash_attn", "2.9.9")
    for cuda, torch in torch_of.items():
        add_wheel(folder / cuda, f"torch-{torch}.0+{cuda}-py3-none-any.whl", requires=("filelock",))
        add_wheel(folder / cuda, "filelock-3.20.0-py3-none-any.whl")  # torch's own index has what torch requires
    asking = ThreadingHTTPServer(("127.0.0.1", 0), partial(Asking, directory=str(folder)))
    with serve_folder(folder) as url, asking as private:
        Thread(target=private.serve_forever, args=(0.01,), daemon=True).start()
        yield Host(
            url=url,
            private=f"127.0.0.1:{private.server_port}",
            store=store,
            catalogue=catalogue,
            torch_index=config.compatibility.torch.index,
            cudas=tuple(torch_of),
        )
        private.shutdown()


def _add_source(site: Path, name: str, version: str) -> None:
    """Put a newer source distribution on the page of a project, which nothing may try to build."""
    page = site / "simple" / name.replace("_", "-") / "index.html"
    page.parent.mkdir(parents=True)
    file = f"{name}-{version}.tar.gz"
    (site / "files" / file).write_bytes(b"nobody may unpack this")
    page.write_text(f'<!DOCTYPE html><html><body><a href="../../files/{file}">{file}</a></body></html>')


def follow(script: str, folder: Path, variables: Mapping[str, str]) -> str:
    """Run what a person types, in a shell; returns what is printed."""
    (folder / ".typed").write_text(script)
    argv = ["bash", ".typed"]
    done = subprocess.run(argv, cwd=folder, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
    return done.stdout


def make_environment(place: Path, *requirements: str) -> None:
    """Make an environment with packages of the index that this machine is set to."""
    subprocess.run([own_uv(), "venv", "--quiet", "--python", BASE, place], check=True)
    if requirements:
        subprocess.run([own_uv(), "pip", "install", "--quiet", "--python", place, *requirements], check=True)


def installed_in(environment: Path) -> dict[str, str]:
    """The versions of what is in an environment, of the projects that the pages are about."""
    found = {}
    for path in environment.glob("lib/python*/site-packages/*.dist-info"):
        name, _, version = path.name.removesuffix(".dist-info").partition("-")
        found[name.replace("_", "-")] = version
    return {name: found[name] for name in ("flash-attn", "apex", "torch") if name in found}
