"""No command sends a credential to another origin; the private index, which leads elsewhere, is installed from."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.files import write_private
from tests.integration.conftest import Command
from tests.page_server import Answer, guarded, in_pieces
from tests.tls_hosts import Hosts
from tests.wheels import write_wheel
from wheelmill.client.install.installer import Pip
from wheelmill.system.progress import Progress

WHEEL, BESIDE = "demo-1.0-py3-none-any.whl", "beside-1.0-py3-none-any.whl"
INDEX, FILES = "https://index.example", "https://files.example"
WAYS = ("netrc", "credentials.toml", "keyring", "WHEELMILL_TOKEN_INDEX_EXAMPLE", "GITHUB_TOKEN", "URL")
TARGET = ("--python", "3.12", "--torch", "2.8", "--cuda", "12.8", "--platform", "linux_x86_64")
INTO = ("--python-path", ".venv/bin/python")
BASIC, TOKEN = "Basic bWU6czNjcmV0LXdvcmQ=", "Bearer s3cret-word"
BASIC_TABLE = 'username = "me"\npassword = "s3cret-word"\n'
SECRETS = (b"s3cret", BASIC.encode(), b"bWU6czNjcmV0LXdvcmQ")


@dataclass(frozen=True)
class Credential:
    """One way to have a credential for the private index."""

    header: str
    variables: Mapping[str, str]
    """Of a command; with the credential, or with the file that it is in."""
    source: str = f"{INDEX}/simple/"
    host: str = INDEX


@pytest.fixture(params=WAYS)
def credential(request: pytest.FixtureRequest, tmp_path: Path) -> Credential:
    match request.param:
        case "netrc":
            write_private(tmp_path / "netrc", "machine index.example login me password s3cret-word\n")
            return Credential(BASIC, {})
        case "credentials.toml":
            return Credential(BASIC, _file(tmp_path, f'["{INDEX}"]\n{BASIC_TABLE}'))
        case "keyring":
            _program(tmp_path / "bin" / "keyring", '[ "$*" = "get https://index.example me" ] && echo s3cret-word')
            found = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
            return Credential(BASIC, {**_file(tmp_path, f'["{INDEX}"]\nusername = "me"\n'), "PATH": found})
        case "GITHUB_TOKEN":
            own = {"GITHUB_TOKEN": "s3cret-word", "GITHUB_API_URL": "https://api.example"}
            return Credential(TOKEN, own, "github:a/b", "https://api.example")
        case "URL":
            return Credential(BASIC, {}, "https://me:s3cret-word@index.example/simple/")
        case name:
            return Credential(TOKEN, {name: "s3cret-word"})


def _file(folder: Path, text: str) -> dict[str, str]:
    return {"WHEELMILL_CREDENTIALS": str(write_private(folder / "credentials.toml", text))}


def _program(path: Path, script: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o700)
    return path


@pytest.fixture
def content(tmp_path: Path) -> bytes:
    metadata = "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\nRequires-Dist: beside\n"
    return write_wheel(tmp_path / "site" / WHEEL, metadata=metadata).read_bytes()


@pytest.fixture
def leading_away(hosts: Hosts, content: bytes) -> None:
    """The index leads to another server for the files of wheels, for further pages and by redirects."""
    digest = hashlib.sha256(content).hexdigest()
    asset = {"name": WHEEL, "browser_download_url": f"{FILES}/store/{WHEEL}", "digest": f"sha256:{digest}"}
    following = {"Content-Type": "application/json", "Link": f'<{FILES}/second>; rel="next"'}
    hosts.secure.pages |= {
        "/simple/demo/": Answer(f'<a href="/files/{WHEEL}#sha256={digest}">{WHEEL}</a>'.encode()),
        f"/files/{WHEEL}": Answer(status=302, headers={"Location": f"{FILES}/store/{WHEEL}"}),
        f"/store/{WHEEL}": in_pieces(content),
        "/elsewhere/": Answer(status=302, headers={"Location": f"{FILES}/links/"}),
        "/links/": Answer(f'<a href="{FILES}/store/demo-0.9-py3-none-any.whl">x</a>'.encode()),
        "/repos/a/b/releases?per_page=30": Answer(json.dumps([{"assets": [asset]}]).encode(), headers=following),
    }


@pytest.mark.usefixtures("leading_away")
def test_finding_shows_it_to_its_own_origin_only(credential: Credential, wheelmill: Command, hosts: Hosts) -> None:
    sources = ("--source", credential.source, "--source", f"{INDEX}/elsewhere/")
    wheelmill("resolve", "demo", *TARGET, *sources, **hosts.environment, **credential.variables)
    shown = {origin for origin, header in hosts.asked if header}
    assert shown == {credential.host}
    assert {header for origin, header in hosts.asked if origin == credential.host} <= {credential.header, None}
    assert (FILES, None) in hosts.asked


@pytest.mark.parametrize(
    "url",
    [
        "https://in-dex.example/simple/",
        "https://\u0131ndex.example/simple/",
        "https://index.example:8443/simple/",
        "http://index.example/simple/",
    ],
)
def test_an_origin_that_is_alike_is_shown_nothing(url: str, wheelmill: Command, hosts: Hosts, tmp_path: Path) -> None:
    tables = f'["{INDEX}"]\nusername = "me"\npassword = "s3cret-word"\n'
    variables = {"WHEELMILL_TOKEN_INDEX_EXAMPLE": "s3cret-word", **_file(tmp_path, tables)}
    wheelmill("resolve", "demo", *TARGET, "--source", url, exit_code=None, **hosts.environment, **variables)
    assert {header for _, header in hosts.asked} == {None}


def test_a_credential_with_a_line_break_ends_the_command(wheelmill: Command, hosts: Hosts) -> None:
    source = ("--source", f"{INDEX}/simple/")
    broken = {"WHEELMILL_TOKEN_INDEX_EXAMPLE": "s3cret\nX-Evil: 1"}
    done = wheelmill("resolve", "demo", *TARGET, *source, exit_code=2, **hosts.environment, **broken)
    done.check_refused("credentials-invalid", "WHEELMILL_TOKEN_INDEX_EXAMPLE")
    assert "s3cret" not in done.stderr
    assert hosts.asked == []


def test_a_file_with_faults_ends_the_command(wheelmill: Command, hosts: Hosts, tmp_path: Path) -> None:
    variables = _file(tmp_path, '["https://index.example"]\npassword = "s3cret"\n["index.example"]\ntoken = "s3cret"\n')
    done = wheelmill(
        "resolve", "demo", *TARGET, "--source", f"{INDEX}/simple/", exit_code=2, **hosts.environment, **variables
    )
    assert done.stderr.count("credentials.toml: ") == 2
    assert "s3cret" not in done.stderr


def test_what_a_private_index_refuses_says_where_a_credential_belongs(wheelmill: Command, hosts: Hosts) -> None:
    hosts.secure.pages["/simple/demo/"] = guarded(Answer(b""), BASIC)
    done = wheelmill("resolve", "demo", *TARGET, "--source", f"{INDEX}/simple/", exit_code=10, **hosts.environment)
    done.check_refused("sources-silent", "credentials.toml", "WHEELMILL_TOKEN_INDEX_EXAMPLE")


Written = Callable[[], list[Path]]


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """The files of a command, and its caches, in which a secret stands."""
    given = {"netrc", "credentials.toml", "keyring", "bin"}

    def find() -> list[Path]:
        return [
            path
            for path in tmp_path.rglob("*")
            if path.is_file()
            and not given & set(path.relative_to(tmp_path).parts)
            and any(secret in path.read_bytes() for secret in SECRETS)
        ]

    return find


@pytest.mark.parametrize("status", [200, 401])
def test_no_file_or_output_has_a_urls_password(status: int, wheelmill: Command, hosts: Hosts, written: Written) -> None:
    link = f'<a href="https://them:s3cret@files.example/{WHEEL}#sha256={"0" * 64}">{WHEEL}</a>'
    hosts.secure.pages["/simple/demo/"] = Answer(link.encode(), status)
    source = "https://me:s3cret-word@index.example/simple/"
    variables = {**hosts.environment, "WHEELMILL_SOURCES": f"{source} find-links:{source}"}
    for command in (("explain", "demo", "--json"), ("search", "--json"), ("add", "demo", "--no-look", "--no-sync")):
        done = wheelmill(*command, exit_code=None, **variables)
        assert "index.example" in done.stdout + done.stderr
        assert "s3cret" not in done.stdout + done.stderr
    assert (INDEX, BASIC) in hosts.asked
    assert written() == []


@pytest.mark.usefixtures("leading_away")
@pytest.mark.parametrize("tool", ["uv", "poetry", "pdm", None])
def test_another_machine_asks_the_source_of_a_project_with_its_own_credential(
    tool: str | None, wheelmill: Command, hosts: Hosts, written: Written, tmp_path: Path
) -> None:
    hosts.secure.pages["/simple/demo/"] = guarded(hosts.secure.pages["/simple/demo/"], BASIC)
    file = tmp_path / ("pyproject.toml" if tool else "requirements.txt")
    file.write_text(f'[project]\nname = "x"\nversion = "1"\n[tool.{tool}]\nx = 1\n' if tool else "")
    variables = {**hosts.environment, "WHEELMILL_SOURCES": f"find-links:{FILES}/none/"}
    ways = ("--no-look", *TARGET)
    source = "https://me:s3cret-word@index.example/simple/"
    done = wheelmill("add", "demo", "--no-sync", "--source", source, *ways, **variables)
    assert "credentials.toml" in done.stderr
    text = file.read_text()
    other = {**variables, "XDG_CACHE_HOME": tmp_path / "other", **_file(tmp_path, f'["{INDEX}"]\n{BASIC_TABLE}')}
    for command in (("explain", "demo"), ("resolve", "demo"), ("update", "--no-sync")):
        done = wheelmill(*command, *ways, **other)
        assert WHEEL in done.stdout + done.stderr, command
    assert file.read_text() == text
    assert written() == []
    variables["XDG_CACHE_HOME"] = str(tmp_path / "third")
    done = wheelmill("update", "--no-sync", *ways, exit_code=10, **variables)
    done.check_refused("sources-silent", "WHEELMILL_TOKEN_INDEX_EXAMPLE")
    assert {origin for origin, header in hosts.asked if header} == {INDEX}


INDEX_OF = {
    "UV_INDEX": '[tool.uv]\nindex = [{name = "our-1.0", url = "URL", explicit = true}]\n'
    'sources = {demo = {index = "our-1.0"}}\n',
    "POETRY_HTTP_BASIC": '[tool.poetry.dependencies]\ndemo = {source = "our-1.0"}\n'
    '[[tool.poetry.source]]\nname = "our-1.0"\nurl = "URL"\npriority = "explicit"\n',
    "PDM_INDEX": '[[tool.pdm.source]]\nname = "x"\ninclude_packages = ["demo"]\n'
    'url = "https://${PDM_INDEX_OUR_1_0_USERNAME}:${PDM_INDEX_OUR_1_0_PASSWORD}@index.example/simple/"\n',
}


@pytest.mark.usefixtures("leading_away")
@pytest.mark.parametrize("prefix", INDEX_OF)
def test_variables_of_a_tool(prefix: str, wheelmill: Command, hosts: Hosts, written: Written, tmp_path: Path) -> None:
    hosts.secure.pages["/simple/demo/"] = guarded(hosts.secure.pages["/simple/demo/"], BASIC)
    tables = INDEX_OF[prefix].replace("URL", f"{INDEX}/simple/")
    project = f'[project]\nname = "x"\nversion = "1"\ndependencies = ["demo==1.0"]\n{tables}'
    (tmp_path / "pyproject.toml").write_text(project)
    variables = {**hosts.environment, "WHEELMILL_SOURCES": f"{FILES}/none/"}
    named = {f"{prefix}_OUR_1_0_USERNAME": "me", f"{prefix}_OUR_1_0_PASSWORD": "s3cret-word"}
    wheelmill("update", "--no-sync", *TARGET, exit_code=10, **variables).check_refused("sources-silent", *named)
    for _ in range(2):
        wheelmill("update", "--no-sync", *TARGET, **variables, **named)
    assert "s3cret" not in (tmp_path / "pyproject.toml").read_text()
    assert {origin for origin, header in hosts.asked if header} == {INDEX}
    assert written() == []


def test_a_file_of_sources_is_no_place_for_a_password(wheelmill: Command, tmp_path: Path, written: Written) -> None:
    sources = tmp_path / "bin" / "sources.yml"
    sources.parent.mkdir()
    sources.write_text("sources:\n  mine:\n    simple: https://me:s3cret@index.example/simple/\n")
    done = wheelmill("search", "--source", sources, exit_code=2)
    done.check_refused("configuration-invalid", "sources.yml", "https://index.example/simple/")
    assert "s3cret" not in done.stderr
    assert written() == []


@pytest.fixture
def private(hosts: Hosts, credential: Credential, content: bytes, tmp_path: Path) -> dict[str, str]:
    """Variables for an index that refuses everybody else and is the machine's own; uv notes its arguments."""
    beside = write_wheel(tmp_path / "site" / BESIDE).read_bytes()
    for name, body in ((WHEEL, content), (BESIDE, beside)):
        link = f'<a href="/files/{name}#sha256={hashlib.sha256(body).hexdigest()}">{name}</a>'
        hosts.secure.pages[f"/simple/{name.partition('-')[0]}/"] = guarded(Answer(link.encode()), credential.header)
        hosts.secure.pages[f"/files/{name}"] = guarded(in_pieces(body), credential.header)
    subprocess.run([sys.executable, "-m", "venv", tmp_path / ".venv"], check=True)
    real = shutil.which("uv", path=Path(sys.executable).parent)
    _program(tmp_path / "bin" / "uv", f'echo "$*" >>{tmp_path / "arguments"}\nexec {real} "$@"')
    index = credential.source if credential.source.startswith("https://") else f"{INDEX}/simple/"
    return {
        **hosts.environment,
        **credential.variables,
        "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "UV_DEFAULT_INDEX": index,
        "UV_CACHE_DIR": str(tmp_path / "uv"),
        "UV_TORCH_BACKEND": "cpu",
        "UV_CREDENTIALS_DIR": str(tmp_path / "uvs-own"),
        "WHEELMILL_SOURCES": index,
    }


@pytest.mark.real
@pytest.mark.parametrize("credential", [each for each in WAYS if each != "GITHUB_TOKEN"], indirect=True)
def test_what_can_be_resolved_can_be_added_locked_and_installed(
    private: dict[str, str], wheelmill: Command, hosts: Hosts, written: Written, tmp_path: Path
) -> None:
    for command in (("resolve", "demo"), ("add", "demo", *INTO), ("lock", "demo"), ("update", *INTO), ("sync", *INTO)):
        done = wheelmill(*command, **private)
        assert "s3cret" not in done.stdout + done.stderr
    installed = {path.name for path in (tmp_path / ".venv").rglob("*.dist-info")}
    assert {"demo-1.0.dist-info", "beside-1.0.dist-info"} <= installed
    assert {origin for origin, header in hosts.asked if header} == {INDEX}
    assert written() == []
    assert "s3cret" not in (tmp_path / "arguments").read_text()


@pytest.mark.real
@pytest.mark.parametrize("credential", ["credentials.toml", "keyring", "URL"], indirect=True)
def test_pip_installs_from_a_private_index_what_uv_is_not_there_for(
    private: dict[str, str], hosts: Hosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in private.items():
        monkeypatch.setenv(name, value)
    pip = Pip(python=tmp_path / ".venv" / "bin" / "python", progress=Progress())
    pip.install([], ["beside"], alone=False, torch_place=None)
    assert any((tmp_path / ".venv").rglob("beside-1.0.dist-info"))
    assert {origin for origin, header in hosts.asked if header} == {INDEX}
