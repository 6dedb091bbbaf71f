"""What is wrong with gpkg 0.4.3, and what wheelmill does instead: a test for every defect that was confirmed.

The numbers are those under which the defects were written down; each docstring says what gpkg does.
"""

import json
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.commands import ROOT
from tests.files import write_private
from tests.integration.conftest import Command
from tests.page_server import Answer, PageServer, links_page, page_server
from tests.tls_hosts import Hosts
from tests.unit.client.targets import LINUX
from tests.wheels import wheel_name, write_wheel
from wheelmill.build.provenance import identity_of, inputs_of, this_machine
from wheelmill.cli.shared.local_builds import local_target
from wheelmill.config.load import load_config
from wheelmill.names import Architecture, Gpu
from wheelmill.system import own_installation

MACHINE = ("--python", "3.12", "--platform", "linux_x86_64", "--libc", "2.34")
TARGET = (*MACHINE, "--torch", "2.8", "--cuda", "12.8")

Taken = Callable[..., str | None]


@pytest.fixture
def taken(wheelmill: Command, server: PageServer) -> Taken:
    """The wheel that is chosen among wheels of these names, all on one page; None with exit code 8."""

    def among(*names: str, wanted: str = "demo", target: tuple[str, ...] = ()) -> str | None:
        server.pages["/wheels/"] = Answer(links_page(*names))
        options = ("--no-look", "--no-cache", "--json", *TARGET, *target)
        done = wheelmill("resolve", wanted, *options, exit_code=None)
        resolved = list(json.loads(done.stdout)["resolved"].values())
        assert done.returncode == (0 if resolved else 8)
        return resolved[0]["filename"] if resolved else None

    return among


def test_01_a_token_stays_on_its_server(
    wheelmill: Command, server: PageServer, other_server: PageServer, tmp_path: Path
) -> None:
    """gpkg sends GitHub's token and its own to every server: pages of links, registries and what they name."""
    (tmp_path / "registry.toml").write_text(
        f'[[sources]]\npackage = "demo"\ntype = "find-links"\nurl_template = "{server.url}/registered/"\n'
    )
    with page_server() as known:
        sources = ("github:a/b", f"{known.url}/simple/", f"{server.url}/simple/", f"{server.url}/links/")
        own = write_private(tmp_path / "credentials.toml", f'["{known.url}"]\ntoken = "own"\n')
        tokens = {"GITHUB_TOKEN": "github", "GITHUB_API_URL": other_server.url, "WHEELMILL_CREDENTIALS": own}
        words = [f"--source={word}" for word in (*sources, "registry.toml")]
        wheelmill("resolve", "demo", *TARGET, *words, exit_code=8, **tokens)
    assert other_server.authorizations == ["Bearer github"]
    assert {path: headers["Authorization"] for path, headers in known.asked} == {
        "/simple/": "Bearer own",  # the names that may be meant
        "/simple/demo/": "Bearer own",
    }
    assert {path: headers["Authorization"] for path, headers in server.asked} == dict.fromkeys(
        ("/links/", "/registered/", "/simple/", "/simple/demo/")
    )


def test_02_netrc_is_read(wheelmill: Command, hosts: Hosts, tmp_path: Path) -> None:
    """gpkg's README says that ~/.netrc is read, and the server sees no credential."""
    write_private(tmp_path / "netrc", "machine index.example login somebody password word\n")
    source = ("--source", "https://index.example/simple/")
    wheelmill("resolve", "demo", *TARGET, *source, exit_code=8, **hosts.environment)
    assert set(hosts.asked) == {("https://index.example", "Basic c29tZWJvZHk6d29yZA==")}


def test_03_wheels_are_for_the_targets_processor(taken: Taken) -> None:
    """gpkg takes any manylinux wheel: the one for aarch64 on x86_64 where it comes first."""
    arm, intel = wheel_name(platform="manylinux_2_28_aarch64"), wheel_name()
    assert taken(arm, intel) == intel
    assert taken(arm) is None
    assert taken(intel, arm, target=("--platform", "linux_aarch64")) == arm


def test_04_free_threaded_wheels_are_for_free_threaded_python(taken: Taken) -> None:
    """gpkg takes a cp313t wheel for a Python 3.13 with a GIL."""
    free, usual = wheel_name(tag="cp313-cp313t"), wheel_name(tag="cp313-cp313")
    assert taken(free, usual, target=("--python", "3.13")) == usual
    assert taken(free, target=("--python", "3.13")) is None
    assert taken(usual, free, target=("--python", "3.13t")) == free


def test_05_final_releases_come_before_pre_releases(taken: Taken) -> None:
    """gpkg takes 2.8.3.dev1 of 2.8.3, 2.8.3.dev1 and 2.8.3.rc1: it compares the digits."""
    assert taken(*map(wheel_name, ("2.8.3.dev1", "2.8.3", "2.8.3rc1", "2.8.4rc1"))) == wheel_name("2.8.3")
    assert taken(*map(wheel_name, ("2.8.3.dev1", "2.8.3rc1"))) == wheel_name("2.8.3rc1")


def test_06_links_with_hashes_and_in_single_quotes_are_read(wheelmill: Command, server: PageServer) -> None:
    """gpkg drops links with #sha256= and those in single quotes: an index with hashes has no wheels for it."""
    server.pages["/wheels/"] = Answer(f"<a href='{wheel_name()}#sha256={'a1' * 32}'>x</a>".encode())
    done = wheelmill("resolve", "demo", "--no-look", *TARGET, "--json")
    found = json.loads(done.stdout)["resolved"]["demo"]
    assert (found["url"], found["sha256"]) == (f"{server.url}/wheels/{wheel_name()}", "a1" * 32)


@pytest.mark.parametrize("wanted", [("demo", "other"), ("other",)])
def test_07_json_is_the_only_thing_on_stdout(wheelmill: Command, server: PageServer, wanted: tuple[str, ...]) -> None:
    """gpkg prints a banner before its JSON, and no JSON when nothing was found."""
    server.pages["/wheels/"] = Answer(links_page(wheel_name()))
    content = json.loads(wheelmill("resolve", "--no-look", *wanted, *TARGET, "--json", exit_code=8).stdout)
    assert content["schema"] == "wheelmill.resolve/1"
    assert list(content["resolved"]) == [name for name in wanted if name == "demo"]
    assert content["unresolved"] == {"other": "no source has a wheel of it"}


def test_08_a_lock_is_toml_whatever_a_source_says(wheelmill: Command, server: PageServer, tmp_path: Path) -> None:
    """gpkg writes its lock without escaping: a quote in a description breaks the install that reads it."""
    wheel = write_wheel(tmp_path / "demo-1.0-py3-none-any.whl")
    server.pages |= {
        "/it's/": Answer(links_page(wheel.name, sha256=None)),
        f"/it's/{wheel.name}": Answer(wheel.read_bytes()),
    }
    (tmp_path / "registry.toml").write_text(
        '[[sources]]\npackage = "demo"\ndescription = """says "hello" """\ntype = "find-links"\n'
        f'url_template = "{server.url}/it\'s/"\n'
    )
    for _ in range(2):  # the second run reads what the first one wrote
        wheelmill("lock", "demo", "--source", "registry.toml", "--no-look", UV_TORCH_BACKEND="cpu")
    (package,) = tomllib.loads((tmp_path / "pylock.toml").read_text())["packages"]
    assert package["wheels"][0]["url"] == f"{server.url}/it's/{wheel.name}"


LOCK = f"""\
lock-version = "1.0"
environments = ["sys_platform == 'linux' and platform_machine == 'x86_64'"]
created-by = "a test"
[[packages]]
name = "demo"
version = "1.0"
[[packages.wheels]]
name = "demo-1.0-py3-none-any.whl"
url = "http://127.0.0.1:1/demo-1.0-py3-none-any.whl"
hashes = {{sha256 = "{"0" * 64}"}}
"""


def test_09_no_file_is_overwritten_and_a_lock_is_for_its_platform(wheelmill: Command, tmp_path: Path) -> None:
    """gpkg's install -o pyproject.toml replaces the file, takes a lock for Windows, and ignores further arguments.

    That install installs is shown by real/test_client_project.py.
    """
    (tmp_path / "pylock.toml").write_text(LOCK)
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "mine"\n')
    install = ("install", "--lock", "pylock.toml")
    wheelmill(*install, "-o", "pyproject.toml", exit_code=2)
    wheelmill(*install, "stray", exit_code=2)
    wheelmill("resolve", "demo", *TARGET, "-o", "pyproject.toml", exit_code=2)
    done = wheelmill(*install, "--platform", "win_amd64", exit_code=8)
    done.check_refused("lock-for-another")
    assert (tmp_path / "pyproject.toml").read_text() == '[project]\nname = "mine"\n'


def test_10_an_empty_folder_becomes_a_whole_project(wheelmill: Command, server: PageServer, tmp_path: Path) -> None:
    """gpkg writes [project] without name and version, which uv refuses, and says Updated whatever it did.

    That uv takes the project, and pip where there is no uv, is shown by real/test_client_project.py.
    """
    server.pages["/wheels/"] = Answer(links_page(wheel_name()))
    add = ("add", "demo", "--no-sync", "--no-look", *TARGET)
    wheelmill(*add)
    text = (tmp_path / "pyproject.toml").read_text()
    project = tomllib.loads(text)["project"]
    assert project["name"]
    assert (project["version"], project["requires-python"]) == ("0.1.0", "==3.12.*")
    wheelmill(*add)
    assert (tmp_path / "pyproject.toml").read_text() == text


def test_11_dependencies_are_changed_where_they_stand(wheelmill: Command, server: PageServer, tmp_path: Path) -> None:
    """gpkg leaves torch==2.5.0 beside wheels for torch 2.8, and lists flash-attn a second time."""
    old, new = (wheel_name(label=f"cu124torch{torch}", project="flash_attn") for torch in ("2.5", "2.8"))
    server.pages["/wheels/"] = Answer(links_page(old, new))
    pyproject = tmp_path / "pyproject.toml"
    before = '[project]\nname = "a"\nversion = "1"\ndependencies = ["torch==2.5.0", "Flash_Attn~=1.0"] # two\n'
    pyproject.write_text(before)
    add = ("add", "flash-attn", "--no-sync", "--no-look", *MACHINE, "--cuda", "12.4")
    refused = wheelmill(*add, "--torch", "2.8", exit_code=2)
    refused.check_refused("dependency-conflict", "torch==2.5.0", "2.8")
    assert pyproject.read_text() == before
    wheelmill(*add)
    torch, flash = tomllib.loads(pyproject.read_text())["project"]["dependencies"]
    assert torch == "torch==2.5.0"
    assert old.replace("+", "%2B") in flash


@pytest.mark.usefixtures("index")
def test_12_a_package_without_a_wheel_is_a_failure(wheelmill: Command, server: PageServer, tmp_path: Path) -> None:
    """gpkg exits with 0 when it found any of the packages, and leaves the others out of project and lock.

    Nor is the target's Python downloaded to find that out.
    """
    server.pages["/wheels/"] = Answer(links_page(wheel_name()))
    for command in (("resolve",), ("add", "--no-sync"), ("lock",), ("install",)):
        done = wheelmill(
            *command, "demo", "other", "--no-look", *TARGET, exit_code=8, UV_PYTHON_INSTALL_MIRROR=server.url
        )
        done.check_refused("no-wheel", "other")
    assert {path for path, _ in server.asked} == {"/wheels/"}
    assert not list(tmp_path.glob("*.toml"))


@pytest.mark.parametrize("version", ["1.0", "2.8.3rc1", "1!2.0"])
def test_13_every_version_counts(taken: Taken, version: str) -> None:
    """gpkg knows versions of three numbers only, rejects build numbers, and takes a signature for a wheel."""
    wheel = wheel_name(version)
    built = [wheel.replace("-cp312", f"-{build}cp312", 1) for build in ("", "2-", "10-", "9-")]
    assert taken(f"{wheel_name('9.0')}.asc", *built) == built[2]


def test_14_cuda_has_minor_releases(taken: Taken) -> None:
    """gpkg reads --cuda 12 as 1.2, and refuses a wheel for CUDA 12.8 where the target has 12.9."""
    older, newer = wheel_name(label="cu126torch2.8"), wheel_name(label="cu128torch2.8")
    assert taken(older, newer, target=("--cuda", "129")) == newer
    assert taken(wheel_name(label="cu129torch2.8")) is None
    assert taken(wheel_name(label="cu118torch2.8")) is None
    assert taken(older, newer, wheel_name(label="cu130torch2.8"), target=("--cuda", "12")) == newer


def test_15_requirements_have_versions_and_any_spelling(taken: Taken) -> None:
    """gpkg does not find pkg==1.0.0, nor flash_attn where its registry says flash-attn."""
    names = [wheel_name(version, project="flash_attn") for version in ("1.0.0", "2.0.0")]
    assert taken(*names, wanted="Flash_Attn<2") == names[0]
    assert taken(*names, wanted="flash.attn==2.*") == names[1]


def test_16_ranges_of_torch_are_ranges(taken: Taken, wheelmill: Command, server: PageServer, tmp_path: Path) -> None:
    """gpkg passes over 2.9.0andhigher for torch 2.11, takes ~=2.4 for any torch, and refuses ==2.4.0 for 2.4."""
    wheel = wheel_name(label="cu128torch2.9.0andhigher.post1")
    assert taken(wheel, target=("--torch", "2.11")) == wheel
    assert taken(wheel) is None
    server.pages["/wheels/"] = Answer(links_page(wheel_name(label="cu128")))
    for wanted, hint in (("~=2.8", ""), ("==2.8.1", ""), ("~=2.9,<2.11", "--torch 2.9")):
        (tmp_path / "registry.toml").write_text(
            f'[[sources]]\npackage = "demo"\ntype = "find-links"\nurl_template = "{server.url}/wheels/"\n'
            f'torch_compat = "{wanted}"\n'
        )
        resolve = ("resolve", "demo", "--no-look", *TARGET, "--source", "registry.toml")
        assert hint in wheelmill(*resolve, exit_code=8 if hint else 0).stderr


@pytest.mark.usefixtures("index")
def test_17_what_was_built_here_is_found_by_its_inputs(taken: Taken, wheelmill: Command, tmp_path: Path) -> None:
    """gpkg compares built wheels as text, keeps those for torch 2.8 and 2.8.0 apart, all GPUs' alike, and for ever."""
    assert taken(wheel_name("2.9.0"), wheel_name("2.10.0")) == wheel_name("2.10.0")
    environment = replace(LINUX, gpus=(Gpu(capability=Architecture(9, 0)),))
    target = local_target(Requirement("torch-spline-conv"), environment, load_config(own_installation.CONFIG))
    identity = identity_of(inputs_of(target, this_machine(), "auto"))
    name = wheel_name(str(target.cell.version), label="cu130torch2.11", project="torch_spline_conv")
    write_wheel(tmp_path / "cache" / "wheelmill" / "built-here" / identity / name)
    add = ("add", "torch-spline-conv", "--no-sync", *MACHINE, "--cuda", "130")
    wheelmill(*add, "--torch", "2.11", "--gpu", "8.0", exit_code=8)
    for options in (("--torch", "2.11"), ("--torch", "2.11.0", "--build")):
        assert name in wheelmill(*add, *options, "--gpu", "9.0").stderr
    before, cleaned = (json.loads(wheelmill("cache", word, "--json").stdout)["files"] for word in ("info", "clean"))
    assert before == cleaned
    assert not list((tmp_path / "cache").rglob("*.whl"))


@pytest.mark.parametrize("age", ["soon", "7", "d", "-1d", "7y", "99999999999d"])
def test_18_an_age_that_is_none_is_refused(wheelmill: Command, age: str) -> None:
    """gpkg ends in a traceback."""
    assert "--older-than" in wheelmill("cache", "clean", f"--older-than={age}", exit_code=2).stderr


def test_18_brackets_are_printed(wheelmill: Command, server: PageServer, tmp_path: Path) -> None:
    """gpkg's --explain prints its patterns without [a-z]: it takes them for markup."""
    server.pages["/wheels/"] = Answer(links_page(wheel_name()))
    entry = {"description": "for [a-z]", "find_links": f"{server.url}/wheels/"}
    (tmp_path / "own.yml").write_text(json.dumps({"sources": {"[red]": entry}}))
    own = ("--source", "own.yml")
    assert "for [a-z]" in wheelmill("search", *own).stdout
    assert "[[red]]" in wheelmill("explain", "demo", *TARGET, *own).stdout
    assert "[red]" in wheelmill("resolve", "demo", "--no-look", *TARGET, *own).stderr


def test_19_wheels_for_certain_gpus_need_one_of_them(wheelmill: Command, server: PageServer, tmp_path: Path) -> None:
    """gpkg takes a wheel for sm_120 only where there is no GPU, and FlashAttention 3 for any GPU."""
    server.pages["/wheels/"] = Answer(links_page(wheel_name()))
    entry = {"find_links": f"{server.url}/wheels/", "gpus": ["12.0"]}
    (tmp_path / "own.yml").write_text(json.dumps({"sources": {"blackwell": entry}}))
    resolve = ("resolve", "demo", "--no-look", *TARGET, "--source", "own.yml")
    wheelmill(*resolve, exit_code=8).check_refused("no-wheel", "--gpu", "12.0")
    wheelmill(*resolve, "--gpu", "sm_90", exit_code=8)
    wheelmill(*resolve, "--gpu", "sm_120")
    shipped = wheelmill("search", "flash-attn-3", "--source", ROOT / "config" / "sources.yml", "--json").stdout
    alone = [each["gpus"] for each in json.loads(shipped)["sources"] if each["projects"] == ["flash-attn-3"]]
    assert alone == [["8.0", "9.0a"]] * 2


@pytest.mark.parametrize(("cuda", "abi"), [("12.4", "FALSE"), ("12.6", "TRUE")])
def test_20_the_abi_is_that_of_the_torch(taken: Taken, cuda: str, abi: str) -> None:
    """gpkg always takes the wheel with the new C++ ABI; torch 2.6 for CUDA 12.4 was published with the old one."""
    names = {abi: wheel_name(label=f"cu12torch2.6cxx11abi{abi}") for abi in ("TRUE", "FALSE")}
    assert taken(*names.values(), target=("--torch", "2.6", "--cuda", cuda)) == names[abi]


def test_21_wheels_need_no_newer_c_library(taken: Taken) -> None:
    """gpkg takes manylinux_2_34 wheels on an older glibc, and musllinux wheels on any Linux."""
    new, old = wheel_name("2.0", platform="manylinux_2_34_x86_64"), wheel_name("1.0")
    assert taken(new, old, target=("--libc", "2.28")) == old
    musl = wheel_name(platform="musllinux_1_2_aarch64")
    assert taken(musl, target=("--platform", "linux_aarch64")) is None
    assert taken(musl, target=("--platform", "linux_aarch64", "--libc", "musl 1.2")) == musl


@pytest.fixture
def with_rocm(tmp_path: Path) -> Path:
    """A project's environment with a torch for ROCm, as far as it is looked at."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / ".venv"], check=True)
    (packages,) = (tmp_path / ".venv" / "lib").glob("python*/site-packages")
    (packages / "torch").mkdir()
    (packages / "torch" / "__init__.py").write_text("raise ImportError('no need to import it')\n")
    (packages / "torch" / "version.py").write_text("__version__ = '2.8.0+rocm6.4'\ncuda = None\nhip = '6.4'\n")
    return tmp_path / ".venv" / "bin" / "python"


def test_21_the_torch_that_counts_is_the_projects(wheelmill: Command, server: PageServer, with_rocm: Path) -> None:
    """gpkg imports torch into its own interpreter, which has none after uv tool install, and knows of CUDA only."""
    version = f"cp{sys.version_info.major}{sys.version_info.minor}"
    server.pages["/wheels/"] = Answer(links_page(wheel_name(tag=f"{version}-{version}", platform="linux_x86_64")))
    found = json.loads(wheelmill("environment", "--json").stdout)
    assert (found["interpreter"], found["torch_release"]) == (str(with_rocm), "2.8.0+rocm6.4")
    done = wheelmill("explain", "demo", exit_code=0)
    assert "cuda: is built for CUDA 12.8, " in done.stdout


def test_21_every_page_of_releases_is_read(wheelmill: Command, server: PageServer) -> None:
    """gpkg reads the first few releases of a repository."""
    json_type = {"Content-Type": "application/json"}
    link = {"Link": f'<{server.url}/second>; rel="next"'}
    asset = {"name": wheel_name(), "browser_download_url": f"{server.url}/{wheel_name()}", "size": 7}
    server.pages["/repos/a/b/releases?per_page=30"] = Answer(b"[]", headers=json_type | link)
    server.pages["/second"] = Answer(json.dumps([{"assets": [asset]}]).encode(), headers=json_type)
    wheelmill("resolve", "demo", "--no-look", *TARGET, "--source", "github:a/b", GITHUB_API_URL=server.url)


@pytest.mark.parametrize(
    ("answer", "said", "exit_code"),
    [
        (Answer(status=403, headers={"X-RateLimit-Remaining": "0"}), "GitHub", 10),
        (Answer(status=429, headers={"Retry-After": "90"}), "90 seconds", 10),
        (Answer(status=410), "410 Gone", 8),
    ],
)
def test_21_a_silent_server_is_named(
    wheelmill: Command, server: PageServer, answer: Answer, said: str, exit_code: int
) -> None:
    """gpkg takes a failure for an empty page and exits with 0, knows of 403 only, and then ends there and then."""
    server.pages |= {"/busy/": answer, "/wheels/": Answer(links_page(wheel_name()))}
    done = wheelmill("available", "demo", *TARGET, "--source", f"{server.url}/busy/", exit_code=exit_code)
    assert f"{server.url}/busy/" in done.stderr
    assert said in done.stderr
    wheelmill("resolve", "demo", "--no-look", *TARGET, "--extra-source", f"{server.url}/busy/")


def test_21_a_project_is_for_several_platforms(wheelmill: Command, server: PageServer, tmp_path: Path) -> None:
    """gpkg writes one URL, so that a project locks for one platform only."""
    names = [wheel_name(platform=f"manylinux_2_28_{processor}") for processor in ("x86_64", "aarch64")]
    server.pages["/wheels/"] = Answer(links_page(*names))
    platforms = ("--platform", "linux_x86_64,linux_aarch64")
    wheelmill("add", "demo", "--no-sync", "--no-look", *TARGET, *platforms)
    wheels = tomllib.loads((tmp_path / "pyproject.toml").read_text())["project"]["dependencies"][:2]
    for wheel, name, processor in zip(wheels, names, ("x86_64", "aarch64"), strict=True):
        assert name.replace("+", "%2B") in wheel
        assert f"platform_machine == '{processor}'" in wheel
