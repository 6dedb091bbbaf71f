"""``wheelmill environment``, ``resolve``, ``search``, ``available`` and ``explain`` as people and programs use them."""

import json
import os
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

from tests.commands import ROOT
from tests.flash_attn_wheels import NAMES
from tests.github_server import REPOSITORY
from tests.integration.conftest import Command
from tests.page_server import Answer, PageServer, links_page
from tests.sigstore_instance import Sigstore
from tests.troubled_server import TROUBLE, troubled_server

TARGET = ("--python", "3.12", "--torch", "2.8", "--cuda", "cu128", "--platform", "linux_x86_64")
RESOLVE = ("resolve", "--no-look")
"""There are no wheels behind the links of these tests."""


@pytest.fixture(autouse=True)
def real_names(server: PageServer) -> None:
    server.pages["/wheels/"] = Answer(links_page(*NAMES))


def test_json_tells_what_was_found_and_what_not(wheelmill: Command) -> None:
    done = wheelmill(*RESOLVE, "flash-attn>=2.7,<3", "other", *TARGET, "--json", exit_code=8)
    content = json.loads(done.stdout)
    assert content["schema"] == "wheelmill.resolve/1"
    (resolved,) = content["resolved"].values()
    assert resolved["filename"] == "flash_attn-2.7.4+cu128torch2.8-cp312-cp312-linux_x86_64.whl"
    assert resolved["sha256"] == "0" * 64
    assert content["unresolved"] == {"other": "no source has a wheel of it"}


def test_the_text_is_a_project_with_hashed_urls_which_uv_reads(wheelmill: Command, tmp_path: Path) -> None:
    text = wheelmill(*RESOLVE, "flash-attn", *TARGET).stdout
    project = tomllib.loads(text)
    wheel, torch = project["project"]["dependencies"]
    assert wheel.startswith("flash-attn @ http://127.0.0.1:")
    assert "#sha256=" + "0" * 64 + " ; sys_platform == " in wheel
    assert torch.startswith("torch==2.8.* ; sys_platform == ")
    wheelmill(*RESOLVE, "flash-attn", *TARGET, "-o", "new.toml")
    assert (tmp_path / "new.toml").read_text() == text


def test_a_second_time_the_page_comes_from_the_cache(wheelmill: Command, server: PageServer) -> None:
    first = wheelmill(*RESOLVE, "flash-attn", *TARGET, "--json").stdout
    assert len(server.asked) == 1
    second = wheelmill(*RESOLVE, "flash-attn", *TARGET, "--json").stdout
    assert second == first.replace('"cached": false', '"cached": true') != first
    assert wheelmill(*RESOLVE, "flash-attn", *TARGET, "--json", "--offline").stdout == second
    assert len(server.asked) == 1
    wheelmill(*RESOLVE, "flash-attn", *TARGET, "--refresh")
    wheelmill(*RESOLVE, "flash-attn", *TARGET, "--no-cache")
    assert len(server.asked) == 3


def test_explain_names_the_sources_that_the_cache_answered_for(wheelmill: Command, server: PageServer) -> None:
    explain = ["explain", *RESOLVE[1:], "flash-attn", *TARGET]
    first, second = wheelmill(*explain).stdout, wheelmill(*explain).stdout
    (line,) = second.removeprefix(first).splitlines()
    assert server.url in line
    assert "--refresh" in line
    assert wheelmill(*explain, "--refresh").stdout == first


@pytest.mark.parametrize("kind", TROUBLE)
def test_a_server_in_trouble_is_waited_for_as_long_as_was_said(wheelmill: Command, kind: str) -> None:
    with troubled_server(kind) as (url, _):
        beside = wheelmill(*RESOLVE, "--extra-source", f"find-links:{url}", "flash-attn", *TARGET, "--timeout", "2")
        alone = ["--no-look", "--source", f"find-links:{url}", "flash-attn", *TARGET, "--timeout", "2"]
        done = wheelmill("resolve", *alone, exit_code=10)
    assert f"warning: {url}" in beside.stderr
    done.check_refused("sources-silent", url)


def test_without_a_network_the_reason_is_given_once(wheelmill: Command) -> None:
    sources = [word for name in "abc" for word in ("--source", f"find-links:http://127.0.0.1:1/{name}/")]
    done = wheelmill("resolve", *sources, "demo", "other", *TARGET, exit_code=10)
    done.check_refused("sources-silent", "3 pages", "demo, other")
    assert done.stderr.count("refused") == 1
    wheelmill("resolve", *sources, "demo", *TARGET, "--timeout", "0", exit_code=2)


def test_a_page_that_was_never_read_is_named_offline(wheelmill: Command) -> None:
    done = wheelmill(*RESOLVE, "flash-attn", *TARGET, "--offline", exit_code=8)
    done.check_refused("no-wheel", "/wheels/", "--offline")


@pytest.fixture
def attested(server: PageServer, sigstore: Sigstore) -> str:
    """The repository whose workflow attests the wheel that is chosen."""
    bundle = sigstore.attest({"flash_attn-2.7.4+cu128torch2.8-cp312-cp312-linux_x86_64.whl": "0" * 64})
    server.pages["/wheels/attestations.jsonl"] = Answer(bundle + b"\n")
    return REPOSITORY


def test_a_wheel_is_resolved_when_the_repository_that_was_named_attests_it(attested: str, wheelmill: Command) -> None:
    wheelmill(*RESOLVE, "flash-attn", *TARGET, "--require-attestation", attested, exit_code=0)


def test_a_wheel_attested_by_somebody_else_is_refused(attested: str, wheelmill: Command, tmp_path: Path) -> None:
    """Nothing is printed that could be installed, and no file is changed."""
    for words in (RESOLVE, ("add", "--no-look", "--no-sync"), ("lock", "--no-look"), ("install", "--no-look")):
        done = wheelmill(*words, "flash-attn", *TARGET, "--require-attestation", "somebody/else", exit_code=9)
        done.check_refused("not-attested", "-linux_x86_64.whl", "somebody/else@main")
        assert done.stdout == ""
    branch = ("--require-attestation", f"{attested}@feature")
    wheelmill(*RESOLVE, "flash-attn", *TARGET, *branch, exit_code=9).check_refused("not-attested")
    assert not (tmp_path / "pyproject.toml").exists()


def test_attestations_of_several_wheels_are_read_once(attested: str, wheelmill: Command, server: PageServer) -> None:
    other = "other_kernels-1.0+cu128torch2.8-cp312-cp312-linux_x86_64.whl"
    server.pages["/wheels/"] = Answer(links_page(*NAMES, other))
    required = ("--require-attestation", attested)
    done = wheelmill(*RESOLVE, "flash-attn", "other-kernels", *TARGET, *required, exit_code=9)
    done.check_refused("not-attested", other, f"{attested}@main")
    assert done.stderr.count(f"{attested}@main") == 1
    assert [path for path, _ in server.asked].count("/wheels/attestations.jsonl") == 1


@pytest.mark.usefixtures("attested")
def test_a_wheel_without_an_attestation_beside_it_is_refused(wheelmill: Command, server: PageServer) -> None:
    del server.pages["/wheels/attestations.jsonl"]
    done = wheelmill(*RESOLVE, "flash-attn", *TARGET, "--require-attestation", REPOSITORY, exit_code=9)
    done.check_refused("not-attested", "/wheels/attestations.jsonl")


def test_whose_attestations_are_asked_for_must_be_a_repository(wheelmill: Command) -> None:
    done = wheelmill(*RESOLVE, "flash-attn", *TARGET, "--require-attestation", "nobody", exit_code=2)
    done.check_refused("signer-invalid", "--require-attestation", "OWNER/REPO[@BRANCH]", "nobody")


def test_a_lock_is_not_asked_for_attestations(wheelmill: Command, tmp_path: Path) -> None:
    words = ("install", "--lock", tmp_path / "pylock.toml", "--require-attestation", REPOSITORY)
    wheelmill(*words, exit_code=2).check_refused("attestation-not-for-locks", "wheelmill lock")


@pytest.mark.parametrize("cuda", ["128", "12.8", "cu128"])
def test_cuda_has_three_spellings(wheelmill: Command, cuda: str) -> None:
    done = wheelmill("environment", "--json", "--python", "3.12", "--torch", "2.8", "--cuda", cuda)
    assert json.loads(done.stdout)["cuda"] == "12.8"


@pytest.mark.parametrize("wrong", [("--cuda", "1"), ("--gpu", "x"), ("--platform", "amiga"), ("--cxx11-abi", "maybe")])
def test_a_value_that_is_none_of_its_kind_is_named(wheelmill: Command, wrong: tuple[str, str]) -> None:
    done = wheelmill("environment", "--python", "3.12", *wrong, exit_code=2)
    assert wrong[0] in done.stderr
    assert "expected" in done.stderr


def test_the_folder_of_an_environment_names_its_interpreter(wheelmill: Command, tmp_path: Path) -> None:
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    found = json.loads(wheelmill("environment", "--json", "--python-path", ".venv").stdout)
    assert found["origins"]["python"] == ".venv/bin/python"
    done = wheelmill("environment", "--python-path", python.parent, exit_code=2)
    done.check_refused("not-an-environment", "--python-path", python.parent)


def test_a_driver_that_is_none_is_named(wheelmill: Command) -> None:
    done = wheelmill("environment", exit_code=2, UV_CUDA_DRIVER_VERSION="new")
    assert "UV_CUDA_DRIVER_VERSION: expected" in done.stderr


def test_the_environment_for_a_shell_can_be_evaluated(wheelmill: Command) -> None:
    text = wheelmill("environment", "--shell", *TARGET, "--gpu", "sm_90,8.0").stdout
    script = f'{text}\necho "$TORCH_CUDA_ARCH_LIST $UV_TORCH_BACKEND"'
    assert subprocess.check_output(["sh", "-c", script], text=True) == "8.0 9.0 cu128\n"


@pytest.mark.parametrize(
    ("known", "printed"),
    [
        (("--driver", "580.65.06", "--libc", "2.28"), "13.0 2.28"),
        (("--driver", "575.60", "--libc", "2.36"), "12.9 2.36"),
        (("--driver", "470.10", "--libc", "musl 1.2"), "12.8 unset"),  # the driver runs none that is known
        (("--libc", "2.28"), "12.8 2.28"),
    ],
)
def test_conda_and_pixi_get_the_driver_or_wanted_cuda(known: tuple[str, ...], printed: str, wheelmill: Command) -> None:
    text = wheelmill("environment", "--conda", *TARGET, *known).stdout
    script = f'{text}\necho "$CONDA_OVERRIDE_CUDA ${{CONDA_OVERRIDE_GLIBC-unset}}"'
    assert subprocess.check_output(["sh", "-c", script], text=True) == f"{printed}\n"


def test_conda_is_told_that_there_is_no_cuda(wheelmill: Command) -> None:
    done = wheelmill("environment", "--conda", "--python", "3.12", "--torch", "2.8.0+cpu", "--driver", "580.65.06")
    assert "export CONDA_OVERRIDE_CUDA=''\n" in done.stdout
    both = wheelmill("environment", "--conda", "--shell", "--python", "3.12", exit_code=2)
    both.check_refused("options-conflict", "--json", "--shell", "--conda")


def test_every_candidate_is_explained_with_every_reason(wheelmill: Command) -> None:
    content = json.loads(wheelmill("explain", "flash-attn", *TARGET, "--json").stdout)
    ours = [name for name in NAMES if name.startswith("flash_attn-")]
    assert sorted(each["filename"] for each in content["candidates"]) == sorted(set(ours))
    assert all(each["fits"] != bool(each["refusals"]) for each in content["candidates"])
    windows = next(each for each in content["candidates"] if "win_amd64" in each["filename"])
    assert windows["refusals"][0]["stage"] == "platform"
    text = wheelmill("explain", "flash-attn", *TARGET).stdout
    assert f"{len(set(ours))} wheels: " in text


def test_a_name_that_the_package_index_has_from_elsewhere_is_told(wheelmill: Command, server: PageServer) -> None:
    server.pages["/wheels/"] = Answer(links_page("apex-0.1+cu128torch2.8-cp312-cp312-linux_x86_64.whl"))
    done = wheelmill("explain", "apex", *TARGET, "--no-look", "--json")
    assert " apex" in done.stderr
    assert json.loads(done.stdout)["namesake"] is True
    other = wheelmill("explain", "flash-attn", *TARGET, "--no-look", "--json", exit_code=8)
    assert json.loads(other.stdout)["namesake"] is False


def test_the_nearest_ten_are_explained_and_the_others_counted(wheelmill: Command, server: PageServer) -> None:
    near = [f"demo-1.{minor}+cu128torch2.9-cp312-cp312-linux_x86_64.whl" for minor in range(20)]
    far = [f"demo-9.{minor}+cu118torch2.9-cp310-cp310-win_amd64.whl" for minor in range(5)]
    fits = "demo-0.1+cu128torch2.8-cp312-cp312-linux_x86_64.whl"
    server.pages["/wheels/"] = Answer(links_page(*far, *near, fits))
    words = ("explain", "demo", *TARGET, "--no-look")
    text = wheelmill(*words).stdout
    shown = [line.split()[1] for line in text.splitlines() if line[:2] in ("+ ", "- ")]
    assert shown == [fits, *reversed(near[11:])]
    assert "26 wheels: 1 fitting, 25 refused for torch" in text
    assert "these are the nearest 10; --all shows the other 16" in text
    everything = wheelmill(*words, "--all").stdout
    assert all(name in everything for name in (*near, *far, fits))
    assert "nearest" not in everything
    assert len(json.loads(wheelmill(*words, "--json").stdout)["candidates"]) == 26
    assert wheelmill(*words, "--fitting").stdout.count(".whl") == 1


def test_where_nothing_fits_the_smallest_change_is_told(wheelmill: Command, server: PageServer) -> None:
    server.pages["/wheels/"] = Answer(links_page("demo-1.0+cu128torch2.9-cp312-cp312-linux_x86_64.whl"))
    assert "hint: --torch 2.9\n" in wheelmill("explain", "demo", *TARGET, "--no-look").stdout
    content = json.loads(wheelmill("explain", "demo", *TARGET, "--no-look", "--json").stdout)
    assert content["suggestion"] == "--torch 2.9"


def test_available_lists_cuda_torch_and_python(wheelmill: Command) -> None:
    content = json.loads(wheelmill("available", "flash-attn", *TARGET, "--json").stdout)
    listed = {(each["cuda"], each["torch"]): each["pythons"] for each in content["projects"]["flash-attn"]}
    assert "cp312" in listed["12.8", "2.8"]
    text = wheelmill("available", "flash-attn", *TARGET).stdout
    assert "flash-attn on linux_x86_64" in text
    assert [line for line in text.splitlines() if "/wheels/ " in line and " 2.8.3 " in line]


def test_a_misspelt_name_ends_explain_and_available_alike(wheelmill: Command) -> None:
    ends = [wheelmill(command, "flash-atn", *TARGET, "--no-look", exit_code=8) for command in ("explain", "available")]
    assert [done.stdout for done in ends] == ["", ""]
    assert ends[0].stderr.splitlines()[-3:] == ends[1].stderr.splitlines()[-3:]


def test_an_index_is_named_and_as_much_is_said_as_was_asked_for(wheelmill: Command, server: PageServer) -> None:
    name, url = "demo-1.0+cu128torch2.8-cp312-cp312-linux_x86_64.whl", f"{server.url}/any"
    server.pages["/any/demo/"] = Answer(links_page(name))
    words = (*RESOLVE, *TARGET, "--refresh", "--index", url)
    usual, loud, quiet = (wheelmill(*words, "demo", *more) for more in ((), ("-v",), ("--quiet",)))
    assert name in usual.stderr
    assert f"GET {url}/demo/: 200 OK" in loud.stderr.splitlines()
    assert (quiet.stderr, quiet.stdout) == ("", usual.stdout)
    missed = wheelmill(*words, "dem", "-q", exit_code=8).stderr
    assert missed.startswith("dem: ")
    assert "error: " in missed


def test_one_environment_is_installed_at_a_time(wheelmill: Command) -> None:
    done = wheelmill("install", "flash-attn", "--no-look", *TARGET, "--python", "3.12,3.13", exit_code=2)
    done.check_refused("value-invalid", "--python")


def test_all_of_gpkgs_sources_ship(wheelmill: Command) -> None:
    shipped = ("search", "--json", "--source", str(ROOT / "config" / "sources.yml"))
    sources = json.loads(wheelmill(*shipped).stdout)["sources"]
    assert len(sources) >= 30
    assert {project for source in sources for project in source["projects"]} >= {
        *("flash-attn", "flash-attn-3", "causal-conv1d", "mamba-ssm", "natten", "grouped-gemm", "sageattention")
    }
    assert "mamba-ssm" in wheelmill(*shipped[:1], "mamba", *shipped[2:]).stdout


def test_the_cache_is_counted_and_cleaned(wheelmill: Command, tmp_path: Path) -> None:
    wheelmill(*RESOLVE, "flash-attn", *TARGET)
    for path in (tmp_path / "cache").rglob("*"):  # the disk's clock may be another than that of the tests
        os.utime(path, (time.time(), time.time()))
    assert json.loads(wheelmill("cache", "info", "--json").stdout)["files"] == 1
    assert "deleted 0 files" in wheelmill("cache", "clean", "--older-than", "1h").stdout
    assert json.loads(wheelmill("cache", "clean", "--json").stdout)["files"] == 1
    assert ": 0 files" in wheelmill("cache", "info").stdout
    for age in ("99999999999999999999d", 4500 * "9" + "d"):
        wheelmill("cache", "clean", "--older-than", age, exit_code=2).check_refused("age-too-large", "--older-than")


def test_a_registry_of_gpkg_is_a_source(wheelmill: Command, server: PageServer, tmp_path: Path) -> None:
    (tmp_path / "registry.toml").write_text(
        f'[[sources]]\npackage = "flash-attn"\ntype = "find-links"\nurl_template = "{server.url}/wheels/"\n'
        'wheel_name = "flash_attn-{version}+cu{cuda}torch{torch}-{pytag}-{platform}.whl"\n'
    )
    done = wheelmill(*RESOLVE, "flash-attn", *TARGET, "--json", "--source", "registry.toml")
    assert json.loads(done.stdout)["resolved"]["flash-attn"]["source"] == f"{server.url}/wheels/"
