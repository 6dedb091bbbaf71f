"""Cases of docs/when-it-does-not-work.md, produced on purpose: pip and uv say what the page says, and it mends them."""

import itertools
import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Thread

import pip
import pytest

from tests.commands import ROOT
from tests.integration.conftest import Command
from tests.page_server import Answer, PageServer, links_page
from tests.tls_hosts import Hosts
from tests.trouble_page import sections
from tests.wheels import write_wheel
from wheelmill.installers.uv import own_uv

LABELLED = "1.0+cu130torch2.11"
SOURCE = {
    "PKG-INFO": b"Metadata-Version: 2.1\nName: flash-attn\nVersion: 1.0\n",
    "pyproject.toml": b"[build-system]\nrequires = []\nbuild-backend = 'own'\nbackend-path = ['.']\n",
    "own.py": b"def get_requires_for_build_wheel(_settings):\n    import torch\n",
}
"""As of a package whose setup.py imports torch; a backend of its own needs nothing else that is not here."""
PIP = Path(pip.__file__).with_name("__pip-runner__.py")
"""What ``pip --python`` starts, too, in an environment that has none, after it has started itself."""
OF_PROXIES = ("WARNING", "  cause: tunnel", "  cause: dns")


class AskingProxy(StreamRequestHandler):
    """Wants a name and a password (RFC 9110, section 15.5.8)."""

    def handle(self) -> None:
        for _ in iter(self.rfile.readline, b"\r\n"):
            pass
        self.wfile.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")


@dataclass(frozen=True)
class Installers:
    """pip and uv without this machine's own settings, and an environment for both."""

    folder: Path
    environment: Mapping[str, str]

    def __call__(self, *words: str | Path, variables: Mapping[str, str] | None = None, fails: bool = False) -> str:
        """Run one of them as a person types it, and return what it printed."""
        uv = [own_uv(), *words[1:], "--python", self.folder / "env"]
        argv = uv if words[0] == "uv" else [self.folder / "env" / "bin" / "python", PIP, *words[1:]]
        env = {**self.environment, **(variables or {})}
        done = subprocess.run(argv, cwd=self.folder, env=env, capture_output=True, text=True, check=False)
        assert (done.returncode != 0) == fails, done.stdout + done.stderr
        return done.stdout + done.stderr

    def installed(self) -> str:
        """What the environment has, as requirements."""
        return next(line for line in self("uv", "pip", "freeze").splitlines() if "==" in line)


@pytest.fixture
def installers(tmp_path: Path) -> Installers:
    folder = tmp_path / "installers"
    folder.mkdir()
    subprocess.run([own_uv(), "venv", "--quiet", "--python", sys.executable, folder / "env"], check=True)
    foreign = re.compile("(PIP|UV|SSL|REQUESTS|CURL)_.*|.*_proxy|COLUMNS", re.IGNORECASE)
    ours = {name: value for name, value in os.environ.items() if not foreign.fullmatch(name)}
    own = {"PIP_CONFIG_FILE": os.devnull, "UV_NO_CONFIG": "1", "UV_NO_CACHE": "1", "PIP_NO_CACHE_DIR": "1"}
    return Installers(folder, ours | own | {"PIP_RETRIES": "1", "UV_HTTP_RETRIES": "0", "no_proxy": "127.0.0.1"})


def put(server: PageServer, project: str, *files: Path) -> str:
    """Add a project to an index, and return the address of that index."""
    server.pages[f"/simple/{project}/"] = Answer(links_page(*(path.name for path in files), sha256=None))
    for path in files:
        name = path.name.replace("+", "%2B")
        server.pages[f"/simple/{project}/{name}"] = Answer(path.read_bytes(), headers={"Content-Type": "x/y"})
    return f"{server.url}/simple/"


def wheel(folder: Path, version: str, tag: str = "py3-none-any") -> Path:
    metadata = f"Metadata-Version: 2.1\nName: demo\nVersion: {version}\n"
    return write_wheel(folder / f"demo-{version}-{tag}.whl", metadata=metadata, files={"demo.py": b""})


def source(folder: Path) -> Path:
    """A source distribution."""
    path = folder / "flash_attn-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, content in SOURCE.items():
            entry = tarfile.TarInfo(f"flash_attn-1.0/{name}")
            entry.size = len(content)
            archive.addfile(entry, BytesIO(content))
    return path


def refusals(printed: str) -> set[str]:
    """What installers say of wheels that they refuse, without versions and names."""
    told = re.compile(r"^(?:ERROR: .*not a supported.*|hint: .*|.*no wheels with a matching.*)$", re.MULTILINE)
    differs = re.compile(r"`[^`]*`|\d[\d.]*|\S+\.whl|^.*(?=no wheels)|,? we can .*")
    return {differs.sub("", line) for line in told.findall(printed)}


def lines_of(title: str, *but: str) -> set[str]:
    """The messages of a section without those that begin so."""
    return {line for line in sections()[title].said if not line.startswith(but)}


def test_an_automatic_source_build_is_forbidden(installers: Installers, server: PageServer, tmp_path: Path) -> None:
    section = sections()["A source build starts by itself"]
    index = dict.fromkeys(("UV_DEFAULT_INDEX", "PIP_INDEX_URL"), put(server, "flash-attn", source(tmp_path)))
    seen = set()
    for words in (("pip", "install"), ("uv", "pip", "install")):
        seen |= section.seen_in(installers(*words, "flash-attn", fails=True, variables=index))
        forbidden = (*words, "--only-binary", "flash-attn", "flash-attn")
        assert " ".join(forbidden) in section.commands
        seen |= section.seen_in(installers(*forbidden, fails=True, variables=index))
    compiling = ("Building wheel", "OSError: CUDA_HOME", "The detected CUDA version")
    assert seen == lines_of("A source build starts by itself", *compiling)


def test_of_two_indexes_the_higher_version_of_a_stranger_is_taken_and_what_protects(
    installers: Installers, server: PageServer, other_server: PageServer, tmp_path: Path
) -> None:
    section = sections()["Another project is installed"]
    ours = put(server, "demo", wheel(tmp_path, LABELLED))
    usual = put(other_server, "demo", wheel(tmp_path, "9.0"))
    set_to = {"PIP_INDEX_URL": usual, "UV_DEFAULT_INDEX": usual}
    printed = installers("pip", "install", "--extra-index-url", ours, "demo", variables=set_to)
    assert section.seen_in(printed.replace("http://", "https://")) == set(section.said)
    protected = [line.replace("https://HOST/cu130/torch2.11/simple/", ours).split() for line in section.commands]
    protected += [["pip", "install", "--extra-index-url", ours, f"demo=={LABELLED}"]]
    protected += [["uv", "pip", "install", "--extra-index-url", ours, "demo"]]
    for words in protected:
        installers("uv", "pip", "uninstall", "demo")
        installers(*words, variables=set_to)
        assert installers.installed() == f"demo=={LABELLED}", words
    installers("uv", "pip", "install", "--reinstall", "--index-url", ours, "demo", variables=set_to)
    assert installers.installed() == "demo==9.0"  # as the page says of --index-url


def test_doctor_names_what_is_usual(
    wheelmill: Command, installers: Installers, other_server: PageServer, tmp_path: Path
) -> None:
    usual = put(other_server, "demo", wheel(tmp_path, "1.0"))
    installers("uv", "pip", "install", "demo", variables={"UV_DEFAULT_INDEX": usual})
    lock = tmp_path / "requirements.txt"
    lock.write_text(f"demo=={LABELLED}\n")
    done = wheelmill("doctor", "--offline", "--python-path", installers.folder / "env", "--project", lock, exit_code=9)
    done.check_refused("faults-found", "demo 1.0: unlabelled: ")
    assert done.stderr.splitlines()[-2:] == [
        "error: 1 fault",
        f'hint: explained in {ROOT}/docs/when-it-does-not-work.md: "Another project is installed"',
    ]


def test_an_own_authority_is_trusted(wheelmill: Command, installers: Installers, hosts: Hosts, tmp_path: Path) -> None:
    section, there = sections()["Proxy and certificates"], wheel(tmp_path, "1.0")
    put(hosts.secure, "demo", there)
    trust = {"SSL_CERT_FILE", "PIP_CERT"}
    behind = {name: value for name, value in hosts.environment.items() if "proxy" in name.lower()}
    index, seen = "https://index.example/simple/", set()
    install = {"pip": ("pip", "install"), "uv": ("uv", "pip", "install")}
    for words in install.values():
        seen |= section.seen_in(installers(*words, "--index-url", index, "demo", fails=True, variables=behind))
    assert seen == lines_of("Proxy and certificates", *OF_PROXIES)
    find = ("resolve", "demo", "--no-look", "--source", index, "--python", "3.12")
    said = wheelmill(*find, exit_code=10, **behind, SSL_CERT_FILE="", SSL_CERT_DIR="").stderr
    assert "SSL_CERT_FILE" in said
    assert "3 times" not in said
    assert trust <= {word.partition("=")[0].split()[-1] for word in section.commands}
    trusted = behind | {name: hosts.environment[name] for name in trust}
    for words in install.values():
        installers(*words, "--index-url", index, "demo", variables=trusted)
    assert there.name in wheelmill(*find, **trusted).stderr


@pytest.mark.parametrize(
    ("given", "shown"),
    [("http://me:secret@127.0.0.1:9", "http://127.0.0.1:9"), ("me:secret@127.0.0.1:9", "http://127.0.0.1:9")],
)
def test_the_proxy_that_is_in_the_way_is_named_without_its_password(wheelmill: Command, given: str, shown: str) -> None:
    find = ("resolve", "demo", "--source", "https://index.example/simple/", "--python", "3.12")
    proxies = {"HTTPS_PROXY": given, "https_proxy": given, "NO_PROXY": "", "no_proxy": ""}
    said = wheelmill(*find, exit_code=10, **proxies).stderr
    assert shown in said
    assert "secret" not in said
    direct = wheelmill(
        *find, exit_code=10, **proxies | {"NO_PROXY": "index.example", "no_proxy": "index.example"}
    ).stderr
    assert "proxy" not in direct


def test_a_proxy_that_is_gone_is_told_by_its_name(installers: Installers) -> None:
    section, seen = sections()["Proxy and certificates"], set()
    with ThreadingTCPServer(("127.0.0.1", 0), AskingProxy) as asking:
        Thread(target=asking.serve_forever, args=(0.01,), daemon=True).start()
        proxies = ("http://127.0.0.1:9", f"http://127.0.0.1:{asking.server_address[1]}", "")
        for proxy, words in itertools.product(proxies, (("pip", "install"), ("uv", "pip", "install"))):
            index = ("--index-url", "https://index.example/simple/")
            seen |= section.seen_in(installers(*words, *index, "demo", fails=True, variables={"HTTPS_PROXY": proxy}))
        asking.shutdown()
    assert {line for line in section.said if line.startswith(OF_PROXIES)} <= seen


@pytest.mark.parametrize("title", ["A wheel for another machine", "glibc too old"])
def test_a_wrong_python_or_linux_is_refused_in_these_words(title: str, installers: Installers, tmp_path: Path) -> None:
    ours, newer = (f"cp3{sys.version_info.minor + more}" for more in (0, 1))
    tags = {
        "A wheel for another machine": (f"{newer}-{newer}-manylinux_2_17_x86_64", "cp38-cp38-any"),
        "glibc too old": (f"{ours}-{ours}-manylinux_2_99_x86_64",),
    }
    seen = set()
    for tag in tags[title]:
        there = wheel(tmp_path, LABELLED, tag)
        for words in (("pip", "install"), ("uv", "pip", "install")):
            seen |= refusals(installers(*words, there, fails=True))
    said = (line for line in sections()[title].said if not line.startswith("ImportError"))
    assert {each for line in said for each in refusals(line)} <= seen


def test_a_module_of_ones_own_is_imported_in_place_of_torch(tmp_path: Path) -> None:
    (section,) = (each for title, each in sections().items() if title == "Something else is imported")
    (tmp_path / "torch.py").write_text("import torch\ntorch.Tensor\n")
    argv = [sys.executable, "-c", "import torch"]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert len(section.seen_in(done.stderr)) == 1, done.stderr


def test_bytes_of_another_hash_are_refused_as_shown(installers: Installers, server: PageServer, tmp_path: Path) -> None:
    section = sections()["Not what was locked"]
    url = f"{put(server, 'demo', wheel(tmp_path, '1.0'))}demo/demo-1.0-py3-none-any.whl"
    requirements = tmp_path / "requirements.txt"
    requirements.write_text(f"demo @ {url} --hash=sha256:{'0' * 64}\n")
    seen = section.seen_in(installers("pip", "install", "--require-hashes", "-r", requirements, fails=True))
    seen |= section.seen_in(installers("uv", "pip", "install", "--require-hashes", "-r", requirements, fails=True))
    assert seen == set(section.said)
