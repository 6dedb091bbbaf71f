"""``wheelmill environment``, ``resolve``, ``search``, ``available`` and ``explain`` as people and programs use them."""

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.page_server import Answer, PageServer, links_page, page_server

ROOT = Path(__file__).parents[2]
NAMES = (ROOT / "tests/data/flash-attn-wheel-names.txt").read_text().splitlines()
TARGET = ("--python", "3.12", "--torch", "2.8", "--cuda", "cu128", "--platform", "linux_x86_64")
RESOLVE = ("resolve", "--no-look")
"""There are no wheels behind the links of these tests."""

Wheelmill = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def server() -> Iterator[PageServer]:
    with page_server() as served:
        served.pages["/wheels/"] = Answer(links_page(*NAMES))
        yield served


@pytest.fixture
def wheelmill(tmp_path: Path, server: PageServer) -> Wheelmill:
    """Run a command in an empty folder, with a cache of its own and one page of wheels."""

    def run(*arguments: str, exit_code: int = 0) -> subprocess.CompletedProcess[str]:
        env = os.environ | {
            "XDG_CACHE_HOME": str(tmp_path / "cache"),
            "WHEELMILL_SOURCES": f"find-links:{server.url}/wheels/",
        }
        argv = [sys.executable, "-m", "wheelmill", *arguments]
        done = subprocess.run(argv, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == exit_code, done.stderr
        assert "Traceback" not in done.stderr
        return done

    return run


def test_json_is_the_one_thing_on_stdout_where_gpkg_prints_a_banner_before_it(wheelmill: Wheelmill) -> None:
    done = wheelmill(*RESOLVE, "flash-attn>=2.7,<3", "other", *TARGET, "--json", exit_code=8)
    content = json.loads(done.stdout)
    assert content["schema"] == "wheelmill.resolve/1"
    (resolved,) = content["resolved"].values()
    assert resolved["filename"] == "flash_attn-2.7.4+cu128torch2.8-cp312-cp312-linux_x86_64.whl"
    assert resolved["sha256"] == "0" * 64
    assert content["unresolved"] == {"other": "no source has a wheel of it"}


def test_nothing_resolved_is_json_and_exit_code_8_where_gpkg_prints_none(wheelmill: Wheelmill) -> None:
    done = wheelmill(*RESOLVE, "other", *TARGET, "--json", exit_code=8)
    assert json.loads(done.stdout)["resolved"] == {}


def test_the_text_is_a_project_with_hashed_urls_which_uv_reads(wheelmill: Wheelmill, tmp_path: Path) -> None:
    text = wheelmill(*RESOLVE, "flash-attn", *TARGET).stdout
    project = tomllib.loads(text)
    wheel, torch = project["project"]["dependencies"]
    assert wheel.startswith("flash-attn @ http://127.0.0.1:")
    assert wheel.endswith("#sha256=" + "0" * 64)
    assert torch == "torch==2.8.*"
    wheelmill(*RESOLVE, "flash-attn", *TARGET, "-o", "new.toml")
    assert (tmp_path / "new.toml").read_text() == text


def test_a_file_that_is_there_is_not_overwritten_where_gpkg_overwrites_it(wheelmill: Wheelmill, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    wheelmill(*RESOLVE, "flash-attn", *TARGET, "-o", "pyproject.toml", exit_code=2)
    assert (tmp_path / "pyproject.toml").read_text() == "[project]\n"


def test_a_second_time_the_page_comes_from_the_cache(wheelmill: Wheelmill, server: PageServer) -> None:
    first = wheelmill(*RESOLVE, "flash-attn", *TARGET, "--json").stdout
    assert len(server.asked) == 1
    assert wheelmill(*RESOLVE, "flash-attn", *TARGET, "--json").stdout == first
    assert wheelmill(*RESOLVE, "flash-attn", *TARGET, "--json", "--offline").stdout == first
    assert len(server.asked) == 1
    wheelmill(*RESOLVE, "flash-attn", *TARGET, "--refresh")
    wheelmill(*RESOLVE, "flash-attn", *TARGET, "--no-cache")
    assert len(server.asked) == 3


def test_a_server_that_is_away_is_named_where_gpkg_finds_nothing(wheelmill: Wheelmill) -> None:
    done = wheelmill(*RESOLVE, "flash-attn", *TARGET, "--offline", exit_code=8)
    assert "/wheels/ is not in the cache, and this is offline" in done.stderr


@pytest.mark.parametrize("cuda", ["128", "12.8", "cu128"])
def test_cuda_has_three_spellings(wheelmill: Wheelmill, cuda: str) -> None:
    done = wheelmill("environment", "--json", "--python", "3.12", "--torch", "2.8", "--cuda", cuda)
    assert json.loads(done.stdout)["cuda"] == "12.8"


@pytest.mark.parametrize("wrong", [("--cuda", "12"), ("--gpu", "x"), ("--platform", "amiga"), ("--cxx11-abi", "maybe")])
def test_a_value_that_is_none_of_its_kind_is_named(wheelmill: Wheelmill, wrong: tuple[str, str]) -> None:
    done = wheelmill("environment", "--python", "3.12", *wrong, exit_code=2)
    assert wrong[0] in done.stderr
    assert "expected" in done.stderr


def test_the_environment_for_a_shell_can_be_evaluated(wheelmill: Wheelmill) -> None:
    text = wheelmill("environment", "--shell", *TARGET, "--gpu", "sm_90,8.0").stdout
    script = f'{text}\necho "$TORCH_CUDA_ARCH_LIST $UV_TORCH_BACKEND"'
    assert subprocess.check_output(["sh", "-c", script], text=True) == "8.0 9.0 cu128\n"


def test_every_candidate_is_explained_with_every_reason(wheelmill: Wheelmill) -> None:
    content = json.loads(wheelmill("explain", "flash-attn", *TARGET, "--json").stdout)
    ours = [name for name in NAMES if name.startswith("flash_attn-")]
    assert sorted(each["filename"] for each in content["candidates"]) == sorted(set(ours))
    assert all(each["fits"] != bool(each["refusals"]) for each in content["candidates"])
    windows = next(each for each in content["candidates"] if "win_amd64" in each["filename"])
    assert windows["refusals"][0]["stage"] == "platform"
    text = wheelmill("explain", "flash-attn", *TARGET).stdout
    assert f"{len(set(ours))} wheels: " in text


def test_available_lists_cuda_torch_and_python(wheelmill: Wheelmill) -> None:
    content = json.loads(wheelmill("available", "flash-attn", *TARGET, "--json").stdout)
    listed = {(each["cuda"], each["torch"]): each["pythons"] for each in content["projects"]["flash-attn"]}
    assert "cp312" in listed["12.8", "2.8"]
    assert "flash-attn on linux_x86_64" in wheelmill("available", "flash-attn", *TARGET).stdout
    wheelmill("available", "other", *TARGET, exit_code=8)


def test_all_of_gpkgs_sources_ship(wheelmill: Wheelmill) -> None:
    shipped = ("search", "--json", "--source", str(ROOT / "config" / "sources.yml"))
    sources = json.loads(wheelmill(*shipped).stdout)["sources"]
    assert len(sources) == 10
    assert {project for source in sources for project in source["projects"]} == {
        *("flash-attn", "flash-attn-3", "causal-conv1d", "mamba-ssm", "natten", "grouped-gemm", "sageattention"),
    }
    assert "mamba-ssm" in wheelmill(*shipped[:1], "mamba", *shipped[2:]).stdout


def test_the_cache_is_counted_and_cleaned(wheelmill: Wheelmill) -> None:
    wheelmill(*RESOLVE, "flash-attn", *TARGET)
    assert json.loads(wheelmill("cache", "info", "--json").stdout)["files"] == 1
    assert "deleted 0 files" in wheelmill("cache", "clean", "--older-than", "1h").stdout
    assert json.loads(wheelmill("cache", "clean", "--json").stdout)["files"] == 1
    assert ": 0 files" in wheelmill("cache", "info").stdout


@pytest.mark.parametrize("age", ["soon", "7", "d", "-1d", "7y", "99999999999d"])
def test_an_age_that_is_none_is_refused_where_gpkg_prints_a_traceback(wheelmill: Wheelmill, age: str) -> None:
    assert "--older-than" in wheelmill("cache", "clean", f"--older-than={age}", exit_code=2).stderr


def test_a_registry_of_gpkg_is_a_source(wheelmill: Wheelmill, server: PageServer, tmp_path: Path) -> None:
    (tmp_path / "registry.toml").write_text(
        f'[[sources]]\npackage = "flash-attn"\ntype = "find-links"\nurl_template = "{server.url}/wheels/"\n'
        'wheel_name = "flash_attn-{version}+cu{cuda}torch{torch}-{pytag}-{platform}.whl"\n'
    )
    done = wheelmill(*RESOLVE, "flash-attn", *TARGET, "--json", "--source", "registry.toml")
    assert json.loads(done.stdout)["resolved"]["flash-attn"]["source"] == f"{server.url}/wheels/"
